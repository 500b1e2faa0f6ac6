"""The RFC that adds batching dimensions to `gather` and `scatter`, section by section.

Random dimension numbers are compared with the RFC's formulas in tests/program/ops: test_indexing.py,
test_scatter.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo import Options
from nimblehlo.program.ir import Module, StructAttribute
from tests.program.ops.indexing.index_cases import IndexCase, index_cases
from tests.program.ops.indexing.test_dynamic_slice import REJECTED as REJECTED_GATHERS
from tests.program.ops.indexing.test_dynamic_slice import gather_program
from tests.program.ops.indexing.test_scatter import REJECTED as REJECTED_SCATTERS
from tests.program.ops.indexing.test_scatter import case_program, region
from tests.program.ops.rejections import assert_rejected
from tests.program.ops.texts import declaration, elements, tensor
from tests.support.running import run_every_way, same_bits

BATCHING_FIELDS = {
    "operand_batching_dims",
    "start_indices_batching_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
}

GATHER = """func.func @main(%operand: tensor<2x3x4x2xi32>, %start_indices: tensor<2x2x3x2xi64>)
    -> tensor<2x2x3x2x2xi32> {
  %result = "stablehlo.gather"(%operand, %start_indices) {
    dimension_numbers = #stablehlo.gather<
      offset_dims = [3, 4],
      collapsed_slice_dims = [1],
      operand_batching_dims = [0],
      start_indices_batching_dims = [1],
      start_index_map = [2, 1],
      index_vector_dim = 3>,
    slice_sizes = array<i64: 1, 1, 2, 2>,
    indices_are_sorted = false
  } : (tensor<2x3x4x2xi32>, tensor<2x2x3x2xi64>) -> tensor<2x2x3x2x2xi32>
  return %result : tensor<2x2x3x2x2xi32>
}"""

SCATTER = """func.func @main(%input: tensor<2x3x4x2xi64>, %scatter_indices: tensor<2x2x3x2xi64>,
    %update: tensor<2x2x3x2x2xi64>) -> tensor<2x3x4x2xi64> {
  %result = "stablehlo.scatter"(%input, %scatter_indices, %update) ({
    ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
      %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%0) : (tensor<i64>) -> ()
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [3, 4],
      inserted_window_dims = [1],
      input_batching_dims = [0],
      scatter_indices_batching_dims = [1],
      scatter_dims_to_operand_dims = [2, 1],
      index_vector_dim = 3>,
    indices_are_sorted = false,
    unique_indices = false
  } : (tensor<2x3x4x2xi64>, tensor<2x2x3x2xi64>, tensor<2x2x3x2x2xi64>) -> tensor<2x3x4x2xi64>
  return %result : tensor<2x3x4x2xi64>
}"""

INDICES = np.array(
    [
        [[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]],
        [[[0, 0], [2, 1], [2, 2]], [[1, 2], [0, 1], [1, 0]]],
    ],
    np.int64,
)

OLD_GATHER = """func.func @main(%operand: tensor<5x3xf32>, %indices: tensor<4x1xi32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.gather"(%operand, %indices) {dimension_numbers = #stablehlo.gather<
    offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}
    : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}"""

OLD_SCATTER = """func.func @main(%input: tensor<5xf32>, %indices: tensor<4x1xi32>, %updates: tensor<4xf32>)
    -> tensor<5xf32> {
  %0 = "stablehlo.scatter"(%input, %indices, %updates) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false,
    unique_indices = false} : (tensor<5xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}"""


def batching_dims(module: Module) -> list[tuple[int, ...]]:
    """All lists of batching dimensions that a program states."""
    structs = [a for one in module.walk() for a in one.attributes.values() if isinstance(a, StructAttribute)]
    return [value for struct in structs for name, value in struct.fields.items() if name in BATCHING_FIELDS]


def assert_same_decomposed(text: str, *inputs: Any) -> Module:
    """The decomposed program has no batching dimensions, loads from its text, and gives the same bits."""
    before = nimblehlo.load(text)
    printed = str(before)
    decomposed = nimblehlo.decompose_batching_dims(before)
    assert str(before) == printed
    assert not batching_dims(decomposed)
    again = nimblehlo.load(str(decomposed))
    for compile in ("never", "eager"):
        options = Options(compile=compile)
        wanted = nimblehlo.execute(before, inputs, options=options)
        for module in (decomposed, again):
            found = nimblehlo.execute(module, inputs, options=options)
            assert all(same_bits(one, other) for one, other in zip(found, wanted, strict=True))
    return decomposed


def test_gather_examples() -> None:
    operand = np.arange(1, 49, dtype=np.int32).reshape(2, 3, 4, 2)
    (result,) = run_every_way(GATHER, operand, INDICES)
    assert result.tolist() == [
        [
            [[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]],
            [[[33, 34], [35, 36]], [[35, 36], [37, 38]], [[41, 42], [43, 44]]],
        ],
        [
            [[[1, 2], [3, 4]], [[13, 14], [15, 16]], [[21, 22], [23, 24]]],
            [[[43, 44], [45, 46]], [[33, 34], [35, 36]], [[27, 28], [29, 30]]],
        ],
    ]
    assert_same_decomposed(GATHER, operand, INDICES)


def test_scatter_examples() -> None:
    values = np.arange(1, 49, dtype=np.int64).reshape(2, 3, 4, 2)
    update = np.ones((2, 2, 3, 2, 2), np.int64)
    (result,) = run_every_way(SCATTER, values, INDICES, update)
    assert result.tolist() == [
        [
            [[3, 4], [6, 7], [6, 7], [7, 8]],
            [[9, 10], [11, 12], [15, 16], [17, 18]],
            [[17, 18], [19, 20], [22, 23], [24, 25]],
        ],
        [
            [[25, 26], [28, 29], [30, 31], [31, 32]],
            [[35, 36], [38, 39], [38, 39], [39, 40]],
            [[41, 42], [44, 45], [46, 47], [47, 48]],
        ],
    ]
    assert_same_decomposed(SCATTER, values, INDICES, update)


@pytest.mark.parametrize("number", range(1, 24))
def test_gather_constraints(number: int) -> None:
    gather = declaration("gather")
    assert_rejected(gather, f"C{number}", REJECTED_GATHERS[gather][f"C{number}"])


@pytest.mark.parametrize("number", range(1, 26))
def test_scatter_constraints(number: int) -> None:
    scatter = declaration("scatter")
    assert_rejected(scatter, f"C{number}", REJECTED_SCATTERS[scatter][f"C{number}"])


@pytest.mark.parametrize("text", [OLD_GATHER, OLD_SCATTER])
def test_compatibility_old_text_has_no_batching_dims(text: str) -> None:
    assert "batching" not in text
    (operation,) = [one for one in nimblehlo.load(text).walk() if one.name.endswith(("gather", "scatter"))]
    view = declaration(operation.name.removeprefix("stablehlo."))(operation)
    lists = [getattr(view, name) for name in BATCHING_FIELDS if hasattr(view, name)]
    assert lists == [(), ()]
    shapes = [argument.shape for argument in nimblehlo.compile(text).input_types]
    inputs = [elements(shape, "f32") for shape in shapes]
    inputs[1] = np.array([[3], [0], [3], [7]], np.int32)
    run_every_way(text, *inputs)


@pytest.mark.parametrize("text", [OLD_GATHER, OLD_SCATTER])
def test_compatibility_old_bytecode_has_no_batching_dims(text: str) -> None:
    """Version 1.0.0 of the portable artifact is older than the attributes."""
    stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
    from tests.program.ir.jaxlib_parser import mlir_context, mlir_parse

    artifact = stablehlo.serialize_portable_artifact(mlir_parse(text, mlir_context()), "1.0.0")
    assert b"batching" not in artifact
    loaded = nimblehlo.load(artifact)
    assert not any(batching_dims(loaded))
    inputs = [elements(type.shape, "f32") for type in nimblehlo.compile(text).input_types]
    inputs[1] = np.array([[3], [0], [3], [7]], np.int32)
    (found,), (wanted,) = nimblehlo.execute(loaded, inputs), nimblehlo.execute(text, inputs)
    assert same_bits(found, wanted)


@given(index_cases(), st.sampled_from(["f32", "i8", "complex<f64>", "i1"]), st.booleans())
def test_compatibility_of_gather(case: IndexCase, element_type: str, is_dynamic: bool) -> None:
    unknown = ["?"] * case.indices.ndim
    text = gather_program(
        operand=tensor(case.shape, element_type),
        start_indices=tensor(unknown if is_dynamic else case.indices.shape, case.index_type),
        offset_dims=case.window_dims,
        collapsed_slice_dims=case.dropped_dims,
        operand_batching_dims=case.batching_dims,
        start_indices_batching_dims=case.indices_batching_dims,
        start_index_map=case.index_map,
        index_vector_dim=case.index_vector_dim,
        slice_sizes=case.slice_sizes,
        result=tensor(["?"] * len(case.space) if is_dynamic else case.space, element_type),
    )
    assert_same_decomposed(returning(text), elements(case.shape, element_type), case.indices)


@given(index_cases(), st.sampled_from(["f32", "bf16", "i8"]))
def test_compatibility_of_scatter(case: IndexCase, element_type: str) -> None:
    type = tensor([], element_type)
    lines = [f"%c = stablehlo.subtract %b0, %a0 : {type}", f"%d = stablehlo.add %c, %c : {type}"]
    text = case_program(case, [element_type], region(*lines, types=[type], returned=["%d"]), [element_type])
    inputs = elements(case.shape, element_type), case.indices, elements(case.space, element_type)
    assert_same_decomposed(returning(text), *inputs)


def returning(text: str) -> str:
    """A program of one operation that returns what it computes."""
    head, _, tail = text.rpartition("  return\n")
    result = head.rstrip().rpartition(" -> ")[2].strip("()")
    first = head.index(") {\n")
    named = f"{head[:first]}) -> {result} {{\n{head[first + 4 :]}"
    return f"{named}  return %result#0 : {result}\n{tail}"


@pytest.mark.parametrize("index_type", ["i2", "i8", "ui8", "i16"])
def test_batches_longer_than_the_indices_can_count(index_type: str) -> None:
    size = 300
    text = f"""func.func @main(%x: tensor<{size}x3xf32>, %i: tensor<{size}x1x{index_type}>)
    -> tensor<{size}xf32> {{
  %0 = "stablehlo.gather"(%x, %i) {{dimension_numbers = #stablehlo.gather<
    collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0],
    start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>,
    indices_are_sorted = true}} : (tensor<{size}x3xf32>, tensor<{size}x1x{index_type}>) -> tensor<{size}xf32>
  return %0 : tensor<{size}xf32>
}}"""
    inputs = elements((size, 3), "f32"), elements((size, 1), index_type)
    decomposed = assert_same_decomposed(text, *inputs)
    converted = any(operation.name == "stablehlo.convert" for operation in decomposed.walk())
    assert converted == (index_type != "i16")
    assert "indices_are_sorted = false" in str(decomposed)


def test_sizes_that_are_not_known() -> None:
    """Also an index vector that is one element of the indices, in a type that cannot count the batch."""
    scatter = SCATTER.replace("tensor<2x3x4x2xi64>", "tensor<?x3x4x2xi64>")
    scatter = scatter.replace("tensor<2x2x3x2xi64>", "tensor<2x?x?x2xi64>")
    scatter = scatter.replace("tensor<2x2x3x2x2xi64>", "tensor<2x?x3x2x2xi64>")
    update = np.ones((2, 2, 3, 2, 2), np.int64)
    assert_same_decomposed(scatter, np.arange(48).reshape(2, 3, 4, 2), INDICES, update)
    gather = """func.func @main(%x: tensor<?x4xf32>, %i: tensor<?x?xi8>) -> tensor<?x?xf32> {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<
    collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1],
    start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>,
    indices_are_sorted = false} : (tensor<?x4xf32>, tensor<?x?xi8>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}"""
    start_indices = np.random.default_rng(1).integers(-3, 6, (2, 300)).astype(np.int8)
    decomposed = assert_same_decomposed(gather, elements((300, 4), "f32"), start_indices)
    names = {operation.name for operation in decomposed.walk()}
    assert {"stablehlo.dynamic_iota", "stablehlo.dynamic_reshape", "stablehlo.convert"} <= names


def test_operations_in_regions_functions_and_nested_modules() -> None:
    inner = GATHER.replace("func.func @main", "func.func private @inner")
    gather = GATHER[GATHER.index("%result") : GATHER.index("  return")]
    gather = gather.replace("%operand", "%x").replace("%start_indices", "%i")
    text = f"""module {{
  {inner}
  func.func @main(%p: tensor<i1>, %x: tensor<2x3x4x2xi32>, %i: tensor<2x2x3x2xi64>)
      -> tensor<2x2x3x2x2xi32> {{
    %0 = "stablehlo.if"(%p) ({{
      %1 = func.call @inner(%x, %i) : (tensor<2x3x4x2xi32>, tensor<2x2x3x2xi64>) -> tensor<2x2x3x2x2xi32>
      stablehlo.return %1 : tensor<2x2x3x2x2xi32>
    }}, {{
      {gather}
      stablehlo.return %result : tensor<2x2x3x2x2xi32>
    }}) : (tensor<i1>) -> tensor<2x2x3x2x2xi32>
    return %0 : tensor<2x2x3x2x2xi32>
  }}
  module @nested {{
    {GATHER}
  }}
}}"""
    operand = np.arange(1, 49, dtype=np.int32).reshape(2, 3, 4, 2)
    assert len(batching_dims(nimblehlo.load(text))) == 6
    for chosen in (True, False):
        assert_same_decomposed(text, np.array(chosen), operand, INDICES)


def test_programs_without_batching_dims_stay_as_they_are() -> None:
    assert str(nimblehlo.decompose_batching_dims(OLD_GATHER)) == str(nimblehlo.load(OLD_GATHER))
    with pytest.raises(nimblehlo.NimbleError):
        nimblehlo.decompose_batching_dims("func.func @main(")


def test_jax_vmap_of_indexing() -> None:
    jax = pytest.importorskip("jax")

    def taken(x: Any, i: Any, u: Any) -> Any:
        return jax.vmap(lambda row, at, value: row.at[at].add(value)[at])(x, i, u)

    generator = np.random.default_rng(1)
    inputs = (
        generator.random((6, 9), np.float32),
        generator.integers(0, 9, (6, 5)).astype(np.int32),
        generator.random((6, 5), np.float32),
    )
    text = jax.jit(taken).lower(*inputs).as_text()
    assert any(batching_dims(nimblehlo.load(text)))
    assert_same_decomposed(text, *inputs)
