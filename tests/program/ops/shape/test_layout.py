"""Operations that move elements, against the specification's formulas in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.shape import broadcasting, layout
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, array, declaration, elements, index_space, per_axis, tensor
from tests.support.running import run_every_way

SHAPES = st.lists(st.integers(0, 4), max_size=4)
ELEMENT_TYPE_NAMES = st.sampled_from(sorted(ELEMENT_TYPES))


def broadcast_in_dim(operand: str, dimensions: Any, result: str) -> str:
    attributes = f"broadcast_dimensions = {array(*dimensions)}"
    return program("stablehlo.broadcast_in_dim", [operand], [result], attributes)


def broadcast(operand: str, sizes: Any, result: str) -> str:
    return program("stablehlo.broadcast", [operand], [result], f"broadcast_sizes = {array(*sizes)}")


def concatenate(inputs: Any, dimension: int, result: str) -> str:
    return program("stablehlo.concatenate", inputs, [result], f"dimension = {dimension} : i64")


def reshape(operand: str, result: str) -> str:
    return program("stablehlo.reshape", [operand], [result])


def reverse(operand: str, dimensions: Any, result: str) -> str:
    return program("stablehlo.reverse", [operand], [result], f"dimensions = {array(*dimensions)}")


def transpose(operand: str, permutation: Any, result: str) -> str:
    return program("stablehlo.transpose", [operand], [result], f"permutation = {array(*permutation)}")


T23 = tensor([2, 3])
REJECTED = {
    declaration("broadcast_in_dim"): {
        "C1": broadcast_in_dim(T23, [0, 1], tensor([2, 3], "f64")),
        "C2": broadcast_in_dim(T23, [0], T23),
        "C3": broadcast_in_dim(T23, [0, 2], T23),
        "C4": broadcast_in_dim(tensor([2, 2]), [0, 0], tensor([2, 2])),
        "C5": broadcast_in_dim(T23, [0, 1], tensor([2, 4])),
        "C6": broadcast_in_dim(
            tensor([2, 3], per_axis(0)), [1, 0], tensor([3, 2], per_axis(0, "1:0, 1:0, 1:0"))
        ),
    },
    declaration("broadcast"): {
        "C1": broadcast(T23, [4], tensor([4, 2, 3], "f64")),
        "C2": broadcast(T23, [-4], tensor([4, 2, 3])),
        "C3": broadcast(T23, [4], tensor([5, 2, 3])),
    },
    declaration("concatenate"): {
        "C1": concatenate([T23, tensor([2, 3], "f64")], 0, tensor([4, 3])),
        "C2": concatenate([T23, tensor([2, 4])], 0, tensor([4, 3])),
        "C3": concatenate([], 0, T23),
        "C4": concatenate([T23, T23], 2, T23),
        "C5": concatenate([T23, T23], 0, tensor([4, 3], "f64")),
        "C6": concatenate([T23, T23], 1, tensor([4, 3])),
    },
    declaration("reshape"): {
        "C1": reshape(T23, tensor([6], "i32")),
        "C2": reshape(T23, tensor([5])),
        "C3": reshape(tensor([2, 6], per_axis(0)), tensor([6, 2], per_axis(1))),
    },
    declaration("reverse"): {
        "C1": reverse(T23, [0], tensor([2, 3], "f64")),
        "C2": reverse(T23, [0, 0], T23),
        "C3": reverse(T23, [2], T23),
    },
    declaration("transpose"): {
        "C1": transpose(T23, [1, 0], tensor([3, 2], "f64")),
        "C2": transpose(T23, [0, 0], T23),
        "C3": transpose(T23, [1, 0], T23),
        "C4": transpose(tensor([2, 2], per_axis(0)), [1, 0], tensor([2, 2], per_axis(0))),
    },
}

MORE_REJECTED = [
    (
        "broadcast_in_dim",
        "C6",
        broadcast_in_dim(tensor([2], per_axis(0)), [1], tensor([3, 2], per_axis(1, "1:0, 2:0"))),
    ),
    ("concatenate", "C2", concatenate([T23, tensor([2])], 0, T23)),
    ("reshape", "C1", reshape(tensor([6], PER_TENSOR), tensor([2, 3], per_axis(0)))),
    ("transpose", "C2", transpose(T23, [0], T23)),
]

ACCEPTED = [
    broadcast_in_dim(T23, [2, 0], tensor([3, 4, 2])),
    broadcast_in_dim(tensor([1, 2], per_axis(1)), [0, 1], tensor([3, 2], per_axis(1))),
    broadcast_in_dim(tensor([1], per_axis(0, "0.5:1")), [0], tensor([2], per_axis(0, "0.5:1, 0.5:1"))),
    broadcast(T23, [4], tensor([4, 2, 3])),
    concatenate([T23, T23], 1, tensor([2, 6])),
    concatenate([tensor(["?", 3]), tensor([2, "?"])], 0, tensor(["?", 3])),
    reshape(T23, tensor([6])),
    reshape(tensor([2, 6], per_axis(0)), tensor([2, 3, 2], per_axis(0))),
    reverse(T23, [0, 1], T23),
    transpose(T23, [1, 0], tensor([3, 2])),
    transpose(tensor([2, 3], per_axis(0)), [1, 0], tensor([3, 2], per_axis(1))),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize(("name", "label", "text"), MORE_REJECTED)
def test_other_rejected(name: str, label: str, text: str) -> None:
    assert_rejected(declaration(name), label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, layout, broadcasting)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs_of_another_kind_are_rejected(text: str) -> None:
    assert_inputs_rejected(text)


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_broadcast_in_dim(data: st.DataObject, element_type: str) -> None:
    shape = data.draw(SHAPES)
    dimensions = data.draw(st.permutations(range(len(shape))))[: data.draw(st.integers(0, len(shape)))]
    operand_shape = [data.draw(st.sampled_from([1, shape[d]])) for d in dimensions]
    operand = elements(operand_shape, element_type)
    text = broadcast_in_dim(tensor(operand_shape, element_type), dimensions, tensor(shape, element_type))
    (result,) = evaluate(text, operand)
    for result_index in index_space(shape):
        operand_index = tuple(
            0 if size == 1 else result_index[d] for size, d in zip(operand_shape, dimensions, strict=True)
        )
        assert result[result_index] == operand[operand_index]


def test_large_broadcast_takes_no_memory() -> None:
    (result,) = evaluate(broadcast_in_dim(tensor([3]), [1], tensor([100000, 3])), np.float32([1, 2, 3]))
    assert result.strides == (0, 4)
    assert np.array_equal(result[77], [1, 2, 3])


@given(SHAPES, SHAPES, ELEMENT_TYPE_NAMES)
def test_broadcast(sizes: list[int], shape: list[int], element_type: str) -> None:
    operand = elements(shape, element_type)
    text = broadcast(tensor(shape, element_type), sizes, tensor(sizes + shape, element_type))
    (result,) = evaluate(text, operand)
    for result_index in index_space(sizes + shape):
        assert result[result_index] == operand[result_index[len(sizes) :]]


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_concatenate(data: st.DataObject, element_type: str) -> None:
    shape = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    dimension = data.draw(st.integers(0, len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    shapes = [[*shape[:dimension], size, *shape[dimension + 1 :]] for size in sizes]
    inputs = [elements(one, element_type) for one in shapes]
    result_shape = [*shape[:dimension], sum(sizes), *shape[dimension + 1 :]]
    types = [tensor(one, element_type) for one in shapes]
    (result,) = evaluate(concatenate(types, dimension, tensor(result_shape, element_type)), *inputs)
    start = 0
    for operand in inputs:
        for index in index_space(operand.shape):
            moved = (*index[:dimension], index[dimension] + start, *index[dimension + 1 :])
            assert result[moved] == operand[index]
        start += operand.shape[dimension]


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_reshape(data: st.DataObject, element_type: str) -> None:
    factors = data.draw(st.lists(st.integers(1, 3), max_size=4))
    cut = data.draw(st.integers(0, len(factors)))
    shape = [math.prod(factors[:cut]), *factors[cut:]]
    operand = elements(factors, element_type)
    (result,) = evaluate(reshape(tensor(factors, element_type), tensor(shape, element_type)), operand)
    for index, other in zip(index_space(factors), index_space(shape), strict=True):
        assert operand[index] == result[other]


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_reverse(data: st.DataObject, element_type: str) -> None:
    shape = data.draw(SHAPES)
    dimensions = [d for d in range(len(shape)) if data.draw(st.booleans())]
    operand = elements(shape, element_type)
    type = tensor(shape, element_type)
    (result,) = evaluate(reverse(type, dimensions, type), operand)
    for index in index_space(shape):
        turned = tuple(shape[d] - i - 1 if d in dimensions else i for d, i in enumerate(index))
        assert result[index] == operand[turned]


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_transpose(data: st.DataObject, element_type: str) -> None:
    shape = data.draw(SHAPES)
    permutation = data.draw(st.permutations(range(len(shape))))
    operand = elements(shape, element_type)
    result_type = tensor([shape[d] for d in permutation], element_type)
    (result,) = evaluate(transpose(tensor(shape, element_type), permutation, result_type), operand)
    for index in index_space(shape):
        assert operand[index] == result[tuple(index[d] for d in permutation)]


FUNCTIONS_BY_STRIDES = ["log", "log_plus_one", "exponential_minus_one", "tan", "cbrt", "exponential"]
"""Functions of f64 for which NumPy has other loops where a stride is negative."""


@pytest.mark.parametrize("name", FUNCTIONS_BY_STRIDES)
@pytest.mark.parametrize("shape", [(5, 7), (64, 300)])
def test_functions_of_reversed_floats_have_the_same_bits(name: str, shape: tuple[int, int]) -> None:
    """Each element's result is that of the operand in its own order, however the steps run."""
    kind = f"tensor<{shape[0]}x{shape[1]}xf64>"
    text = f"""
    func.func @main(%x: {kind}) -> ({kind}, {kind}) {{
      %0 = stablehlo.reverse %x, dims = [0, 1] : {kind}
      %1 = stablehlo.{name} %0 : {kind}
      %2 = stablehlo.reverse %1, dims = [0, 1] : {kind}
      %3 = stablehlo.{name} %x : {kind}
      return %2, %3 : {kind}, {kind}
    }}"""
    x = np.abs(np.random.default_rng(1).standard_normal(shape)) + 0.1
    got, want = run_every_way(text, x)
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS_BY_STRIDES)
def test_functions_of_inputs_with_negative_strides_have_the_same_bits(name: str) -> None:
    kind = "tensor<64x300xf64>"
    text = f"func.func @main(%x: {kind}) -> {kind} {{ %0 = stablehlo.{name} %x : {kind} return %0 : {kind} }}"
    x = np.abs(np.random.default_rng(2).standard_normal((64, 300))) + 0.1
    (want,) = run_every_way(text, x)
    (got,) = run_every_way(text, np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1])
    assert got.tobytes() == want.tobytes()
