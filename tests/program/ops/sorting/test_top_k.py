"""`top_k` by sorting, and its constraints."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.sorting import top_k as module
from nimblehlo.program.ops.sorting.top_k import TopK
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import tensor


def top_k(operand: str, k: int, values: str, indices: str, attributes: str = "") -> str:
    return program("chlo.top_k", [operand], [values, indices], f"k = {k} : i64{attributes}")


@pytest.mark.parametrize("element_type", ["i4", "ui8", "i32", "ui64", "bf16", "f32", "f64", "f8E4M3FN"])
@pytest.mark.parametrize("k", [0, 1, 3, 7])
def test_top_k(element_type: str, k: int) -> None:
    random = np.random.default_rng(k)
    operand = random.integers(0, 6, (2, 7)).astype(ELEMENT_TYPES[element_type].dtype)
    text = top_k(tensor([2, 7], element_type), k, tensor([2, k], element_type), tensor([2, k], "i32"))
    values, indices = evaluate(text, operand)
    for row, row_values, row_indices in zip(operand, values, indices, strict=True):
        order = sorted(range(7), key=lambda index: (-float(row[index]), index))[:k]
        assert row_indices.tolist() == order
        assert [float(value) for value in row_values] == [float(row[index]) for index in order]


def test_top_k_of_special_values() -> None:
    operand = np.array([1.0, math.nan, -0.0, 0.0, -math.inf, math.inf], np.float32)
    text = top_k(tensor([6]), 6, tensor([6]), tensor([6], "i32"), ", is_stable = false")
    _, indices = evaluate(text, operand)
    assert indices.tolist() == [1, 5, 0, 3, 2, 4]


@pytest.mark.parametrize(
    ("shape", "k"),
    [((3, 140_000), 4), ((2, 3, 70_000), 4), ((30_000, 9), 4), ((3, 0), 0), ((0, 5), 4)]
    + [((2, 5000), k) for k in (32, 33, 312, 313, 4999)],
)
def test_top_k_of_rows_that_are_taken_some_at_a_time(shape: tuple[int, ...], k: int) -> None:
    operand = np.random.default_rng(0).integers(0, 1000, shape).astype(np.float32)
    result = [*shape[:-1], k]
    values, indices = evaluate(top_k(tensor(list(shape)), k, tensor(result), tensor(result, "i32")), operand)
    order = np.argsort(-operand, axis=-1, kind="stable")[..., :k]
    assert np.array_equal(indices, order)
    assert np.array_equal(values, np.take_along_axis(operand, order, axis=-1))


REJECTED: dict[type[Op], dict[str, str]] = {
    TopK: {
        "C1": top_k(tensor([]), 0, tensor([0]), tensor([0], "i32")),
        "C2": top_k(tensor([2]), 3, tensor([3]), tensor([3], "i32")),
        "C3": top_k(tensor([2]), 2, tensor([2]), tensor([2], "i64")),
    }
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, module)


def test_inputs() -> None:
    assert_inputs_rejected(top_k(tensor([2]), 1, tensor([1]), tensor([1], "i32"), ", is_stable = true"))
