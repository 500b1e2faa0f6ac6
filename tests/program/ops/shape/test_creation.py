"""Constants and iota."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nimblehlo.program.ops.shape import creation
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.oracles import wrapped
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, declaration, index_space, tensor


def constant(value: str, output: str) -> str:
    return program("stablehlo.constant", [], [output], f"value = {value}")


def iota(output: str, dimension: int) -> str:
    return program("stablehlo.iota", [], [output], f"iota_dimension = {dimension} : i64")


def test_constant() -> None:
    (array,) = evaluate(constant("dense<[1.5, -2.0]> : tensor<2xf32>", "tensor<2xf32>"))
    assert array.tolist() == [1.5, -2.0]
    (array,) = evaluate(constant("dense<[3, -4]> : tensor<2xi8>", tensor([2], PER_TENSOR)))
    assert array.tolist() == [3, -4]
    (array,) = evaluate(constant("dense<7> : tensor<2x0xi32>", "tensor<2x0xi32>"))
    assert array.shape == (2, 0)


@pytest.mark.parametrize("element_type", [n for n in ELEMENT_TYPES if n not in ("i1", "f8E8M0FNU")])
@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_iota(element_type: str, dimension: int) -> None:
    shape = (2, 3, 4)
    (array,) = evaluate(iota(tensor(shape, element_type), dimension))
    for index in index_space(shape):
        number = index[dimension]
        if "i" in element_type.removeprefix("u")[:1]:
            number = wrapped(number, element_type)
        assert array[index] == number


def test_iota_beyond_the_type_and_empty() -> None:
    (array,) = evaluate(iota(tensor([300], "ui8"), 0))
    assert array.tolist() == [number % 256 for number in range(300)]
    (array,) = evaluate(iota(tensor([2, 0]), 0))
    assert array.shape == (2, 0)
    (array,) = evaluate(iota(tensor([4099], "bf16"), 0))
    assert float(array[257]) == 256.0
    assert float(array[259]) == 260.0


REJECTED = {
    declaration("constant"): {"C1": constant("dense<1.0> : tensor<2xf32>", "tensor<3xf32>")},
    declaration("iota"): {"C1": iota(tensor([2]), 1)},
}


@pytest.mark.parametrize(("declared", "label", "text"), rows(REJECTED))
def test_rejected(declared: Any, label: str, text: str) -> None:
    assert_rejected(declared, label, text)


def test_negative_dimension_is_rejected() -> None:
    assert_rejected(declaration("iota"), "C1", iota(tensor([2]), -1))


def test_quantized_constant_of_other_storage_is_rejected() -> None:
    text = constant("dense<[3, -4]> : tensor<2xi16>", tensor([2], PER_TENSOR))
    assert_rejected(declaration("constant"), "C1", text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, creation)


@pytest.mark.parametrize("text", [constant("dense<1> : tensor<i32>", "tensor<i32>"), iota(tensor([2, 2]), 1)])
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


def test_constants_are_read_only() -> None:
    (array,) = evaluate(constant("dense<1.0> : tensor<2xf32>", "tensor<2xf32>"))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(array)[0] = 2
