"""Checks of indices: promises that do not hold, what is clamped, what is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inspection.sanitizer.findings import findings_of, only_finding

Array = np.ndarray[Any, Any]


def scatter(flags: str = "", body: str = "stablehlo.add %x, %y : tensor<f32>") -> str:
    """Windows of two elements in rows of a 4x5 tensor."""
    return f"""
    func.func @main(%a: tensor<4x5xf32>, %i: tensor<3x2xi32>, %u: tensor<3x2xf32>) -> tensor<4x5xf32> {{
      %0 = "stablehlo.scatter"(%a, %i, %u) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = {body}
        stablehlo.return %s : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
            inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>{flags}}}
        : (tensor<4x5xf32>, tensor<3x2xi32>, tensor<3x2xf32>) -> tensor<4x5xf32>
      return %0 : tensor<4x5xf32>
    }}"""


def operands(*indices: tuple[int, int]) -> list[Array]:
    return [np.zeros((4, 5), np.float32), np.array(indices, np.int32), np.ones((3, 2), np.float32)]


def test_indices_that_are_not_unique() -> None:
    text = scatter(", unique_indices = true")
    finding = only_finding(text, *operands((0, 0), (1, 1), (0, 1)))
    assert (finding.check, finding.operation) == ("unique_indices", "stablehlo.scatter")
    assert (finding.index, finding.value, finding.count) == ((2, 0), (0, 1), 1)
    assert "[0, 1] and [2, 0]" in finding.message
    assert not findings_of(text, *operands((0, 0), (1, 1), (0, 2)))
    assert not findings_of(scatter(), *operands((0, 0), (0, 0), (0, 0)))


def test_updates_that_are_dropped_are_unique() -> None:
    text = scatter(", unique_indices = true")
    assert {f.check for f in findings_of(text, *operands((9, 0), (9, 0), (0, 0)))} == {"dropped_updates"}


@pytest.mark.parametrize("schedule", ["reverse", ("random", 3)])
def test_the_second_update_is_that_in_lexicographic_order(schedule: Any) -> None:
    text = scatter(", unique_indices = true")
    finding = only_finding(text, *operands((2, 2), (1, 1), (2, 3)), scatter_schedule=schedule)
    assert (finding.index, finding.value) == ((2, 0), (2, 3))


def test_few_updates_of_a_large_tensor() -> None:
    text = """
    func.func @main(%a: tensor<1000xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<1000xf32> {
      %0 = "stablehlo.scatter"(%a, %i, %u) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        stablehlo.return %y : tensor<f32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}
        : (tensor<1000xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<1000xf32>
      return %0 : tensor<1000xf32>
    }"""
    large = np.zeros(1000, np.float32)
    finding = only_finding(text, large, np.array([[7], [8], [7]], np.int32), np.ones(3, np.float32))
    assert (finding.index, finding.value) == ((2,), (7,))
    assert not findings_of(text, large, np.array([[7], [8], [9]], np.int32), np.ones(3, np.float32))


def test_indices_that_are_not_sorted() -> None:
    text = scatter(", indices_are_sorted = true")
    finding = only_finding(text, *operands((0, 1), (1, 2), (1, 0)))
    assert (finding.check, finding.index, finding.value) == ("indices_are_sorted", (2,), (1, 0))
    assert not findings_of(text, *operands((0, 1), (1, 0), (1, 0)))
    assert not findings_of(scatter(), *operands((3, 1), (1, 2), (1, 0)))


def gather(index_map: str = "[0, 1]", flags: str = "", index_type: str = "i32") -> str:
    return f"""
    func.func @main(%a: tensor<4x5xf32>, %i: tensor<3x2x{index_type}>) -> tensor<3x2xf32> {{
      %0 = "stablehlo.gather"(%a, %i) {{dimension_numbers = #stablehlo.gather<offset_dims = [1],
            collapsed_slice_dims = [0], start_index_map = {index_map}, index_vector_dim = 1>,
            slice_sizes = array<i64: 1, 2>{flags}}}
        : (tensor<4x5xf32>, tensor<3x2x{index_type}>) -> tensor<3x2xf32>
      return %0 : tensor<3x2xf32>
    }}"""


def test_order_is_that_of_the_dimensions_of_the_operand() -> None:
    values = np.zeros((4, 5), np.float32)
    by_rows = np.array([[0, 3], [1, 0], [2, 1]], np.int32)
    assert not findings_of(gather("[0, 1]", ", indices_are_sorted = true"), values, by_rows)
    finding = only_finding(gather("[1, 0]", ", indices_are_sorted = true"), values, by_rows)
    assert (finding.operation, finding.index, finding.value, finding.count) == (
        "stablehlo.gather",
        (1,),
        (0, 1),
        1,
    )


def test_batches_that_are_sorted_each() -> None:
    text = """
    func.func @main(%a: tensor<2x5xf32>, %i: tensor<2x3x1xi32>) -> tensor<2x3xf32> {
      %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
            operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1],
            index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = true}
        : (tensor<2x5xf32>, tensor<2x3x1xi32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    values = np.zeros((2, 5), np.float32)
    assert not findings_of(text, values, np.array([[[1], [2], [4]], [[0], [0], [3]]], np.int32))
    finding = only_finding(text, values, np.array([[[1], [2], [4]], [[0], [3], [2]]], np.int32))
    assert (finding.index, finding.value) == ((1, 2), (2,))


def test_adjacent_batches_are_sorted_separately() -> None:
    text = """
    func.func @main(%a: tensor<2x5xf32>, %i: tensor<3x2x1xi32>) -> tensor<3x2xf32> {
      %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
            operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1],
            index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = true}
        : (tensor<2x5xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
      return %0 : tensor<3x2xf32>
    }"""
    values = np.zeros((2, 5), np.float32)
    assert not findings_of(text, values, np.array([[[3], [1]], [[3], [2]], [[4], [4]]], np.int32))


@pytest.mark.parametrize("index_type", ["i8", "i64", "ui32", "ui64"])
def test_indices_of_gather_that_are_clamped(index_type: str) -> None:
    dtype = np.dtype({"i8": "i1", "i64": "i8", "ui32": "u4", "ui64": "u8"}[index_type])
    values = np.zeros((4, 5), np.float32)
    assert not findings_of(gather(index_type=index_type), values, np.array([[0, 0], [3, 3], [1, 1]], dtype))
    far = np.iinfo(dtype).max
    finding = only_finding(
        gather(index_type=index_type), values, np.array([[0, 0], [far, 4], [far, 0]], dtype)
    )
    assert (finding.check, finding.operation, finding.index) == ("clamped_indices", "stablehlo.gather", (1,))
    assert finding.value == (min(far, np.iinfo(np.int64).max), 4)
    assert finding.count == 2
    assert "clamped to [3, 3]" in finding.message


def test_starts_of_slices_that_are_clamped() -> None:
    text = """
    func.func @main(%a: tensor<4x5xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<4x5xf32> {
      %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 5]
        : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x5xf32>
      %1 = stablehlo.dynamic_update_slice %a, %0, %j, %i
        : (tensor<4x5xf32>, tensor<2x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
      return %1 : tensor<4x5xf32>
    }"""
    values = np.zeros((4, 5), np.float32)
    assert not findings_of(text, values, np.int32(0), np.int32(0))
    slice, update = findings_of(text, values, np.int32(3), np.int32(0))
    assert (slice.operation, slice.index, slice.value) == ("stablehlo.dynamic_slice", (0,), (3, 0))
    assert (update.operation, update.index) == ("stablehlo.dynamic_update_slice", (1,))
    (slice, update) = findings_of(text, values, np.int32(0), np.int32(-1))
    assert (slice.index, slice.value) == ((1,), (0, -1))
    assert "clamped to [0, 0]" in slice.message


def test_selected_indices_that_are_clamped() -> None:
    text = """
    func.func @main(%a: tensor<4x5xf32>, %i: tensor<3xi32>) -> tensor<3x5xf32> {
      %0 = "stablehlo.torch_index_select"(%a, %i) {dim = 0 : i64, batch_dims = 0 : i64}
        : (tensor<4x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
      return %0 : tensor<3x5xf32>
    }"""
    finding = only_finding(text, np.zeros((4, 5), np.float32), np.array([0, 4, -1], np.int32))
    assert (finding.check, finding.index, finding.value, finding.count) == ("clamped_indices", (1,), 4, 2)


@pytest.mark.parametrize("mode", ["element", "window"])
def test_updates_that_are_dropped(mode: str) -> None:
    options = {"scatter_out_of_bounds": mode}
    assert not findings_of(scatter(), *operands((0, 0), (3, 3), (1, 1)), **options)
    upper = only_finding(scatter(), *operands((0, 0), (3, 4), (1, 4)), **options)
    assert (upper.check, upper.operation) == ("dropped_updates", "stablehlo.scatter")
    assert (upper.index, upper.value, upper.count) == ((1, 1), (3, 4), 2)
    for away in ((-1, 0), (0, -1), (4, 0), (0, 5)):
        finding = only_finding(scatter(), *operands((0, 0), (1, 0), away), **options)
        assert (finding.index, finding.value) == ((2, 0), away)


def test_the_first_of_the_updates_that_are_dropped() -> None:
    text = """
    func.func @main(%a: tensor<4x5xf32>, %i: tensor<2xi32>, %u: tensor<2x3xf32>) -> tensor<4x5xf32> {
      %0 = "stablehlo.scatter"(%a, %i, %u) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        stablehlo.return %y : tensor<f32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1],
            scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 0>}
        : (tensor<4x5xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<4x5xf32>
      return %0 : tensor<4x5xf32>
    }"""
    for start, index in (((3, 3), (0, 2)), ((3, 0), (1, 0)), ((0, 4), (0, 1)), ((0, 5), (0, 0))):
        inputs = [np.zeros((4, 5), np.float32), np.array(start, np.int32), np.ones((2, 3), np.float32)]
        assert only_finding(text, *inputs).index == index


def test_windows_that_are_left_out_have_unique_indices() -> None:
    text = scatter(", unique_indices = true")
    inputs = operands((0, 4), (0, 4), (1, 0))
    assert {one.check for one in findings_of(text, *inputs)} == {"unique_indices", "dropped_updates"}
    left_out = findings_of(text, *inputs, scatter_out_of_bounds="window")
    assert [(one.check, one.value) for one in left_out] == [("dropped_updates", (0, 4))]


def test_what_is_found_in_bodies() -> None:
    text = scatter(body="stablehlo.divide %x, %y : tensor<f32>")
    inputs = operands((0, 0), (1, 1), (0, 1))
    inputs[0][:] = 1
    inputs[2][1, 1] = 0
    finding = only_finding(text, *inputs)
    assert (finding.operation, finding.check, finding.value) == ("stablehlo.divide", "non_finite", np.inf)


def test_dynamic_sizes() -> None:
    text = """
    func.func @main(%a: tensor<?xf32>, %i: tensor<?x1xi32>, %n: tensor<1xi32>) -> tensor<?x?xf32> {
      %0 = "stablehlo.dynamic_gather"(%a, %i, %n) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
            start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true}
        : (tensor<?xf32>, tensor<?x1xi32>, tensor<1xi32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }"""
    inputs = [np.zeros(4, np.float32), np.array([[3], [1]], np.int32)]
    sorted_, clamped = findings_of(text, *inputs, np.array([2], np.int32))
    assert (sorted_.check, sorted_.operation) == ("indices_are_sorted", "stablehlo.dynamic_gather")
    assert (clamped.check, clamped.value) == ("clamped_indices", (3,))
