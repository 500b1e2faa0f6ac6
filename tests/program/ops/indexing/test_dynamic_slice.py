"""Slices at run-time indices and `gather`, against the specification's formulas in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.errors import UndefinedBehaviorError
from nimblehlo.program.frontend.parser import parse
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.indexing import dynamic_slice as indexing
from nimblehlo.program.ops.indexing import gather
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.indexing.index_cases import IndexCase, index_cases
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import array, declaration, elements, index_space, tensor
from tests.support.running import run_every_way

I32 = "tensor<i32>"
T23 = tensor([2, 3])


def dynamic_slice(operand: str, starts: list[str], sizes: list[int], result: str) -> str:
    attributes = f"slice_sizes = {array(*sizes)}"
    return program("stablehlo.dynamic_slice", [operand, *starts], [result], attributes)


def dynamic_update_slice(operand: str, update: str, starts: list[str], result: str) -> str:
    return program("stablehlo.dynamic_update_slice", [operand, update, *starts], [result])


def torch_index_select(operand: str, index: str, dim: int, batch_dims: int, result: str) -> str:
    attributes = f"dim = {dim} : i64, batch_dims = {batch_dims} : i64"
    return program("stablehlo.torch_index_select", [operand, index], [result], attributes)


GATHER = {
    "operand": tensor([2, 3, 4]),
    "start_indices": tensor([2, 5, 1], "i32"),
    "offset_dims": [1],
    "collapsed_slice_dims": [1],
    "operand_batching_dims": [0],
    "start_indices_batching_dims": [0],
    "start_index_map": [1],
    "index_vector_dim": 2,
    "slice_sizes": [1, 1, 3],
    "result": tensor([2, 3, 5]),
}


def gather_program(**changes: Any) -> str:
    """A legal gather with some of its parts changed."""
    parts = {**GATHER, **changes}
    attributes = (
        f"dimension_numbers = {dimension_numbers('gather', parts)}, "
        f"slice_sizes = {array(*parts['slice_sizes'])}, indices_are_sorted = false"
    )
    return program(
        "stablehlo.gather", [parts["operand"], parts["start_indices"]], [parts["result"]], attributes
    )


def dynamic_gather_program(**changes: Any) -> str:
    """A legal dynamic_gather whose slice_sizes are a constant, with some of its parts changed."""
    batching = {"operand_batching_dims": [], "start_indices_batching_dims": []}
    plain = {"operand": tensor([3, 4]), "slice_sizes": [1, 3], "collapsed_slice_dims": [0]}
    parts = {**GATHER, **batching, **plain, "start_index_map": [0], **changes}
    sizes = parts["slice_sizes"]
    if not isinstance(sizes, str):
        sizes = f"dense<{list(sizes)}> : tensor<{len(sizes)}xi64>"
    attributes = f"dimension_numbers = {dimension_numbers('gather', parts)}, indices_are_sorted = false"
    operands = [parts["operand"], parts["start_indices"], sizes]
    return program("stablehlo.dynamic_gather", operands, [parts["result"]], attributes)


def dimension_numbers(mnemonic: str, parts: dict[str, Any]) -> str:
    """The text of a struct attribute with those of `parts` that are lists of dimensions."""
    fields = [f"{name} = {value}" for name, value in parts.items() if name.endswith(("dims", "map", "dim"))]
    return f"#stablehlo.{mnemonic}<{', '.join(fields)}>"


REJECTED = {
    declaration("dynamic_slice"): {
        "C1": dynamic_slice(T23, [I32, I32], [1, 2], tensor([1, 2], "f64")),
        "C2": dynamic_slice(T23, [I32], [1, 2], tensor([1, 2])),
        "C3": dynamic_slice(T23, [I32, "tensor<i64>"], [1, 2], tensor([1, 2])),
        "C4": dynamic_slice(T23, [I32, I32], [1, 4], tensor([1, 4])),
        "C5": dynamic_slice(T23, [I32, I32], [1, 2], tensor([1, 3])),
    },
    declaration("dynamic_update_slice"): {
        "C1": dynamic_update_slice(T23, T23, [I32, I32], tensor([2, 4])),
        "C2": dynamic_update_slice(T23, tensor([2, 3], "f64"), [I32, I32], T23),
        "C3": dynamic_update_slice(T23, tensor([2]), [I32, I32], T23),
        "C4": dynamic_update_slice(T23, T23, [I32], T23),
        "C5": dynamic_update_slice(T23, T23, [I32, "tensor<i64>"], T23),
        "C6": dynamic_update_slice(T23, tensor([2, 4]), [I32, I32], T23),
    },
    declaration("torch_index_select"): {
        "C1": torch_index_select(T23, tensor([5], "i32"), 1, 0, tensor([2, 5], "f64")),
        "C2": torch_index_select(T23, tensor([5], "i32"), 2, 0, tensor([2, 3, 5])),
        "C3": torch_index_select(T23, tensor([5], "i32"), 1, 2, tensor([2])),
        "C4": torch_index_select(T23, tensor([5, 1], "i32"), 1, 1, tensor([2, 1])),
        "C5": torch_index_select(T23, tensor([5], "i32"), 1, 0, tensor([2, 4])),
    },
    declaration("gather"): {
        "C1": gather_program(operand=tensor([2, 3, 4, 1])),
        "C2": gather_program(index_vector_dim=4),
        "C3": gather_program(start_index_map=[1, 2]),
        "C4": gather_program(
            offset_dims=[1, 0], operand_batching_dims=[], start_indices_batching_dims=[], start_index_map=[1]
        ),
        "C5": gather_program(offset_dims=[3]),
        "C6": gather_program(collapsed_slice_dims=[0]),
        "C7": gather_program(
            collapsed_slice_dims=[1, 0], operand_batching_dims=[], start_indices_batching_dims=[]
        ),
        "C8": gather_program(collapsed_slice_dims=[3]),
        "C9": gather_program(slice_sizes=[1, 2, 3]),
        "C10": gather_program(
            collapsed_slice_dims=[], operand_batching_dims=[1, 0], start_indices_batching_dims=[0, 1]
        ),
        "C11": gather_program(operand_batching_dims=[3]),
        "C12": gather_program(slice_sizes=[2, 1, 3]),
        "C13": gather_program(
            collapsed_slice_dims=[], operand_batching_dims=[0, 1], start_indices_batching_dims=[0, 0]
        ),
        "C14": gather_program(start_indices_batching_dims=[3]),
        "C15": gather_program(start_indices_batching_dims=[2]),
        "C16": gather_program(start_indices_batching_dims=[0, 1]),
        "C17": gather_program(start_indices_batching_dims=[1]),
        "C18": gather_program(start_index_map=[0]),
        "C19": gather_program(start_index_map=[3]),
        "C20": gather_program(slice_sizes=[1, 1]),
        "C21": gather_program(slice_sizes=[1, 1, 5]),
        "C22": gather_program(result=tensor([2, 5, 3])),
        "C23": gather_program(result=tensor([2, 3, 5], "f64")),
    },
    declaration("dynamic_gather"): {
        "C1": dynamic_gather_program(operand=tensor([3, 4, 1])),
        "C2": dynamic_gather_program(index_vector_dim=4),
        "C3": dynamic_gather_program(start_index_map=[0, 1]),
        "C4": dynamic_gather_program(collapsed_slice_dims=[], offset_dims=[1, 0]),
        "C5": dynamic_gather_program(offset_dims=[3]),
        "C6": dynamic_gather_program(collapsed_slice_dims=[1, 0], offset_dims=[]),
        "C7": dynamic_gather_program(collapsed_slice_dims=[2]),
        "C8": dynamic_gather_program(slice_sizes=[2, 3]),
        "C9": dynamic_gather_program(start_index_map=[0, 0], start_indices=tensor([2, 5, 2], "i32")),
        "C10": dynamic_gather_program(start_index_map=[2]),
        "C11": dynamic_gather_program(slice_sizes="tensor<3xi64>"),
        "C12": dynamic_gather_program(slice_sizes=[1, 5]),
        "C13": dynamic_gather_program(result=tensor([2, 5, 3])),
        "C14": dynamic_gather_program(result=tensor([2, 3, 5], "f64")),
        "batching": dynamic_gather_program(start_indices_batching_dims=[0]),
    },
}

ACCEPTED = [
    dynamic_slice(T23, [I32, I32], [1, 2], tensor([1, 2])),
    dynamic_slice(tensor([]), [], [], tensor([])),
    dynamic_update_slice(T23, tensor([1, 2]), [I32, I32], T23),
    torch_index_select(tensor([2, 3, 4]), tensor([2, 5], "i32"), 2, 1, tensor([2, 3, 5])),
    gather_program(),
    dynamic_gather_program(),
    dynamic_gather_program(slice_sizes="tensor<2xi64>"),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, indexing, gather)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs_of_another_kind_are_rejected(text: str) -> None:
    assert_inputs_rejected(text)


SOME_DIMS = st.lists(st.integers(-2, 5), max_size=4)
SOME_TENSOR = st.lists(st.sampled_from([0, 1, 2, 3, "?"]), max_size=4).map(lambda shape: tensor(shape, "i32"))
SOME_PARTS = st.fixed_dictionaries(
    {},
    optional={
        name: SOME_DIMS
        if isinstance(value, list)
        else SOME_TENSOR
        if isinstance(value, str)
        else st.integers(-2, 5)
        for name, value in GATHER.items()
    },
)


@given(SOME_PARTS, st.booleans())
def test_any_dimension_numbers_get_a_verdict(parts: dict[str, Any], dynamic: bool) -> None:
    text = dynamic_gather_program(**parts) if dynamic else gather_program(**parts)
    block = parse(text).functions["main"].body.block
    view = Op.of(block.operations[-2])
    reasons = [reason for _, _, reason in view.constraints()]
    if not any(reasons):
        assert view.infer() is None or view.infer()[0].rank == view.result.rank


def clamp(low: int, value: int, high: int) -> int:
    """`value` moved into [low, high]."""
    return min(max(value, low), high)


@given(
    st.data(), st.sampled_from(sorted(ELEMENT_TYPES)), st.sampled_from(["i4", "i32", "i64", "ui8", "ui64"])
)
def test_dynamic_slices(data: st.DataObject, element_type: str, index_type: str) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    sizes = [data.draw(st.integers(0, size)) for size in shape]
    lowest = 0 if index_type.startswith("u") else -4
    highest = (1 << 64) - 1 if index_type == "ui64" else 7
    starts = [data.draw(st.integers(lowest, 6) | st.just(highest)) for _ in shape]
    operand, update = elements(shape, element_type), elements(sizes, element_type)
    indices = [np.array(start, ELEMENT_TYPES[index_type].dtype) for start in starts]
    types = [tensor([], index_type)] * len(shape)
    operand_type, update_type = tensor(shape, element_type), tensor(sizes, element_type)
    (read,) = evaluate(dynamic_slice(operand_type, types, sizes, update_type), operand, *indices)
    text = dynamic_update_slice(operand_type, update_type, types, operand_type)
    (written,) = evaluate(text, operand, update, *indices)
    adjusted = [clamp(0, a, b - size) for a, b, size in zip(starts, shape, sizes, strict=True)]
    for index in index_space(sizes):
        assert read[index] == operand[tuple(map(sum, zip(adjusted, index, strict=True)))]
    for index in index_space(shape):
        update_index = tuple(i - start for i, start in zip(index, adjusted, strict=True))
        inside = all(0 <= i < size for i, size in zip(update_index, sizes, strict=True))
        assert written[index] == (update[update_index] if inside else operand[index])


@given(st.data())
def test_torch_index_select(data: st.DataObject) -> None:
    batch = data.draw(st.lists(st.integers(0, 3), max_size=2))
    before, after, chosen = (data.draw(st.lists(st.integers(0, 3), max_size=2)) for _ in range(3))
    size = data.draw(st.integers(1, 4))
    operand = elements([*batch, *before, size, *after], "i32")
    index_shape = [*batch, *chosen]
    index = np.array(data.draw(st.lists(st.integers(-2, 6), min_size=64, max_size=64)), np.int32)
    index = np.resize(index, index_shape)
    result_shape = [*batch, *before, *chosen, *after]
    dim, batch_dims = len(batch) + len(before), len(batch)
    text = torch_index_select(
        tensor(operand.shape, "i32"), tensor(index_shape, "i32"), dim, batch_dims, tensor(result_shape, "i32")
    )
    (result,) = evaluate(text, operand, index)
    for result_index in index_space(result_shape):
        b, rest = result_index[:batch_dims], result_index[dim:]
        selected = clamp(0, int(index[b + rest[: len(chosen)]]), size - 1)
        assert result[result_index] == operand[(*result_index[:dim], selected, *rest[len(chosen) :])]


def gathered(case: IndexCase, operand: Any, start_indices: Any, result_index: tuple[int, ...]) -> Any:
    """The element of the result at `result_index`, as the specification says it."""
    rank = len(case.shape)
    batch_index = tuple(i for d, i in enumerate(result_index) if d not in case.window_dims)
    start_index = case.start_index(start_indices, batch_index)
    full_start_index = [0] * rank
    for d_start, d_operand in enumerate(case.index_map):
        limit = case.shape[d_operand] - case.slice_sizes[d_operand]
        full_start_index[d_operand] = clamp(0, start_index[d_start], limit)
    full_batching_index = case.full_batching_index(batch_index)
    full_offset_index = case.full_window_index(tuple(result_index[d] for d in case.window_dims))
    parts = zip(full_start_index, full_batching_index, full_offset_index, strict=True)
    return operand[tuple(map(sum, parts))]


@given(index_cases(), st.sampled_from(sorted(ELEMENT_TYPES)), st.booleans())
def test_gather(case: IndexCase, element_type: str, dynamic: bool) -> None:
    operand = elements(case.shape, element_type)
    start_indices = case.indices
    parts = {
        "operand": tensor(case.shape, element_type),
        "start_indices": tensor(start_indices.shape, case.index_type),
        "offset_dims": case.window_dims,
        "collapsed_slice_dims": case.dropped_dims,
        "operand_batching_dims": case.batching_dims,
        "start_indices_batching_dims": case.indices_batching_dims,
        "start_index_map": case.index_map,
        "index_vector_dim": case.index_vector_dim,
        "slice_sizes": case.slice_sizes,
        "result": tensor(case.space, element_type),
    }
    if dynamic:
        sizes = {
            "slice_sizes": tensor([len(case.shape)], "i64"),
            "result": tensor(["?"] * len(case.space), element_type),
        }
        values = np.array(case.slice_sizes, np.int64)
        (result,) = evaluate(dynamic_gather_program(**{**parts, **sizes}), operand, start_indices, values)
    else:
        (result,) = evaluate(gather_program(**parts), operand, start_indices)
    assert list(result.shape) == case.space
    for result_index in index_space(case.space):
        assert result[result_index] == gathered(case, operand, start_indices, result_index)


def test_any_number_of_empty_index_vectors_takes_no_memory() -> None:
    text = """
      func.func @main(%x: tensor<2x0xi32>, %i: tensor<1000000x1000000x0xi64>)
          -> tensor<1000000x1000000x0xi32> {
        %0 = "stablehlo.gather"(%x, %i) {
          dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0],
            start_index_map = [], index_vector_dim = 2>,
          slice_sizes = array<i64: 1, 0>, indices_are_sorted = false
        } : (tensor<2x0xi32>, tensor<1000000x1000000x0xi64>) -> tensor<1000000x1000000x0xi32>
        return %0 : tensor<1000000x1000000x0xi32>
      }"""
    indices = np.empty((10**6, 10**6, 0), np.int64)
    (got,) = run_every_way(text, np.empty((2, 0), np.int32), indices)
    assert got.shape == indices.shape and got.dtype == np.int32


def test_gather_of_an_empty_slice_at_the_end_is_undefined() -> None:
    text = gather_program(
        operand=tensor([3], "i32"),
        start_indices=tensor([2], "i32"),
        offset_dims=[],
        collapsed_slice_dims=[0],
        operand_batching_dims=[],
        start_indices_batching_dims=[],
        start_index_map=[0],
        index_vector_dim=1,
        slice_sizes=[0],
        result=tensor([2], "i32"),
    )
    operand = np.arange(3, dtype=np.int32)
    assert evaluate(text, operand, np.array([0, 2], np.int32))[0].tolist() == [0, 2]
    with pytest.raises(UndefinedBehaviorError, match="slice_sizes\\[0\\] is 0"):
        evaluate(text, operand, np.array([0, 5], np.int32))
