"""Wrong values of arrays, which the faults in references have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import ml_dtypes
import numpy as np

from nimblehlo.checks.error_bounds.ulps import is_inexact
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.accuracy import Rounding
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import COMPLEX, FLOAT, INTEGER

Array = np.ndarray[Any, Any]
Change = Callable[[Array], Array]
"""The wrong values, from the right ones."""


def result_changes(declaration: type[Op]) -> Iterator[tuple[str, Change]]:
    """The wrong results that an operation of the declared element types may have."""
    yield from RESULT_FAULTS.items()
    categories = 0
    for one in declaration.declared_results:
        categories |= one.categories
    if categories & (FLOAT | COMPLEX):
        yield from _FLOAT_FAULTS.items()
        if _has_signed_zeros(declaration):
            yield "sign of zero lost", _sign_of_zero_lost
        if declaration.rounding in (Rounding.CORRECT, Rounding.CORRECT_IF_REAL):
            yield "the neighbour nearer to zero", _neighbour
        if declaration.rounding is not Rounding.LIBRARY or declaration.accuracy is not None:
            yield "lost digits", truncated
    if categories & INTEGER:
        yield from _INTEGER_FAULTS.items()


def _has_signed_zeros(declaration: type[Op]) -> bool:
    """Whether the specification says which sign results have that are zero (`suite.has_signed_zeros`)."""
    dialect, _, name = declaration.name.partition(".")
    specified = lookup(f"stablehlo.{name.removeprefix('broadcast_') if dialect == 'chlo' else name}")
    correct = (Rounding.EXACT, Rounding.CORRECT, Rounding.CORRECT_IF_REAL, Rounding.BODY)
    return specified is not None and specified.is_specified and specified.rounding in correct


def changed(change: Change, value: Any) -> Any:
    """A changed array; what is none, such as a token, stays."""
    if not isinstance(value, (np.ndarray, np.generic)) or not np.size(value):
        return value
    array = np.asarray(value)
    with np.errstate(all="ignore"):
        return np.asarray(change(array.copy())).astype(array.dtype, copy=False).reshape(array.shape)


def _first_negated(array: Array) -> Array:
    """One element is wrong."""
    flat = array.reshape(-1)
    flat[0] = ~flat[0] if array.dtype == np.bool_ else np.ones((), array.dtype) - flat[0]
    return array


def last_repeated(array: Array) -> Array:
    flat = array.reshape(-1)
    if flat.size > 1:
        flat[-1] = flat[-2]
    return array


def _first_row_lost(array: Array) -> Array:
    if array.ndim:
        array[0] = np.zeros((), array.dtype)
    return array


def _rolled(array: Array) -> Array:
    return np.roll(array, 1, -1) if array.ndim else array


def _reversed(array: Array) -> Array:
    return array[::-1] if array.ndim else array


def nan_lost(array: Array) -> Array:
    return np.where(array != array, np.zeros((), array.dtype), array)


def _infinity_lost(array: Array) -> Array:
    """Infinities become the largest number."""
    if array.dtype.kind == "c" or not is_inexact(array.dtype):
        return array
    largest = np.array(ml_dtypes.finfo(array.dtype).max).astype(array.dtype)
    wide = array.astype(np.float64)
    return np.where(np.isinf(wide), np.where(wide > 0, largest, -largest), array)


def _sign_lost(array: Array) -> Array:
    return np.abs(array) if is_inexact(array.dtype) and array.dtype.kind != "c" else array


def _sign_of_zero_lost(array: Array) -> Array:
    return np.where(array == 0, np.zeros((), array.dtype), array)


def _neighbour(array: Array) -> Array:
    """The number that wrong rounding gives: the next one nearer to zero."""
    if not is_inexact(array.dtype) or array.dtype.kind == "c":
        return array
    bits = array.view(f"u{array.dtype.itemsize}")
    wide = array.astype(np.float64)
    return np.where(np.isfinite(wide) & (wide != 0), bits - 1, bits).astype(bits.dtype).view(array.dtype)


def truncated(array: Array) -> Array:
    """Half of the digits are lost."""
    if not is_inexact(array.dtype):
        return array
    if array.dtype.kind == "c":
        components = np.stack([truncated(array.real.copy()), truncated(array.imag.copy())])
        return (components[0] + 1j * components[1]).astype(array.dtype)
    digits = max(int(ml_dtypes.finfo(array.dtype).nmant) // 2, 1)
    mantissa, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.trunc(np.ldexp(mantissa, digits)), exponent - digits).astype(array.dtype)


def one_larger(array: Array) -> Array:
    return array + np.ones((), array.dtype) if array.dtype.kind in "iu" else array


def _saturated(array: Array) -> Array:
    """The extreme integers are missing."""
    if array.dtype.kind not in "iu":
        return array
    limits = np.iinfo(array.dtype)
    return np.clip(array, limits.min + 1 if limits.min else 0, limits.max - 1)


RESULT_FAULTS: Final[dict[str, Change]] = {
    "one wrong element": _first_negated,
    "the last element repeated": last_repeated,
    "the first row lost": _first_row_lost,
    "elements shifted by one": _rolled,
    "rows reversed": _reversed,
}
_FLOAT_FAULTS: Final[dict[str, Change]] = {
    "NaN lost": nan_lost,
    "infinity clamped": _infinity_lost,
    "sign lost": _sign_lost,
}
_INTEGER_FAULTS: Final[dict[str, Change]] = {
    "off by one": one_larger,
    "extreme integers clamped": _saturated,
}
