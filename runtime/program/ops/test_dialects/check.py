"""The `check` dialect: operations with which test programs compare values, and the comparisons themselves.

The custom calls `check.*` use the same comparisons. A check that fails raises an ExecutionError with the
first index where the values differ, both values there, and how many there are.

Source: the definition of the dialect in the StableHLO project's test suite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ....types import COMPLEX, FLOAT, TENSOR, Array, ElementType, TensorType, element_type_of
from ..framework import constraints
from ..framework.attribute_kinds import CONSTANT, F64, I64, STRING, UI64
from ..framework.call_state import uses_call_state
from ..framework.declaration import Attribute, Op, Operand, constraint
from ..framework.rules import same_type, shape_text
from .interpreter import read_probe

Disagreement = Callable[[Array, Array], Array]
"""A function of actual and expected values that returns where they disagree, as booleans."""

_INCOMPARABLE: Final = np.uint64(2**64 - 1)


def require_agreement(
    view: Op, actual: Array, expected: Array, disagreement: Disagreement, rule: str
) -> None:
    """Raise where two tensors disagree.

    Args:
        view: the operation that checks, for the message.
        actual, expected: the tensors.
        disagreement: the comparison.
        rule: what must hold, in words.

    Raises:
        ExecutionError: their shapes differ, or they disagree somewhere.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        kinds = [f"{array.dtype} of shape {shape_text(array.shape)}" for array in (actual, expected)]
        raise view.execution_error(f"actual is {kinds[0]}, but expected is {kinds[1]}")
    differs = disagreement(actual, expected)
    count = int(np.count_nonzero(differs))
    if count:
        first = tuple(map(int, np.unravel_index(int(np.argmax(differs)), differs.shape)))
        raise view.execution_error(
            f"{rule}, but {count} of {actual.size} elements differ, first at index {list(first)}: "
            f"actual is {actual[first]}, expected is {expected[first]}"
        )


def by_components(disagreement: Disagreement) -> Disagreement:
    """A comparison of real values as one that takes complex values too: either part may disagree."""

    def compare(actual: Array, expected: Array) -> Array:
        if actual.dtype.kind != "c":
            return disagreement(actual, expected)
        return disagreement(actual.real, expected.real) | disagreement(actual.imag, expected.imag)

    return compare


@by_components
def unequal(actual: Array, expected: Array) -> Array:
    """A mask of the values that differ; -0 equals 0, and NaN equals NaN."""
    return np.asarray((actual != expected) & ((actual == actual) | (expected == expected)))


def not_almost_equal(tolerance: float) -> Disagreement:
    """A function that masks values that differ by more than `tolerance`, or of which only one is NaN or
    infinite."""

    @by_components
    def compare(actual: Array, expected: Array) -> Array:
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        return unequal(actual, expected) & ~(difference <= tolerance)

    return compare


def not_close(min_ulp_difference: int, max_ulp_difference: int) -> Disagreement:
    """A function that masks values whose distance in ulps is outside of the inclusive bounds."""

    @by_components
    def compare(actual: Array, expected: Array) -> Array:
        distance = ulp_difference(actual, expected)
        return (distance < np.uint64(min_ulp_difference)) | (distance > np.uint64(max_ulp_difference))

    return compare


def ulp_difference(actual: Array, expected: Array) -> Array:
    """The distance in ulps; 2^64 - 1 if one value is not finite.

    Values with the same bits, and any two NaN, have distance 0.
    """
    element_type = element_type_of(actual.dtype)
    actual_bits, expected_bits = _bits(actual), _bits(expected)
    actual_size, actual_sign = _magnitude(actual_bits, element_type)
    expected_size, expected_sign = _magnitude(expected_bits, element_type)
    size_difference = np.maximum(actual_size, expected_size) - np.minimum(actual_size, expected_size)
    distance = np.where(actual_sign == expected_sign, size_difference, actual_size + expected_size)
    distance = np.where(np.isfinite(actual) & np.isfinite(expected), distance, _INCOMPARABLE)
    same = (actual_bits == expected_bits) | (np.isnan(actual) & np.isnan(expected))
    return np.where(same, np.uint64(0), distance)


def _bits(values: Array) -> Array:
    bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    return bits.astype(np.uint64).reshape(values.shape)


def _magnitude(bits: Array, element_type: ElementType) -> tuple[Array, Array]:
    """The distance from zero in ulps, and the sign bit."""
    signed = 0 if element_type.name == "f8E8M0FNU" else 1
    sign = np.uint64(signed << (element_type.width - 1))
    return bits & ~sign, bits & sign


class _Check(Op, pure=False):
    """An operation without results that compares two values."""

    def compare(self, actual: Array, expected: Array, disagreement: Disagreement, rule: str) -> tuple[()]:
        """Raise where the values disagree; give no results."""
        require_agreement(self, actual, expected, disagreement, rule)
        return ()


class ExpectEq(_Check, name="check.expect_eq", assembly="$lhs , $rhs attr-dict : type($lhs)"):
    """Checks that two tensors are equal."""

    lhs = Operand(TENSOR)
    rhs = Operand(TENSOR)

    I2 = constraints.same_type("lhs", "rhs")

    def reference(self, lhs: Array, rhs: Array) -> tuple[()]:
        return self.compare(lhs, rhs, unequal, "values must be equal")


class ExpectEqConst(_Check, name="check.expect_eq_const", assembly="$lhs , $value attr-dict"):
    """Checks that a tensor is equal to a constant."""

    lhs = Operand(TENSOR)
    value = Attribute(CONSTANT)

    @constraint
    def I2(self) -> str | None:
        """type(lhs) = type(value)"""
        return same_type("lhs", self.lhs, "value", self.value.type)

    def reference(self, lhs: Array) -> tuple[()]:
        return self.compare(lhs, self.value.array, unequal, "values must be equal")


class ExpectAlmostEq(
    _Check,
    name="check.expect_almost_eq",
    assembly="$lhs , $rhs ( , tolerance = $tolerance )? attr-dict : type($lhs)",
):
    """Checks that two tensors are equal up to a tolerance."""

    lhs = Operand(FLOAT | COMPLEX)
    rhs = Operand(FLOAT | COMPLEX)
    tolerance = Attribute(F64, 1e-4)

    I2 = constraints.same_type("lhs", "rhs")

    def reference(self, lhs: Array, rhs: Array) -> tuple[()]:
        rule = f"values must differ by at most {self.tolerance}"
        return self.compare(lhs, rhs, not_almost_equal(self.tolerance), rule)


class ExpectAlmostEqConst(
    _Check,
    name="check.expect_almost_eq_const",
    assembly="$lhs , $value ( , tolerance = $tolerance )? attr-dict",
):
    """Checks that a tensor is equal to a constant up to a tolerance."""

    lhs = Operand(FLOAT | COMPLEX)
    value = Attribute(CONSTANT)
    tolerance = Attribute(F64, 1e-4)

    @constraint
    def I2(self) -> str | None:
        """type(lhs) = type(value)"""
        return same_type("lhs", self.lhs, "value", self.value.type)

    def reference(self, lhs: Array) -> tuple[()]:
        rule = f"values must differ by at most {self.tolerance}"
        return self.compare(lhs, self.value.array, not_almost_equal(self.tolerance), rule)


class ExpectClose(
    _Check,
    name="check.expect_close",
    assembly=(
        "$actual , $expected , max_ulp_difference = $max_ulp_difference "
        "( , min_ulp_difference = $min_ulp_difference )? : attr-dict type($actual) , type($expected)"
    ),
):
    """Checks that the distance of two tensors in ulps is within bounds."""

    actual = Operand(FLOAT | COMPLEX)
    expected = Operand(FLOAT | COMPLEX)
    max_ulp_difference = Attribute(UI64, 1)
    min_ulp_difference = Attribute(UI64, 0)

    I2 = constraints.same_type("actual", "expected")

    @constraint
    def I3_I4(self) -> str | None:
        """0 <= min_ulp_difference <= max_ulp_difference < 2^64"""
        if 0 <= self.min_ulp_difference <= self.max_ulp_difference < 2**64:
            return None
        return f"the bounds are {self.min_ulp_difference} and {self.max_ulp_difference}"

    def reference(self, actual: Array, expected: Array) -> tuple[()]:
        bounds = self.min_ulp_difference, self.max_ulp_difference
        return self.compare(actual, expected, not_close(*bounds), close_rule(*bounds))


def close_rule(min_ulp_difference: int, max_ulp_difference: int) -> str:
    """The condition of `not_close` in words."""
    return f"values must be {min_ulp_difference} to {max_ulp_difference} ulps apart"


@uses_call_state
class ExpectSerializedEq(
    _Check,
    name="check.expect_serialized_eq",
    assembly="$expected , probe_id = $probe_id ( , iter = $iteration )? attr-dict : type($expected)",
):
    """Compares a tensor with the output of a probe at its run number `iteration`, counted from 0."""

    expected = Operand(TENSOR)
    probe_id = Attribute(STRING)
    iteration = Attribute(I64, 0)
    takes_stored_values = True

    def reference(self, expected: Array) -> tuple[()]:
        probed = read_probe(self, self.probe_id, self.iteration, self.expected)
        return self.compare(probed, expected, unequal, "values must be equal to the probe's")


def are_real_or_complex(*operands: object) -> bool:
    """Whether types are all tensors of floating-point or complex elements."""
    return all(isinstance(type, TensorType) and type.category & (FLOAT | COMPLEX) for type in operands)
