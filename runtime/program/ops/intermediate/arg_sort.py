"""The specialized form of a `sort` with one input that is an iota along the sorted dimension.

Only the specializer creates it: no text and no bytecode may name it.
"""

from __future__ import annotations

import numpy as np

from ....types import PLAIN, Array, Type
from ..framework import constraints, costs, rules
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.op_registry import ARG_SORT
from ..reduction.bodies import SortKey, comparator
from ..reduction.reducer import Arrays
from ..sorting.sort_numpy import MAX_SORTED_RANK, around_axis, sorted_positions


class ArgSort(Op, name=ARG_SORT):
    """`sort` of inputs together with their positions along `dimension`, which are not an operand.

    The results are the sorted inputs whose numbers `returned` lists, then the positions. The comparator is
    one that `comparator` recognizes.
    """

    unused_results = "arg_sort"
    kernel = "body_kernels.arg_sort_kernel"
    work = costs.Work.COMPARISONS

    is_internal = True

    inputs = Operand(PLAIN, variadic=True)
    dimension = Attribute(I64)
    returned = Attribute(DIMENSIONS)
    comparator = Region()
    results = Result(PLAIN, variadic=True)

    @property
    def keys(self) -> tuple[SortKey, ...]:
        """The keys by which the comparator orders."""
        keys = comparator(self.comparator)
        assert keys is not None
        return keys

    @constraint
    def C1(self) -> str | None:
        """0 <= returned < size(inputs)"""
        return rules.in_range("returned", self.returned, 0, len(self.inputs), "the number of inputs")

    C2 = constraints.same_shape("inputs", "results")
    C3 = constraints.dimensions_of("dimension", "inputs[0]")

    def infer(self) -> list[Type]:
        positions = self.inputs[0].with_element_type(self.results[-1].element_type)
        return [*[self.inputs[number] for number in self.returned], positions]

    def reference(self, *inputs: Array, comparator: Evaluate) -> Arrays:
        element_types = [type.element_type for type in self.inputs]
        axis, shape = self.dimension, inputs[0].shape
        if len(shape) > MAX_SORTED_RANK:
            inputs, axis = tuple([around_axis(array, axis) for array in inputs]), 1
        positions = sorted_positions(inputs, element_types, self.keys, axis)
        sorted_inputs = [np.take_along_axis(inputs[number], positions, axis) for number in self.returned]
        results = (*sorted_inputs, positions.astype(self.results[-1].dtype))
        return tuple([array.reshape(shape) for array in results]) if len(shape) > MAX_SORTED_RANK else results
