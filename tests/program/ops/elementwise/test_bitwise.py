"""Operations on bits, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nimblehlo.program.ops.elementwise import bitwise
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.oracles import INTEGERS, integer_values, wrapped
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import declaration, tensor

UNARY = ("count_leading_zeros", "not", "popcnt")
BINARY = ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")


def apply(name: str, element_type: str, *operands: Any) -> list[int]:
    type = tensor(operands[0].shape, element_type)
    (array,) = evaluate(program(f"stablehlo.{name}", [type] * len(operands), [type]), *operands)
    return [int(value) for value in np.asarray(array)]


@pytest.mark.parametrize("element_type", INTEGERS)
def test_unary(element_type: str) -> None:
    values, width = integer_values(element_type), ELEMENT_TYPES[element_type].width
    patterns = [int(value) % (1 << width) for value in values]
    zeros = [wrapped(width - pattern.bit_length(), element_type) for pattern in patterns]
    assert apply("count_leading_zeros", element_type, values) == zeros
    counts = [wrapped(pattern.bit_count(), element_type) for pattern in patterns]
    assert apply("popcnt", element_type, values) == counts
    assert apply("not", element_type, values) == [wrapped(~pattern, element_type) for pattern in patterns]


@pytest.mark.parametrize("element_type", INTEGERS)
def test_binary(element_type: str) -> None:
    values, width = integer_values(element_type), ELEMENT_TYPES[element_type].width
    lhs, rhs = np.repeat(values, len(values)), np.tile(values, len(values))

    def arithmetic(a: int, b: int) -> int:
        return wrapped(a, f"i{width}") >> min(b, width)

    functions: dict[str, Callable[[int, int], int]] = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "shift_left": lambda a, b: a << b if b < width else 0,
        "shift_right_arithmetic": arithmetic,
        "shift_right_logical": lambda a, b: a >> min(b, width),
    }
    patterns = [(int(a) % (1 << width), int(b) % (1 << width)) for a, b in zip(lhs, rhs, strict=True)]
    for name, function in functions.items():
        expected = [wrapped(function(a, b), element_type) for a, b in patterns]
        assert apply(name, element_type, lhs, rhs) == expected, name


def test_booleans() -> None:
    lhs, rhs = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert apply("and", "i1", lhs, rhs) == [0, 0, 0, 1]
    assert apply("or", "i1", lhs, rhs) == [0, 1, 1, 1]
    assert apply("xor", "i1", lhs, rhs) == [0, 1, 1, 0]
    assert apply("not", "i1", lhs) == [1, 1, 0, 0]


I2, I3 = tensor([2], "i32"), tensor([3], "i32")
REJECTED = {declaration(name): {"C1": program(f"stablehlo.{name}", [I2], [I3])} for name in UNARY} | {
    declaration(name): {"C1": program(f"stablehlo.{name}", [I2, tensor([2], "ui32")], [I2])}
    for name in BINARY
}


@pytest.mark.parametrize(("declared", "label", "text"), rows(REJECTED))
def test_rejected(declared: Any, label: str, text: str) -> None:
    assert_rejected(declared, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, bitwise)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_inputs(name: str) -> None:
    assert_inputs_rejected(program(f"stablehlo.{name}", [I2] * (1 if name in UNARY else 2), [I2]))
