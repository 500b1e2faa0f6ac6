"""The combining functions that kernels know, and the element types on which they compute them.

A monoid is one of MONOIDS, named as in StableHLO. Elements are named as NumPy names them; bfloat16 and
float16 are stored in 16 bits and computed in float32, which is exact for minimum and maximum and "wide" for
add and multiply. `normalized` folds combinations that give the same bits into one, so that fewer loops are
compiled.
"""

from typing import Any, NamedTuple

import numpy as np

MONOIDS = ("add", "multiply", "minimum", "maximum", "and", "or", "xor")
OVERWRITE = "overwrite"  # what scatters know beside the monoids: the second argument
_ORDERED = ("minimum", "maximum")
_BITWISE = ("and", "or", "xor")
_BOOLEAN = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
_INTEGERS = tuple(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64))
_FLOATS = ("bfloat16", "float16", "float32", "float64", "complex64", "complex128")
_WIDENED = ("bfloat16", "float16")


class Combination(NamedTuple):
    """A monoid on elements of one type, both by name, in the form that loops are compiled for."""

    element: str
    monoid: str


def supports_element(dtype: Any) -> bool:
    """Whether kernels have loops for this element type."""
    return np.dtype(dtype).name in ("bool", *_INTEGERS, *_FLOATS)


def supports(dtype: Any, monoid: str) -> bool:
    """Whether kernels have loops for this monoid on this element type."""
    if monoid not in MONOIDS or not supports_element(dtype):
        return False
    return monoid not in _BITWISE or np.dtype(dtype).name not in _FLOATS


def normalized(dtype: Any, monoid: str) -> Combination:
    """The combination to compile for. Raises ValueError where there is none."""
    if not supports(dtype, monoid):
        raise ValueError(f"no kernel computes {monoid} on {np.dtype(dtype).name}")
    element = np.dtype(dtype).name
    if element == "bool":
        return Combination("uint8", _BOOLEAN.get(monoid, monoid))
    if element.startswith("int") and monoid not in _ORDERED:
        return Combination("u" + element, monoid)
    return Combination(element, monoid)


def storage_dtype(element: str) -> np.dtype:
    """The NumPy type in which loops see the elements of an array."""
    return np.dtype("uint16") if element in _WIDENED else np.dtype(element)


def computing_dtype(element: str) -> np.dtype:
    """The NumPy type in which loops compute, and keep partial results."""
    return np.dtype("float32") if element in _WIDENED else np.dtype(element)


def is_exact(combination: Combination) -> bool:
    """Whether every order of combining gives the same bits (but for the payload of a NaN)."""
    if combination.element in _INTEGERS or combination.monoid in _BITWISE:
        return True
    return combination.monoid in _ORDERED and not combination.element.startswith("complex")
