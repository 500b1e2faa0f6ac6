"""Specialized forms of `gather` that take the components of index vectors as separate operands.

Only the specializer creates them: no text and no bytecode may name them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...types import INTEGER, PLAIN
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Array, Attribute, Operand, Result
from ..framework.op_registry import COMPONENT_GATHER, FILLED_GATHER
from ..indexing.gather import GatherRules
from ..indexing.index_space import stacked_components


class IndexedByComponents(GatherRules):
    """`gather` whose start indices are the index components, stacked along a last dimension.

    All components have one type, with the shape of the batch; there is at least one. `added_to_negative[c]`
    is first added to each negative index of component c.
    """

    is_internal = True

    index_components: Any
    offset_dims = Attribute(DIMENSIONS)
    collapsed_slice_dims = Attribute(DIMENSIONS)
    operand_batching_dims = Attribute(DIMENSIONS)
    start_indices_batching_dims = Attribute(DIMENSIONS)
    start_index_map = Attribute(DIMENSIONS)
    slice_sizes = Attribute(DIMENSIONS)
    added_to_negative = Attribute(DIMENSIONS)

    @property
    def index_vector_dim(self) -> int:
        """The dimension of start_indices along which the components would be stacked."""
        return len(self.index_components[0].shape)

    def start_indices_of(self, index_components: Sequence[Array]) -> Array:
        """The index vectors, as int64."""
        return stacked_components(index_components, self.added_to_negative)

    def by_start_indices(self) -> Callable[[Array, Array], Array]:
        """The function of operand and index vectors."""
        shape = (*self.index_components[0].shape, len(self.index_components))
        return self.gather_of(self.operand.shape, shape, self.slice_sizes)

    def reference(self, *operands: Array) -> Any:
        return self.bind()(*operands)


class ComponentGather(IndexedByComponents, name=COMPONENT_GATHER):
    """`gather` by index components."""

    operand = Operand(PLAIN)
    index_components = Operand(INTEGER, variadic=True)
    result = Result(PLAIN)

    def bind(self) -> Callable[..., Any]:
        gather = self.by_start_indices()
        return lambda operand, *index_components: gather(operand, self.start_indices_of(index_components))


class FilledGather(IndexedByComponents, name=FILLED_GATHER):
    """`gather` by index components that fills slices with out-of-bounds starts with `fill_value`."""

    operand = Operand(PLAIN)
    fill_value = Operand(PLAIN, rank=0)
    index_components = Operand(INTEGER, variadic=True)
    result = Result(PLAIN)

    def bind(self) -> Callable[..., Any]:
        gather = self.by_start_indices()
        largest = [self.operand.shape[d] - self.slice_sizes[d] for d in self.start_index_map]
        mask_shape = [1] * self.result.rank
        for d in self.batch_dims:
            mask_shape[d] = self.result.shape[d]

        def filled(operand: Array, fill_value: Array, *index_components: Array) -> Any:
            start_indices = self.start_indices_of(index_components)
            inside = ((start_indices >= 0) & (start_indices <= largest)).all(axis=-1)
            return np.where(inside.reshape(mask_shape), gather(operand, start_indices), fill_value)

        return filled
