"""The inputs of programs: edge values of the element types, or common numbers."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import ml_dtypes
import numpy as np

from ...types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, Array, ElementType, QuantizedType, TensorType
from ..fuzzing.edge_values import all_values, integer_values
from .template import Template

_SEED: Final = 1
"""The seed of common numbers: programs have the same inputs in every run."""
_FRACTIONS: Final = (0.0, 1.0, 0.5, 1.5, 2.5, 0.25, 2.0, 3.0, math.pi / 2, 10.0, 88.5, 127.5, 709.5, 1024.0)
"""Zero, one, halfway cases, and points near which functions overflow, each with both signs."""
_COMPONENTS: Final = (0.0, -0.0, 0.5, 1.0, -1.0, -2.0, 3.0, math.inf, -math.inf, math.nan)
"""Components of complex numbers: all pairs of them are on, beside and beyond the branch cuts."""


def edge_pool(element_type: ElementType) -> Array:
    """The edge values of an element type."""
    if element_type.category == BOOLEAN:
        return np.array([False, True])
    if element_type.category == COMPLEX:
        component = ELEMENT_TYPES[f"f{element_type.width // 2}"]
        layout: Any = ml_dtypes.finfo(component.dtype)  # type: ignore[no-untyped-call]
        parts = [*_COMPONENTS, float(layout.max), float(layout.tiny)]
        pairs = list(itertools.product(parts, parts))
        pool = np.empty(len(pairs), element_type.dtype)
        pool.real, pool.imag = np.array(pairs).T
        return pool
    if element_type.category != FLOAT:
        return integer_values(element_type.name)
    if element_type.width <= 8:
        return all_values(element_type.name)
    layout = ml_dtypes.finfo(element_type.dtype)  # type: ignore[no-untyped-call]
    tiny, eps = float(layout.tiny), float(layout.eps)
    numbers = [math.inf, *_FRACTIONS, float(layout.max), tiny, float(layout.smallest_subnormal)]
    numbers += [1 + eps, 1 - eps / 2, tiny * (1 - eps)]
    # The largest odd integer, one beyond it, and halfway cases of narrower types.
    numbers += [2.0 ** int(layout.nmant) + 1, 2.0 ** (int(layout.nmant) + 1), 1 + 2.0**-4, 1 + 2.0**-8]
    numbers += [1 + 2.0**-11 + 2.0**-20, 65519.0, 65520.0, 2.0**31, 2.0**63]
    with np.errstate(all="ignore"):
        # Both signs of each number follow one another, so that few elements have many kinds of values.
        signed = [sign * one for one in numbers for sign in (-1, 1)]
        return np.array([1.5, math.nan, *signed], np.float64).astype(element_type.dtype)


def common_numbers(type: TensorType, seed: int) -> Array:
    """Small numbers without special values, nearly all of them different."""
    random = np.random.default_rng(seed)
    element_type = type.element_type
    if isinstance(element_type, QuantizedType):
        return random.integers(-20, 21, type.shape).astype(type.dtype)
    category = element_type.category
    if category == BOOLEAN:
        return random.integers(0, 2, type.shape).astype(type.dtype)
    if category == COMPLEX:
        array = np.empty(type.shape, type.dtype)
        array.real, array.imag = random.standard_normal((2, *type.shape)) * 2
        return array
    if category == FLOAT:
        numbers = random.standard_normal(type.shape) * 2
        if element_type.name == "f8E8M0FNU":
            numbers = np.abs(numbers) + 0.25
        return np.asarray(numbers.astype(np.float32 if type.dtype.itemsize < 4 else np.float64)).astype(
            type.dtype
        )
    low = 0 if element_type.name.startswith("ui") else -8 if element_type.width > 2 else -2
    high = {2: 2, 4: 8}.get(element_type.width, 20)
    return random.integers(low, high, type.shape).astype(type.dtype)


def inputs_of(template: Template) -> list[Array]:
    """An array for each argument of a template's program, in each process of its grid in turn."""
    arrays: list[Array] = []
    for _ in template.grid.processes:
        for index, spec in enumerate(template.operands):
            for type in template.tensor_arguments(spec):
                given = template.inputs.get(index)
                arrays.append(_values(template, type, len(arrays)) if given is None else given)
    return arrays


def _values(template: Template, type: TensorType, position: int) -> Array:
    element_type = type.element_type
    if not template.edges or not isinstance(element_type, ElementType):
        return common_numbers(type, _SEED + position)
    pool = edge_pool(element_type)
    # Operands of one shape meet in ever other pairs; each begins with a special value, where there is one.
    indices = (np.arange(type.size) * (1 + 2 * position) + min(position, 1)) % len(pool)
    return pool[indices].reshape(type.shape)


def crossed(element_type: ElementType, count: int) -> list[Array]:
    """Operands in which every edge value meets every other one: `count` arrays of one dimension."""
    pool = edge_pool(element_type)
    if count == 1:
        return [pool]
    pool = _fewer(pool)
    first, second = (one.reshape(-1) for one in np.meshgrid(pool, pool, indexing="ij"))
    rest = [np.roll(first, 7 * index) for index in range(1, count - 1)]
    return [first, second, *rest]


def _fewer(pool: Array) -> Array:
    """The edge values whose pairs are all tried: zeros of both signs, what is not finite, and the extremes of
    real numbers among them.
    """
    if len(pool) <= _MAX_CROSSED:
        return pool
    chosen = [*np.linspace(0, len(pool) - 1, _MAX_CROSSED).astype(np.int64), *np.flatnonzero(pool == 0)]
    if pool.dtype.kind != "c":
        numbers = pool.astype(np.float64)
        finite = np.flatnonzero(np.isfinite(numbers))
        extremes = [finite[np.argmin(numbers[finite])], finite[np.argmax(numbers[finite])]]
        chosen += [*np.flatnonzero(~np.isfinite(numbers)), *extremes]
    return np.asarray(pool[np.unique(chosen)])


_MAX_CROSSED: Final = 64
"""Edge values of an operand whose pairs with those of another one are all tried, beside special ones."""
