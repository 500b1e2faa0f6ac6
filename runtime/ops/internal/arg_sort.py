"""The operation that the specializer makes of a `sort` of which one input counts along the sorted dimension.

It occurs in specialized programs alone: no text and no bytecode may name it.
"""

from __future__ import annotations

import numpy as np

from ...types import PLAIN
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Array, Attribute, Evaluate, Op, Operand, Region, Result
from ..framework.op_registry import POSITION_SORT
from ..reduction.bodies import SortKey, comparator
from ..reduction.sort import MAX_SORTED_RANK, around_axis, sorted_places
from ..reduction.vectorize_region import Arrays


class PositionSort(Op, name=POSITION_SORT):
    """`sort` of inputs together with their positions along `dimension`, which are not an operand.

    The results are the sorted inputs whose numbers `kept` has, and then the positions. The comparator has a
    known form.
    """

    inputs = Operand(PLAIN, variadic=True)
    dimension = Attribute(I64)
    kept = Attribute(DIMENSIONS)
    comparator = Region()
    results = Result(PLAIN, variadic=True)

    def verify(self) -> None:
        raise self.unsupported("is made by the specializer alone")

    @property
    def keys(self) -> tuple[SortKey, ...]:
        """The keys by which the comparator orders."""
        keys = comparator(self.comparator)
        assert keys is not None
        return keys

    def reference(self, *inputs: Array, comparator: Evaluate) -> Arrays:
        element_types = [type.element_type for type in self.inputs]
        axis, shape = self.dimension, inputs[0].shape
        if len(shape) > MAX_SORTED_RANK:
            inputs, axis = tuple([around_axis(array, axis) for array in inputs]), 1
        places = sorted_places(inputs, element_types, self.keys, axis)
        moved = [np.take_along_axis(inputs[number], places, axis) for number in self.kept]
        results = (*moved, places.astype(self.results[-1].dtype))
        return tuple([array.reshape(shape) for array in results]) if len(shape) > MAX_SORTED_RANK else results
