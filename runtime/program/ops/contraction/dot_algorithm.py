"""The `DotAlgorithm` of `dot_general`: the types to which operands are rounded and in which products are
summed.

An operand of several components is split into its value rounded to the precision type, the rest
rounded, and so on; 3, 6 or 9 products of components are computed and summed in f32, the smallest first.

Source: specification, section "dot_general".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import ELEMENT_TYPES, TF32, Array, ElementType
from ..numerics.element_types import carrier, converter
from .float_matmul import matmul

FIELDS: Final = (
    "lhs_precision_type",
    "rhs_precision_type",
    "accumulation_type",
    "lhs_component_count",
    "rhs_component_count",
    "num_primitive_operations",
    "allow_imprecise_accumulation",
)

_F32: Final = ELEMENT_TYPES["f32"]
_ACCUMULATION: Final = {
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "tf32": ("f32",),
    "f32": ("f32",),
    "f64": ("f64",),
}
"""The accumulation types that go with a precision type; 8-bit floats go with f32."""
_COMPONENTS: Final = {("bf16", 3): 2, ("bf16", 6): 3, ("bf16", 9): 3, ("tf32", 3): 2}
"""Components of each operand, by precision type and number of primitive operations."""


class DotAlgorithm(NamedTuple):
    """The attributes of a dot algorithm, by their names in the specification."""

    lhs_precision_type: ElementType
    rhs_precision_type: ElementType
    accumulation_type: ElementType
    lhs_component_count: int
    rhs_component_count: int
    num_primitive_operations: int
    allow_imprecise_accumulation: bool

    @property
    def components(self) -> int | None:
        """Components of each operand, or None if the algorithm is not supported."""
        lhs, rhs, accumulation = (type.name for type in self[:3])
        counts = (self.lhs_component_count, self.rhs_component_count)
        if self.num_primitive_operations == 1:
            if lhs.startswith("f8") and rhs.startswith("f8"):
                return 1 if accumulation == "f32" and counts == (1, 1) else None
            is_supported = lhs == rhs and accumulation in _ACCUMULATION.get(lhs, ())
            return 1 if is_supported and counts == (1, 1) and not self.allow_imprecise_accumulation else None
        components = _COMPONENTS.get((lhs, self.num_primitive_operations))
        is_supported = lhs == rhs and accumulation == "f32" and not self.allow_imprecise_accumulation
        # Exporters write 1 for the counts of these algorithms.
        return components if is_supported and counts in ((1, 1), (components, components)) else None

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The numbers of the components that are multiplied, those with the smallest product first."""
        components = self.components
        assert components is not None
        max_order = {3: 1, 6: 2}.get(self.num_primitive_operations, 2 * components)
        pairs = [(i, j) for i in range(components) for j in range(components) if i + j <= max_order]
        return sorted(pairs, key=sum, reverse=True)


def working_type(precision: ElementType) -> ElementType:
    """The type in which operands are rounded to a precision type, and components multiplied."""
    return ELEMENT_TYPES["f64"] if precision.name == "f64" else _F32


def multiplier(
    algorithm: DotAlgorithm,
    lhs: ElementType,
    rhs: ElementType,
    result: ElementType,
    threads: int | None = 1,
) -> Callable[[Array, Array], Array]:
    """The product of stacks of matrices by `algorithm`, whose `components` are known.

    Args:
        algorithm: what to follow.
        lhs, rhs, result: element types of the operands and of the result.
        threads: maximum number of threads; None: all.
    """
    components = algorithm.components
    assert components is not None
    enter_lhs = _splitter(lhs, algorithm.lhs_precision_type, components)
    enter_rhs = _splitter(rhs, algorithm.rhs_precision_type, components)
    pairs, accumulation = algorithm.pairs, algorithm.accumulation_type
    accumulated = converter(working_type(accumulation), accumulation)
    leave = converter(accumulation, result)

    def multiply(left: Array, right: Array) -> Array:
        lefts, rights = enter_lhs(left), enter_rhs(right)
        *small, total = [matmul(lefts[i], rights[j], threads) for i, j in pairs]
        if small:
            # Only the first components hold non-finite values; their products with other components are NaN.
            correction = functools.reduce(np.add, small)
            total = np.where(np.isnan(correction), total, correction + total)
        return np.asarray(leave(accumulated(total)))

    return multiply


def _splitter(source: ElementType, precision: ElementType, components: int) -> Callable[[Array], list[Array]]:
    """The function from arrays of `source` to components of `precision`, in the latter's carrier."""
    to_working = converter(source, working_type(precision))

    def split(array: Array) -> list[Array]:
        remainder = to_working(array)
        split_values = []
        for _ in range(components):
            component = rounded(remainder, precision)
            split_values.append(component)
            if len(split_values) < components:
                remainder = np.where(np.isfinite(component), remainder - component, np.float32(0))
        return split_values

    return split


def rounded(array: Array, precision: ElementType) -> Array:
    """f32 or f64 values rounded to `precision`, to nearest, ties to even, in the carrier of `precision`."""
    if precision is not TF32:
        working = ELEMENT_TYPES["f64" if array.dtype == np.float64 else "f32"]
        return np.asarray(converter(working, precision)(array).astype(carrier(precision), copy=False))
    bits = array.view(np.uint32)
    nearest = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(array), nearest.view(np.float32), array)
