"""`sort`.

Comparisons of numbers do not order NaN: for a recognized comparator of floats (`bodies.comparator`) NaN
follows all numbers, in ascending and descending order. Any other comparator is evaluated by a stable merge
sort. Equal elements always keep their order, so `is_stable` has no effect. A comparator that is not a strict
weak order gives a permutation of the input, which is the same at each run.

Source: specification, section "sort".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ....types import (
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
from ...ir import Region as IrRegion
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.elements import element, index_space, inserted
from ..framework.facts import Finiteness, OpenOrder
from ..framework.rules import function_type_is
from ..framework.traits import Memory
from ..numerics.element_types import carrier, real_type, total_order
from ..reduction.bodies import Order, SortKey, comparator
from ..reduction.reducer import Arrays


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


def key_integers(array: Array, element_type: AnyElementType, key: SortKey) -> list[Array]:
    """The integers of a key in the order in which they decide.

    Complex numbers are compared by their real parts, then by their imaginary parts; those with a NaN are
    behind all others.
    """
    if element_type.category != COMPLEX or key.component != "value":
        return [ordered_integers(array, element_type, key)]
    components = [SortKey(key.operand, one, key.descending, key.order) for one in ("real", "imag")]
    return [
        np.isnan(array).astype(np.int8),
        *[ordered_integers(array, element_type, one) for one in components],
    ]


def merge_sort(count: int, is_less: Callable[[int, int], bool]) -> list[int]:
    """The stable order of `count` elements, by merging runs of 1, 2, 4, ... elements.

    Whatever `is_less` says, the result is a permutation.
    """
    order, width = list(range(count)), 1
    while width < count:
        merged: list[int] = []
        for start in range(0, count, 2 * width):
            middle = start + width
            merged += _merged(order[start:middle], order[middle : middle + width], is_less)
        order, width = merged, 2 * width
    return order


def _merged(first: list[int], second: list[int], is_less: Callable[[int, int], bool]) -> list[int]:
    """Two runs as one: binary search finds how many elements of the first precede each of the second."""
    merged: list[int] = []
    taken = 0
    for number in second:
        low, high = 0, len(first)
        while low < high:
            middle = (low + high) // 2
            if is_less(number, first[middle]):
                high = middle
            else:
                low = middle + 1
        merged += [*first[taken:low], number]
        taken = max(taken, low)
    return merged + first[taken:]


class Sort(Op, name="stablehlo.sort"):
    """Sorts slices of its inputs together. Source: specification, section "sort"."""

    unused_results = "sort"
    whole_dimension = "adjusted_dimension"
    partition = "whole_dimension"
    loop_sharding = "whole_dimension"
    kernel = "body_kernels.sort_kernel"
    region_loop = "regions.sort_code.SortCode"
    open_order = OpenOrder.EQUAL_ELEMENTS
    rounding = Rounding.EXACT
    finiteness = Finiteness.MOVED
    memory = Memory.MAY_FORWARD
    copies_strided_operands = True
    block_rule = "arrays.sorting.SORT"
    cost = costs.REDUCTION
    work = costs.Work.COMPARISONS

    takes_stored_values = True
    numpy = "sorting.sort_numpy.bind"

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

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        return [number for number in range(len(self.inputs)) for _ in range(2)]

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

    @property
    def adjusted_dimension(self) -> int:
        """The dimension counted from 0."""
        dimension: int = self.dimension
        return dimension if dimension >= 0 else self.inputs[0].rank + dimension

    def reference(self, *inputs: Array, comparator: Evaluate) -> Arrays:
        """``results_together[result_slice] = sort(inputs_together[result_slice], comparator_together)``."""
        dimension, shape = self.adjusted_dimension, inputs[0].shape
        results = tuple([np.empty(array.shape, array.dtype) for array in inputs])
        for result_index in index_space((*shape[:dimension], *shape[dimension + 1 :])):
            result_slice = inserted(result_index, slice(None), [dimension])
            inputs_together = [array[result_slice] for array in inputs]
            order = self._order(inputs_together, comparator)
            for result, array in zip(results, inputs_together, strict=True):
                result[result_slice] = array[order]
        return results

    def _order(self, inputs_together: Sequence[Array], comparator: Evaluate) -> list[int]:
        """The order in which ``sort`` puts the elements of a one-dimensional slice."""

        def comparator_together(lhs: int, rhs: int) -> bool:
            args = [element(array, (number,)) for array in inputs_together for number in (lhs, rhs)]
            (is_less,) = comparator(*args)
            return bool(is_less)

        count = len(inputs_together[0])
        if self.follows_comparator:
            return merge_sort(count, comparator_together)
        types = [type.element_type for type in self.inputs]
        keys = [
            integers
            for key in self.keys or ()
            for integers in key_integers(inputs_together[key.operand], types[key.operand], key)
        ]
        return sorted(range(count), key=lambda number: tuple([int(key[number]) for key in keys]))
