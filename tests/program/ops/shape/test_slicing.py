"""Slices and padding, against the specification's formulas in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.shape import slicing
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import array, declaration, elements, index_space, tensor

ELEMENT_TYPE_NAMES = st.sampled_from(sorted(ELEMENT_TYPES))


def pad(operand: str, low: Any, high: Any, interior: Any, result: str, value: str = "tensor<f32>") -> str:
    attributes = (
        f"edge_padding_low = {array(*low)}, edge_padding_high = {array(*high)}, "
        f"interior_padding = {array(*interior)}"
    )
    return program("stablehlo.pad", [operand, value], [result], attributes)


def slice_of(operand: str, start: Any, limit: Any, strides: Any, result: str) -> str:
    attributes = (
        f"start_indices = {array(*start)}, limit_indices = {array(*limit)}, strides = {array(*strides)}"
    )
    return program("stablehlo.slice", [operand], [result], attributes)


T23 = tensor([2, 3])
REJECTED = {
    declaration("pad"): {
        "C1": pad(T23, [0, 0], [0, 0], [0, 0], T23, value="tensor<f64>"),
        "C2": pad(T23, [0], [0, 0], [0, 0], T23),
        "C3": pad(T23, [0, 0], [2, 0], [-1, 0], tensor([3, 3])),
        "C4": pad(T23, [0, 1], [0, 0], [0, 0], T23),
    },
    declaration("slice"): {
        "C1": slice_of(T23, [0, 0], [2, 3], [1, 1], tensor([2, 3], "f64")),
        "C2": slice_of(T23, [0, 0], [2, 3], [1], T23),
        "C3": slice_of(T23, [0, 0], [2, 4], [1, 1], tensor([2, 4])),
        "C4": slice_of(T23, [0, 0], [2, 3], [1, 0], T23),
        "C5": slice_of(T23, [0, 0], [2, 3], [1, 2], T23),
    },
}

MORE_REJECTED = [
    ("pad", "C4", pad(T23, [-3, 0], [0, 0], [0, 0], tensor([0, 3]))),
    ("slice", "C3", slice_of(T23, [1, 0], [0, 3], [1, 1], tensor([0, 3]))),
    ("slice", "C3", slice_of(T23, [-1, 0], [1, 3], [1, 1], tensor([2, 3]))),
]

ACCEPTED = [
    pad(T23, [0, -1], [1, 0], [2, 0], tensor([5, 2])),
    slice_of(T23, [0, 1], [2, 3], [1, 2], tensor([2, 1])),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize(("name", "label", "text"), MORE_REJECTED)
def test_other_rejected(name: str, label: str, text: str) -> None:
    assert_rejected(declaration(name), label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, slicing)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs_of_another_kind_are_rejected(text: str) -> None:
    assert_inputs_rejected(text)


def test_reason_names_values() -> None:
    with pytest.raises(
        Exception, match=r"stablehlo.slice: \(C3\) limit_indices\[1\] is 4, but operand has size 3"
    ):
        evaluate(slice_of(T23, [0, 0], [2, 4], [1, 1], tensor([2, 4])))


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_pad(data: st.DataObject, element_type: str) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    interior = [data.draw(st.integers(0, 2)) for _ in shape]
    spaced = [size + max(size - 1, 0) * amount for size, amount in zip(shape, interior, strict=True)]
    low = [data.draw(st.integers(-4, 3)) for _ in shape]
    high = [
        data.draw(st.integers(max(-4, -size - amount), max(3, -size - amount)))
        for size, amount in zip(spaced, low, strict=True)
    ]
    result_shape = [sum(amounts) for amounts in zip(spaced, low, high, strict=True)]
    operand, value = elements(shape, element_type), np.ones((), ELEMENT_TYPES[element_type].dtype)
    text = pad(
        tensor(shape, element_type),
        low,
        high,
        interior,
        tensor(result_shape, element_type),
        value=tensor([], element_type),
    )
    (result,) = evaluate(text, operand, value)
    expected = dict.fromkeys(index_space(result_shape), value[()])
    for index in index_space(shape):
        moved = tuple(a + i * (b + 1) for a, i, b in zip(low, index, interior, strict=True))
        if moved in expected:
            expected[moved] = operand[index]
    for index, element in expected.items():
        assert result[index] == element


@given(st.data(), ELEMENT_TYPE_NAMES)
def test_slice(data: st.DataObject, element_type: str) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    start = [data.draw(st.integers(0, size)) for size in shape]
    limit = [data.draw(st.integers(a, size)) for a, size in zip(start, shape, strict=True)]
    strides = [data.draw(st.integers(1, 3)) for _ in shape]
    result_shape = [math.ceil((b - a) / by) for a, b, by in zip(start, limit, strides, strict=True)]
    operand = elements(shape, element_type)
    text = slice_of(tensor(shape, element_type), start, limit, strides, tensor(result_shape, element_type))
    (result,) = evaluate(text, operand)
    for index in index_space(result_shape):
        assert (
            result[index]
            == operand[tuple(a + i * by for a, i, by in zip(start, index, strides, strict=True))]
        )
