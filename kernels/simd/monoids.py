"""The combining functions that kernels know, and the element types on which they compute them.

A monoid is one of MONOIDS, named as in StableHLO. Elements are named as NumPy names them; bfloat16 and
float16 are stored in 16 bits and computed in float32, which is exact for minimum and maximum and "wide" for
add and multiply. Two extensions of the names:

- an element "float32:float64" is stored as the first type and computed as the second, and its results are
  rounded to the first at last;
- a monoid "add:bfloat16" rounds each of its results to that type.

`normalized` maps combinations with the same results to one, so that fewer loops are compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..launch.no_kernel import NoKernel
from ..named_tuples import NamedTuple

MONOIDS = ("add", "multiply", "minimum", "maximum", "and", "or", "xor")
ACCUMULATIONS = ("wide", "declared", "float64")
OVERWRITE = "overwrite"  # the combiner of scatters that returns its second argument
_ORDERED = ("minimum", "maximum")
_BITWISE = ("and", "or", "xor")
_BOOLEAN = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
_INTEGERS = tuple(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64))
_FLOATS = ("bfloat16", "float16", "float32", "float64", "complex64", "complex128")
WIDENED = ("bfloat16", "float16")


class Combination(NamedTuple):
    """An element type and a monoid, by the names for which loops are compiled."""

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


def normalized(dtype: Any, monoid: str, accumulate: str = "wide") -> Combination:
    """The combination to compile for.

    `accumulate` is one of ACCUMULATIONS, and concerns sums and products of floats and complex numbers: "wide"
    computes those narrower than float32 in that; "declared" rounds each result to the elements' type;
    "float64" computes in float64 or complex128. Raises NoKernel where there is no such combination.
    """
    if not supports(dtype, monoid):
        raise NoKernel(f"no kernel computes {monoid} on {np.dtype(dtype).name}")
    element = np.dtype(dtype).name
    if element in _FLOATS and monoid in ("add", "multiply"):
        wide = "complex128" if element.startswith("complex") else "float64"
        if accumulate == "float64" and element != wide:
            return Combination(f"{element}:{wide}", monoid)
        if accumulate == "declared" and element in WIDENED:
            return Combination(element, f"{monoid}:{element}")
    if element == "bool":
        return Combination("uint8", _BOOLEAN.get(monoid, monoid))
    if element.startswith("int") and monoid not in _ORDERED:
        return Combination("u" + element, monoid)
    return Combination(element, monoid)


def stored_element(element: str) -> str:
    """The name of the type in which elements are stored."""
    return element.partition(":")[0]


def computing_element(element: str) -> str:
    """The name of the type in which loops compute."""
    stored, _, wide = element.partition(":")
    return wide or ("float32" if stored in WIDENED else stored)


def storage_dtype(element: str) -> np.dtype:
    """The NumPy type in which loops see the elements of an array."""
    stored = stored_element(element)
    return np.dtype("uint16") if stored in WIDENED else np.dtype(stored)


def computing_dtype(element: str) -> np.dtype:
    """The NumPy type in which loops compute, and keep partial results."""
    return np.dtype(computing_element(element))


def is_exact(combination: Combination) -> bool:
    """Whether every order of combining gives the same bits (except for the payload of a NaN)."""
    if combination.element in _INTEGERS or combination.monoid in _BITWISE:
        return True
    return combination.monoid in _ORDERED and not combination.element.startswith("complex")
