"""Operands of all kinds that native code may not bear, for every element type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, SIGNED, ElementType

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def _format(type: ElementType) -> Any:
    dtype = np.empty(0, type.dtype).real.dtype if type.category == COMPLEX else type.dtype
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def _alternating(shape: Shape, type: ElementType) -> Array:
    """Infinity and -infinity in turn."""
    signs = 1.0 - 2.0 * (np.arange(math.prod(shape)) % 2)
    return np.asarray(signs * np.inf).reshape(shape)


def _one_infinity(shape: Shape, type: ElementType) -> Array:
    values = np.ones(shape)
    values.reshape(-1)[:1] = np.inf
    return values


def _singular(shape: Shape, type: ElementType) -> Array:
    """Matrices of rank one."""
    count = math.prod(shape)
    return np.ones(shape) * (1 + np.arange(shape[-1] if shape else 1) % 5) if count else np.ones(shape)


def _defective(shape: Shape, type: ElementType) -> Array:
    """Jordan blocks: one eigenvalue, one eigenvector."""
    if len(shape) < 2:
        return np.ones(shape)
    return np.broadcast_to(2 * np.eye(*shape[-2:]) + np.eye(*shape[-2:], k=1), shape)


def _graded(shape: Shape, type: ElementType) -> Array:
    """Magnitudes over the whole range of the type."""
    layout = _format(type)
    low, high = math.log2(float(layout.tiny)), math.log2(float(layout.max)) - 1
    count = math.prod(shape)
    return np.exp2(np.linspace(low, high, count)).reshape(shape) if count else np.ones(shape)


def _full(value: Callable[[Any], float]) -> Callable[[Shape, ElementType], Array]:
    return lambda shape, type: np.full(shape, value(_format(type)))


FLOATS: dict[str, Callable[[Shape, ElementType], Array]] = {
    "infinite": _full(lambda layout: math.inf),
    "alternating": _alternating,
    "one infinity": _one_infinity,
    "NaN": _full(lambda layout: math.nan),
    "subnormal": _full(lambda layout: float(layout.smallest_subnormal)),
    "largest": _full(lambda layout: float(layout.max)),
    "lowest": _full(lambda layout: float(layout.min)),
    "zero": _full(lambda layout: 0.0),
    "negative zero": _full(lambda layout: -0.0),
    "singular": _singular,
    "defective": _defective,
    "graded": _graded,
}
"""Values of floats, and of both components of complex numbers."""


def _integers(type: ElementType) -> dict[str, int]:
    low = -(1 << (type.width - 1)) if type.category == SIGNED else 0
    return {"zero": 0, "one": 1, "least": low, "most": low + (1 << type.width) - 1, "minus one": low + low}


def usual(shape: Shape, type: ElementType) -> Array:
    """Values at which every operation is well behaved."""
    random = np.random.default_rng(math.prod(shape))
    if type.category == BOOLEAN:
        return random.integers(0, 2, shape).astype(bool)
    if type.category in (FLOAT, COMPLEX):
        values = random.normal(size=shape)
        return (values + 1j * random.normal(size=shape) if type.category == COMPLEX else values).astype(
            type.dtype
        )
    return random.integers(0, 2, shape).astype(type.dtype)


def kinds(type: ElementType) -> dict[str, Callable[[Shape], Array]]:
    """The kinds of operands of an element type, by name."""
    if type.category == BOOLEAN:
        return {
            name: lambda shape, value=value: np.full(shape, value) for name, value in (("no", 0), ("yes", 1))
        }
    if type.category in (FLOAT, COMPLEX):
        return {
            name: lambda shape, make=make: _converted(make(shape, type), type)
            for name, make in FLOATS.items()
        }
    found = {}
    for name, value in _integers(type).items():
        bits = value % (1 << type.width)
        wrapped = bits - (1 << type.width) if type.category == SIGNED and bits >> (type.width - 1) else bits
        found[name] = lambda shape, wrapped=wrapped: np.full(shape, wrapped).astype(type.dtype)
    return found


def _converted(values: Array, type: ElementType) -> Array:
    with np.errstate(all="ignore"):
        if type.category != COMPLEX:
            return values.astype(type.dtype)
        numbers = np.empty(values.shape, type.dtype)
        numbers.real = numbers.imag = values
        return numbers


def operand_lists(types: Sequence[tuple[Shape, str]]) -> list[tuple[str, list[Array]]]:
    """Operands of each kind in each position beside usual ones, and of the first kinds in all positions."""
    elements = [ELEMENT_TYPES[name] for _, name in types]
    plain = [usual(shape, type) for (shape, _), type in zip(types, elements, strict=True)]
    found = [("usual", plain)]
    for position, ((shape, _), type) in enumerate(zip(types, elements, strict=True)):
        for name, make in kinds(type).items():
            found.append(
                (f"{name} operand {position}", [*plain[:position], make(shape), *plain[position + 1 :]])
            )
    if len(types) > 1:
        for name in [name for name in kinds(elements[0]) if all(name in kinds(type) for type in elements)]:
            values = [kinds(type)[name](shape) for (shape, _), type in zip(types, elements, strict=True)]
            found.append((f"{name} operands", values))
    return found
