"""Names of element types, and the common element type of several operands."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Final

import ml_dtypes
import numpy as np

from ..types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, INTEGER, DType, ElementType, element_type_of
from .failures import violation_error

BOOL: Final = ELEMENT_TYPES["i1"]
INT32: Final = ELEMENT_TYPES["i32"]
INT64: Final = ELEMENT_TYPES["i64"]

_KINDS: Final = {BOOLEAN: 0, INTEGER: 1, FLOAT: 2, COMPLEX: 3}
_PYTHON_KINDS: Final = {bool: 0, int: 1, float: 2, complex: 3}
_STAND_INS: Final = (False, 0, 0.0, 0j)
"""A Python number of each kind, for NumPy's type promotion."""


def element_type_named(dtype: Any, pattern: str) -> ElementType:
    """The element type that a user means.

    Args:
        dtype: an ElementType, anything that NumPy takes as an element type, a name of ml_dtypes, or an
            element type of torch.
        pattern: for the error.

    Raises:
        VerifyError: the argument is none of these.
    """
    if isinstance(dtype, ElementType):
        return dtype
    name = str(dtype).removeprefix("torch.") if not isinstance(dtype, (np.dtype, type)) else None
    try:
        if name is not None and hasattr(ml_dtypes, name):
            dtype = getattr(ml_dtypes, name)
        elif name is not None and name != str(dtype):
            dtype = name
        return element_type_of(np.dtype(dtype).newbyteorder("="))
    except (TypeError, KeyError, ValueError):
        raise violation_error(
            pattern, f"dtype is {dtype!r}, which is not an element type of StableHLO"
        ) from None


def get_int_or_float_bit_width(dtype: Any) -> int:
    """The width of an integer or floating-point type in bits.

    Raises:
        VerifyError: for any other type.
    """
    element_type = element_type_named(dtype, "get_int_or_float_bit_width")
    if not element_type.category & (INTEGER | FLOAT):
        raise violation_error(
            "get_int_or_float_bit_width", f"dtype is {element_type}, but must be an integer or a float"
        )
    return element_type.width


def get_int_type(bit_width: int) -> DType:
    """The signed integer type of a number of bits.

    Raises:
        VerifyError: there is none.
    """
    element_type = ELEMENT_TYPES.get(f"i{bit_width}")
    if element_type is None or element_type is BOOL:
        raise violation_error("get_int_type", f"bit_width is {bit_width}, but must be 2, 4, 8, 16, 32 or 64")
    return element_type.dtype


def is_number(value: object) -> bool:
    """Whether a value is a Python number, which adopts the element type of other operands."""
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def kind_of_number(value: complex) -> int:
    """The kind of a Python number."""
    return next(kind for number, kind in _PYTHON_KINDS.items() if isinstance(value, number))


def common_element_type(values: Iterable[Any], pattern: str) -> ElementType:
    """The common element type of operands.

    Operands of one type keep it, and Python's numbers take it where their kind (boolean, integer, float,
    complex) is not above its own. All else is as `numpy.result_type` says.

    Args:
        values: traced values and Python's numbers.
        pattern: for the error.

    Raises:
        VerifyError: NumPy has no type for them.
    """
    types: dict[ElementType, None] = {}
    kind = -1
    for value in values:
        if is_number(value):
            kind = max(kind, kind_of_number(value))
        else:
            types[value.element_type] = None
    common_type = _common_element_type(tuple(types), kind)
    if common_type is None:
        names = ", ".join(map(str, types))
        raise violation_error(
            pattern, f"the element types {names} of the operands have no common type: convert one"
        )
    return common_type


@functools.cache
def _common_element_type(types: tuple[ElementType, ...], kind: int) -> ElementType | None:
    if len(types) == 1 and kind <= _kind(types[0]):
        return types[0]
    numbers = [] if kind < 0 else [_STAND_INS[kind]]
    try:
        return element_type_of(np.result_type(*[type.dtype for type in types], *numbers))
    except (TypeError, KeyError):
        return None


def _kind(element_type: ElementType) -> int:
    return next(kind for category, kind in _KINDS.items() if element_type.category & category)


@functools.cache
def computation_type(ufunc: np.ufunc, element_type: ElementType) -> ElementType | None:
    """The type in which NumPy evaluates a function for operands of one type; None if it does not support
    them.
    """
    try:
        resolved = ufunc.resolve_dtypes((element_type.dtype,) * ufunc.nin + (None,) * ufunc.nout)
        return element_type_of(resolved[0])
    except (TypeError, KeyError):
        return None
