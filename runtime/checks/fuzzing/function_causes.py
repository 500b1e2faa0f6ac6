"""Known causes of differences in elementwise functions, and how they are recognised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...api import execute
from ...options import Options
from ...program.ir import Operation
from ...types import FLOAT, INTEGER, Array, TensorType
from ..differences import FaultyOperation
from ..differences.extraction import main_block, returning
from ..error_bounds.ulps import is_inexact, is_subnormal

ZETA_TERMS: Final = 2000
"""Terms of the sum with which zeta is compared."""
CUT_ERROR: Final = 1e-5
"""Relative distance up to which a value is that of the other side of a branch cut."""
MAX_UNITS_OF_LOGARITHMS: Final = 2
"""Maximum error of NimbleHLO's logarithm, in ulps, for which a larger error of the other one is a finding."""
_PLAIN: Final = Options(compile="never")


Predicate = Callable[[FaultyOperation], bool]
Index = tuple[int, ...]


@dataclass(frozen=True)
class KnownCause:
    """A cause.

    Attributes:
        title: what the other implementation does.
        explanation: why that violates the specification.
        matches: whether a difference has this cause.
    """

    title: str
    explanation: str
    matches: Predicate


def for_elements_of(*operations: str) -> Callable[[Callable[[FaultyOperation, Index], bool]], Predicate]:
    """Decorates predicates of wrong elements: results of another type or shape do not match.

    Args:
        operations: the operations whose results may match; none: all operations.
    """

    def decorate(matches: Callable[[FaultyOperation, Index], bool]) -> Predicate:
        def matches_faulty(first: FaultyOperation) -> bool:
            index = first.violation.index
            has_operation = not operations or first.operation in operations
            return index is not None and has_operation and matches(first, index)

        return matches_faulty

    return decorate


def operation_of(first: FaultyOperation) -> Operation:
    """The faulty operation: the program returns its results."""
    returned = main_block(first.module).terminator.operands[first.violation.result].owner
    assert isinstance(returned, Operation)
    return returned


def operand_arrays(first: FaultyOperation) -> list[Array]:
    program = returning(first.module, operation_of(first).operands)
    return [np.asarray(one) for one in execute(program, first.inputs, options=_PLAIN)]


@for_elements_of("stablehlo.atan2", "chlo.broadcast_atan2")
def _divides_flushed_numbers(first: FaultyOperation, index: Index) -> bool:
    """Whether atan2 is NaN for a subnormal number and another one that is zero or subnormal."""
    arrays = operand_arrays(first)
    if any(one.dtype.kind == "c" or one.shape != first.ours[0].shape for one in arrays):
        return False
    numbers = [one[index] for one in arrays]
    subnormal = [bool(is_subnormal(np.asarray(one))) for one in numbers]
    are_flushed = all(flag or one == 0 for flag, one in zip(subnormal, numbers, strict=True))
    return are_flushed and any(subnormal) and bool(np.isnan(first.theirs[0][index]))


@for_elements_of("stablehlo.add")
def _adds_booleans(first: FaultyOperation, index: Index) -> bool:
    """Whether the sum of two booleans that are both true is false."""
    if first.ours[0].dtype != np.bool_:
        return False
    return all(bool(one[index]) for one in operand_arrays(first)) and not bool(first.theirs[0][index])


@for_elements_of("stablehlo.minimum", "stablehlo.maximum", "chlo.broadcast_minimum", "chlo.broadcast_maximum")
def _compares_real_parts(first: FaultyOperation, index: Index) -> bool:
    """Whether the minimum or maximum of complex numbers is another one with the same real part."""
    is_complex = first.ours[0].dtype.kind == "c"
    return is_complex and bool(first.ours[0][index].real == first.theirs[0][index].real)


@for_elements_of("stablehlo.cbrt")
def _has_one_root_of_subnormal_numbers(first: FaultyOperation, index: Index) -> bool:
    return bool(is_subnormal(operand_arrays(first)[0][index]))


@for_elements_of()
def _is_on_other_side_of_cut(first: FaultyOperation, index: Index) -> bool:
    """Whether a function is mirrored at an operand of which a component is zero."""
    if not first.operation.startswith("chlo.") or first.ours[0].dtype.kind != "c":
        return False
    arrays = operand_arrays(first)
    if len(arrays) != 1 or arrays[0].dtype.kind != "c":
        return False
    number, mine, other = arrays[0][index], first.ours[0][index], first.theirs[0][index]
    is_on_axis = bool(number.real == 0 or number.imag == 0)
    sides = (np.conj(mine), -np.conj(mine), -mine)
    return is_on_axis and any(abs(other - one) <= CUT_ERROR * abs(mine) for one in sides)


@for_elements_of("chlo.zeta")
def _omits_zeta_terms(first: FaultyOperation, index: Index) -> bool:
    """Whether zeta at a negative number is not the sum of its terms, which ours is."""
    x, q = [float(one[index]) for one in operand_arrays(first)]
    if not q < 0:
        return False
    with np.errstate(all="ignore"):
        total = float(np.sum((q + np.arange(ZETA_TERMS)) ** -x))
        ours = float(first.ours[0][index])
        return bool(ours == total or abs(ours - total) <= 0.05 * abs(total))


@for_elements_of("stablehlo.power", "chlo.broadcast_power")
def _has_wrong_power(first: FaultyOperation, index: Index) -> bool:
    """Whether an integer power is not base ** exponent modulo 2 ** width, which ours is."""
    operands: list[Any] = [one.type for one in operation_of(first).operands]
    if not operands[0].category & INTEGER:
        return False
    arrays = np.broadcast_arrays(*[one.astype(object) for one in operand_arrays(first)])
    if arrays[0].shape != first.ours[0].shape:
        return False
    base, exponent = [int(one[index]) for one in arrays]
    modulus = 1 << operands[0].element_type.width
    ours = int(first.ours[0][index])
    return exponent >= 0 and (pow(base, exponent, modulus) - ours) % modulus == 0


@for_elements_of()
def _has_special_value(first: FaultyOperation, index: Index) -> bool:
    """Whether a function of CHLO has an infinity or a NaN on one side."""
    if not first.operation.startswith("chlo."):
        return False
    sides = [np.asarray(side[first.violation.result][index]) for side in (first.ours, first.theirs)]
    return is_inexact(sides[0].dtype) and not all(np.isfinite(one.astype(np.complex128)) for one in sides)


@for_elements_of("chlo.mulhi")
def _loses_high_half(first: FaultyOperation, index: Index) -> bool:
    """Whether the high half of a product of integers of four bits is zero, but should not be."""
    lhs, rhs = [int(one[index]) for one in operand_arrays(first)]
    operand: Any = operation_of(first).operands[0].type
    is_narrow = operand.element_type.width == 4
    return is_narrow and int(first.ours[0][index]) == (lhs * rhs) >> 4 and int(first.theirs[0][index]) == 0


@for_elements_of("stablehlo.popcnt")
def _counts_eight_bits(first: FaultyOperation, index: Index) -> bool:
    """Whether popcnt of negative integers of 2 or 4 bits counts the bits of their sign too."""
    operand: Any = operation_of(first).operands[0].type
    value = int(operand_arrays(first)[0][index])
    width = operand.element_type.width
    ours = int(first.ours[0][index])
    return width < 8 and value < 0 and (ours - (value % (1 << width)).bit_count()) % (1 << width) == 0


@for_elements_of("stablehlo.log_plus_one", "chlo.atanh")
def _loses_digits_of_logarithms(first: FaultyOperation, index: Index) -> bool:
    """Whether log(1 + x), or atanh, of f64 is off by more than ours, which 64 bits of precision confirm."""
    function = np.arctanh if first.operation == "chlo.atanh" else np.log1p
    if first.ours[0].dtype != np.float64:
        return False
    exact = function(operand_arrays(first)[0][index].astype(np.longdouble))
    unit = MAX_UNITS_OF_LOGARITHMS * np.spacing(np.abs(first.ours[0][index]))
    return bool(np.abs(first.ours[0][index] - exact) <= unit < np.abs(first.theirs[0][index] - exact))


def _steps_in_wrong_direction(first: FaultyOperation) -> bool:
    """Whether next_after is applied to numbers of f8E8M0FNU, which have no sign."""
    names = ("chlo.next_after", "chlo.broadcast_next_after")
    return first.operation in names and first.ours[0].dtype.name == "float8_e8m0fnu"


def _classifies_narrow_floats(first: FaultyOperation) -> bool:
    operand: Any = operation_of(first).operands[0].type if operation_of(first).operands else None
    is_narrow = (
        isinstance(operand, TensorType) and bool(operand.category & FLOAT) and operand.dtype.kind == "V"
    )
    return first.operation in ("chlo.is_inf", "chlo.is_neg_inf", "chlo.is_pos_inf") and is_narrow


FUNCTION_CAUSES: Final = (
    KnownCause(
        "minimum and maximum of complex numbers compare real parts only",
        "Complex numbers are compared by their real parts, and by their imaginary parts where these are equal"
        " (sections minimum and maximum: lexicographic). The other implementation then returns the first"
        " operand.",
        _compares_real_parts,
    ),
    KnownCause(
        "the sum of two constant booleans that are both true is false",
        "add of booleans is the logical OR. So is the other implementation's, except for operands that it"
        " folds to constants, such as x == x of integers, for which true + true is false.",
        _adds_booleans,
    ),
    KnownCause(
        "atan2 of subnormal numbers is NaN",
        "The angle of subnormal numbers is defined, and that of two zeros is 0. The other implementation"
        " compares subnormal numbers unflushed, but divides them as zeros, which gives NaN.",
        _divides_flushed_numbers,
    ),
    KnownCause(
        "cbrt of subnormal numbers is the same number for all of them",
        "The cube root of a subnormal number is a normal one, and 0 where subnormal numbers are flushed. The"
        " other implementation returns -5.6e-16 for all of them, of either sign.",
        _has_one_root_of_subnormal_numbers,
    ),
    KnownCause(
        "complex functions of CHLO ignore the sign of zero on their branch cuts",
        "The sign of a zero component determines the side from which a branch cut is approached (C99, annex"
        " G). NimbleHLO follows it; the other implementation returns the value of the other side. CHLO's"
        " documentation does not define which one is correct.",
        _is_on_other_side_of_cut,
    ),
    KnownCause(
        "mulhi of integers of 4 bits is zero",
        "The result is the high half of the product, as for other widths. NimbleHLO's result is, as Python's"
        " integers confirm.",
        _loses_high_half,
    ),
    KnownCause(
        "popcnt of negative integers of less than 8 bits counts 8",
        "The result is the number of bits that are set in the integer's own 2 or 4 bits, modulo 2 ** width."
        " The other implementation stores the integer in a byte, whose other bits repeat the sign.",
        _counts_eight_bits,
    ),
    KnownCause(
        "log_plus_one of f64 is off by tens of units",
        "NimbleHLO's result is within two units of the result in the 80-bit type. The other implementation's"
        " approximation, which atanh uses too, is less accurate than functions of f64 usually are (4 units).",
        _loses_digits_of_logarithms,
    ),
    KnownCause(
        "zeta at negative numbers leaves out the largest terms",
        "The Hurwitz zeta function is the sum of (q + k) ** -x. The other implementation adds the terms of"
        " small k and an estimate of the others that is valid only for positive numbers; for negative q the"
        " largest terms are those near k = -q. NimbleHLO's result is the sum of all terms.",
        _omits_zeta_terms,
    ),
    KnownCause(
        "power of integers is wrong for large exponents",
        "Integers wrap around, so the result is base ** exponent modulo 2 ** width. NimbleHLO's result is,"
        " as Python's integers confirm.",
        _has_wrong_power,
    ),
    KnownCause(
        "next_after of f8E8M0FNU goes the wrong way",
        "f8E8M0FNU has powers of two, and no sign: the number after 1 towards 2 is 2. The other"
        " implementation takes the highest bit of the exponent for a sign, and returns 0.5.",
        _steps_in_wrong_direction,
    ),
    KnownCause(
        "is_inf takes -0 for infinite in types without infinities",
        "f4E2M1FN, f6E2M3FN and f6E3M2FN have no infinities, so no value is infinite.",
        _classifies_narrow_floats,
    ),
    KnownCause(
        "special values of CHLO's functions",
        "CHLO's documentation does not define where its functions are infinite or NaN: implementations"
        " differ at poles, outside of the domain, and where approximations overflow.",
        _has_special_value,
    ),
)
"""The causes, in the order in which they are tried."""
