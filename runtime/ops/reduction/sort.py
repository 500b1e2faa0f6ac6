"""`sort`.

For a recognized comparator (`bodies.comparator`) elements are sorted by integer keys of the same order.
Comparisons of numbers do not order NaN; here it follows all numbers, in ascending and descending order. Any
other comparator is evaluated by a stable merge sort. Equal elements always keep their order, so `is_stable`
has no effect. A comparator that is not a strict weak order gives a permutation of the input, which is the
same at each run.

Source: specification, section "sort".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    PLAIN,
    QUANTIZED_PER_TENSOR,
    AnyElementType,
    Array,
    QuantizedType,
    TensorType,
    Type,
)
from ..framework import constraints, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.facts import Finiteness, OpenOrder
from ..framework.rules import function_type_is
from ..numerics.element_types import carrier, real_type, total_order
from .bodies import Order, SortKey, comparator, vectorize_region
from .reducer import Arrays

Less = Callable[[Arrays, Arrays], Array]

MAX_SORTED_RANK = 32
"""Maximum rank that NumPy's sorting functions support."""


def ordered_integers(array: Array, element_type: AnyElementType, key: SortKey) -> Array:
    """Integers in the ascending order of `key`; equal for elements that the comparator equates."""
    if isinstance(element_type, QuantizedType):
        element_type = element_type.storage
    if key.component != "value":
        array = array.real if key.component == "real" else array.imag
        element_type = real_type(element_type)
    if element_type.category != FLOAT:
        narrow = np.dtype(np.uint8) if element_type.category == BOOLEAN else carrier(element_type)
        integers = array.astype(narrow, copy=False)
        return ~integers if key.descending else integers
    nan = None if key.order is Order.TOTAL else np.isnan(array)
    if nan is not None:
        array = np.where(array == 0, np.zeros((), array.dtype), array)
        array = np.where(nan, np.full((), np.nan, array.dtype), array)
    integers = total_order(element_type)(array)
    if key.descending:
        integers = ~integers
    if nan is not None:
        last = np.iinfo(integers.dtype).max
        first = np.iinfo(integers.dtype).min
        goes_first = key.descending and key.order is Order.CANONICAL
        integers = np.where(nan, integers.dtype.type(first if goes_first else last), integers)
    return np.asarray(integers)


def sort_single_input(array: Array, element_type: AnyElementType, key: SortKey, axis: int) -> Array | None:
    """The sorted values of a single input whose equal elements have equal bits; None for any other."""
    if key.component != "value" or array.dtype.kind not in "biuf":
        return None
    has_one_bit_pattern_each = key.order is not Order.TOTAL and bool((np.abs(array) > 0).all())
    if element_type.category == FLOAT and not has_one_bit_pattern_each:
        return None
    ascending: Array = np.sort(array, axis=axis)
    return np.flip(ascending, axis) if key.descending else ascending


def sorted_positions(
    inputs: Sequence[Array], element_types: Sequence[AnyElementType], keys: Sequence[SortKey], axis: int
) -> Array:
    """The positions of the sorted elements along an axis before sorting."""
    key_arrays = [ordered_integers(inputs[key.operand], element_types[key.operand], key) for key in keys]
    if len(key_arrays) == 1:
        return np.argsort(key_arrays[0], axis=axis, kind="stable")
    return np.lexsort(key_arrays[::-1], axis=axis)


def around_axis(array: Array, axis: int) -> Array:
    """An array as [outer, n, inner]: the dimensions before and behind the axis are merged."""
    shape = array.shape
    return array.reshape(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


def merge_sort(values: Arrays, less: Less) -> Array:
    """The stable order of the rows of [rows, n] arrays, by merging runs of 1, 2, 4, ... elements.

    Where elements of the second of two runs go in the first is found by binary search, for all runs at once.
    Whatever `less` says, the result is a permutation of each row.
    """
    rows, count = values[0].shape
    row = np.arange(rows)[:, np.newaxis]
    order = np.broadcast_to(np.arange(count), (rows, count))
    width = 1
    while width < count:
        positions = np.arange(count)
        in_second = positions // width % 2 == 1
        second = positions[in_second]
        chosen = order[:, in_second]
        reordered = tuple([array[row, chosen] for array in values])
        low = np.broadcast_to(second // (2 * width) * (2 * width), chosen.shape).copy()
        high = low + width
        for _ in range(width.bit_length()):
            middle = np.minimum((low + high) // 2, high - 1)
            probed = order[row, np.maximum(middle, 0)]
            before = less(reordered, tuple([array[row, probed] for array in values]))
            searching = low < high
            high = np.where(searching & before, middle, high)
            low = np.where(searching & ~before, middle + 1, low)
        # Under a strict weak order these positions ascend already.
        targets = np.maximum.accumulate(low, axis=1) + second % width
        is_target = np.zeros((rows, count), np.bool_)
        is_target[row, targets] = True
        merged = np.empty((rows, count), order.dtype)
        merged[is_target] = chosen.ravel()
        merged[~is_target] = order[:, ~in_second].ravel()
        order, width = merged, 2 * width
    return order


class Sort(Op, name="stablehlo.sort"):
    """Sorts slices of its inputs together. Source: specification, section "sort"."""

    kernel = "body_kernels.sort_kernel"
    region_loop = "region_loops.SortCode"
    open_order = OpenOrder.EQUAL_ELEMENTS
    rounding = Rounding.EXACT
    finiteness = Finiteness.MOVED

    takes_stored_values = True

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    dimension = Attribute(I64, -1)
    is_stable = Attribute(BOOL, False)
    comparator = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

    C1 = constraints.not_empty("inputs")

    C2 = constraints.all_of(
        constraints.same_size("results", "inputs"), constraints.same_element_type_each("results", "inputs")
    )
    C3 = constraints.same_shape("inputs", "results")

    @constraint
    def C4(self) -> str | None:
        """-R <= dimension < R, where R = rank(inputs[0])"""
        rank = self.inputs[0].rank
        return rules.in_range("dimension", [self.dimension], -rank, rank, "the rank of inputs")

    @constraint
    def C5(self) -> str | None:
        """comparator has type (tensor<E1>, tensor<E1>, ...) -> tensor<i1>, Ei = element_type(inputs[i])"""
        pairs = [TensorType((), type.element_type) for type in self.inputs for _ in range(2)]
        return function_type_is("comparator", self.comparator, pairs, [TensorType((), ELEMENT_TYPES["i1"])])

    def infer(self) -> list[Type]:
        return list(self.inputs)

    @functools.cached_property
    def keys(self) -> tuple[SortKey, ...] | None:
        """The keys by which the comparator orders, None if it has no known form."""
        return comparator(self.comparator)

    @property
    def length(self) -> int:
        """The number of elements that are sorted together."""
        shape = self.inputs[0].shape
        return int(shape[self.adjusted_dimension]) if shape else 1

    @property
    def comparisons(self) -> float:
        """About how often `merge_sort` compares elements."""
        levels = self.length.bit_length()
        return float(self.inputs[0].size) * levels * (levels + 1) / 4

    @property
    def follows_comparator(self) -> bool:
        """Whether the comparator alone decides the order.

        It does not if the keys are known and are floats: NaNs are sorted behind all other elements.
        """
        keys = self.keys or ()
        numbers = [self.inputs[key.operand].category for key in keys if key.order is Order.FLOAT]
        return not any(category & (FLOAT | COMPLEX) for category in numbers)

    @functools.cached_property
    def vectorized(self) -> Any:
        """The comparator, applied to whole arrays."""
        return vectorize_region(self.comparator)

    @property
    def adjusted_dimension(self) -> int:
        """The dimension counted from 0."""
        dimension: int = self.dimension
        return dimension if dimension >= 0 else self.inputs[0].rank + dimension

    def reference(self, *inputs: Array, comparator: Evaluate) -> Arrays:
        axis = self.adjusted_dimension
        shape = inputs[0].shape
        if shape[axis] < 2 or not inputs[0].size:
            return inputs
        if len(shape) > MAX_SORTED_RANK:
            results = self._sorted([around_axis(array, axis) for array in inputs], comparator, 1)
            return tuple([array.reshape(shape) for array in results])
        return self._sorted(inputs, comparator, axis)

    def _sorted(self, inputs: Sequence[Array], comparator: Evaluate, axis: int) -> Arrays:
        keys = self.keys
        if keys is None:
            return self._sorted_by_comparator(inputs, comparator, axis)
        if len(inputs) == len(keys) == 1:
            sorted_by_values = sort_single_input(inputs[0], self.inputs[0].element_type, keys[0], axis)
            if sorted_by_values is not None:
                return (sorted_by_values,)
        order = sorted_positions(inputs, [type.element_type for type in self.inputs], keys, axis)
        return tuple([np.take_along_axis(array, order, axis) for array in inputs])

    def _sorted_by_comparator(self, inputs: Sequence[Array], comparator: Evaluate, axis: int) -> Arrays:
        arrays_last = [np.moveaxis(array, axis, -1) for array in inputs]
        shape = arrays_last[0].shape
        rows = tuple([array.reshape(math.prod(shape[:-1]), shape[-1]) for array in arrays_last])

        def less(left: Arrays, right: Arrays) -> Array:
            interleaved = [array for pair in zip(left, right, strict=True) for array in pair]
            (result,) = self.vectorized(comparator, *interleaved)
            return np.asarray(result)

        order = merge_sort(rows, less)
        sorted_arrays = [np.take_along_axis(array, order, 1).reshape(shape) for array in rows]
        return tuple([np.moveaxis(array, -1, axis) for array in sorted_arrays])
