"""The semantics of scatters, and the order of their updates.

Source: specification, section "scatter".
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....errors import counted
from ....types import Array, DType, ElementType, TensorType, Type
from ...ir import Region as IrRegion
from ...ir.affine import row_major_strides
from ..framework import elements, rules
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result
from ..framework.elements import Index
from ..framework.traits import Memory
from ..numerics.element_types import rounding
from ..reduction.reducer import Arrays, Body, Reducer
from . import index_space


class ScatterNumbers(Op):
    """The dimension numbers of a scatter."""

    update_window_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    inserted_window_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    input_batching_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    scatter_indices_batching_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    scatter_dims_to_operand_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    index_vector_dim = Attribute(I64, 0, of="scatter_dimension_numbers")


def windowed_dims(view: ScatterNumbers | ScatterRules, rank: int) -> dict[int, int]:
    """The dimensions of inputs that windows have, each with the corresponding one of the updates."""
    dropped = (view.inserted_window_dims, view.input_batching_dims)
    window_dims = index_space.remaining_sizes(range(rank), *dropped)
    return dict(zip(window_dims, view.update_window_dims, strict=True))


def multi_element_components(view: ScatterNumbers, rank: int, updates_shape: Sequence[int]) -> list[int]:
    """The components of index vectors along which windows have more than one element, or an unknown number.

    Args:
        view: has the dimension numbers of `scatter`.
        rank: of an input.
        updates_shape: of its updates; sizes may be unknown.
    """
    extents = window_extents(view, rank, updates_shape)
    scattered = enumerate(view.scatter_dims_to_operand_dims)
    return [component for component, d in scattered if extents.get(d, 1) not in (0, 1)]


def window_extents(view: ScatterNumbers, rank: int, updates_shape: Sequence[int]) -> dict[int, int]:
    """The sizes of windows along the dimensions of an input that they have."""
    return {d: updates_shape[d_update] for d, d_update in windowed_dims(view, rank).items()}


class ScatterRules(Op):
    """The semantics that `scatter` and its form by index components share."""

    memory = Memory.UPDATES
    copies_strided_operands = True
    takes_stored_values = True
    loop_sharding = "scatter"
    numpy = "indexing.scatter_numpy.bind"

    inputs: Operand[list[TensorType]]
    updates: Operand[list[TensorType]]
    update_window_dims: Attribute[tuple[int, ...]]
    inserted_window_dims: Attribute[tuple[int, ...]]
    input_batching_dims: Attribute[tuple[int, ...]]
    scatter_indices_batching_dims: Attribute[tuple[int, ...]]
    scatter_dims_to_operand_dims: Attribute[tuple[int, ...]]
    index_vector_dim: Any
    indices_are_sorted: Attribute[bool]
    unique_indices: Attribute[bool]
    update_computation: Region[IrRegion]
    results: Result[list[TensorType]]
    added_to_negative: Any = None

    @property
    def index_type(self) -> TensorType:
        """The type of the operand with the index vectors, or with the first of their components."""
        type = self.operation.operands[len(self.inputs)].type
        assert isinstance(type, TensorType)
        return type

    @property
    def indices_shape(self) -> Sequence[int]:
        """The shape of scatter_indices."""
        return self.index_type.shape

    def infer(self) -> list[Type]:
        pairs = zip(self.inputs, self.results, strict=True)
        return [type.with_element_type(result.element_type) for type, result in pairs]

    @functools.cached_property
    def _wider_reducer(self) -> Reducer | None:
        """The reducer that combines values of narrower types in f64; None: update_computation does."""
        is_wide = self.ordering.accumulate == "float64"
        return self.analysis.wider_reducer("float64", self.results) if is_wide else None

    @property
    def combine(self) -> Callable[[Arrays, Arrays], Arrays] | None:
        """The combining function of `_wider_reducer`, or None."""
        return None if self._wider_reducer is None else self._wider_reducer.combine

    @property
    def accumulators(self) -> Sequence[DType]:
        """The NumPy types that results have while updates are applied: each is rounded, if not in f64."""
        reducer = self._wider_reducer
        return [result.dtype for result in self.results] if reducer is None else reducer.dtypes

    @functools.cached_property
    def analysis(self) -> Body:
        """The analysis of update_computation."""
        return Body(self.update_computation)

    @functools.cached_property
    def windowed_dims(self) -> dict[int, int]:
        """The dimensions of the inputs that windows have, each with the corresponding dimension of the
        updates.
        """
        return windowed_dims(self, self.inputs[0].rank)

    @property
    def window_sizes(self) -> list[int]:
        """The window's size along each dimension of the inputs."""
        sizes = [1] * self.inputs[0].rank
        for d, d_update in self.windowed_dims.items():
            sizes[d] = self.updates[0].shape[d_update]
        return sizes

    @property
    def keeps_order(self) -> bool:
        """Whether applying the windows one after another keeps the order of the updates of each element.

        Updates are in the row-major order of all their dimensions. All updates of a destination have the same
        index along a window dimension that no start index moves, so such a dimension may be anywhere.
        """
        shape = self.updates[0].shape
        moving = [
            d_update
            for d, d_update in self.windowed_dims.items()
            if d in self.scatter_dims_to_operand_dims and shape[d_update] > 1
        ]
        scattered = [d for d, size in enumerate(shape) if d not in self.update_window_dims and size > 1]
        return not any(window < other for window in moving for other in scattered)

    def schedule(self, size: int) -> Array | None:
        """The order of `size` updates under `Options(scatter_schedule=...)`; None: lexicographic, which is
        also the input of a shuffled schedule (`shuffled_schedule`).

        Raises:
            UnsupportedError: the schedule is a permutation of another size.
        """
        chosen = self.ordering.scatter_schedule
        if chosen == "lexicographic" or chosen[:1] == ("shuffled",):
            return None
        if chosen == "reverse":
            return np.arange(size)[::-1]
        if chosen[:1] == ("random",):
            return np.random.Generator(np.random.PCG64([chosen[1], size])).permutation(size)
        if len(chosen) != size:
            raise self.unsupported(
                f"scatter_schedule has {counted(len(chosen), 'number')}, but updates have {size}"
            )
        return np.array(chosen, np.int64)

    def reference(self, *operands: Array, update_computation: Evaluate) -> tuple[Array, ...]:
        """``results = exec(schedule, inputs)``; sums and products as `Options(accumulate=...)` says."""
        rules.check_actual_sizes(self, *operands)
        count = len(self.inputs)
        inputs, updates = operands[:count], operands[-count:]
        scatter_indices = self.index_vectors(operands[count:-count])
        types = list(zip([result.dtype for result in self.results], self.accumulators, strict=True))
        results = [x.astype(dtype).astype(wide) for x, (dtype, wide) in zip(inputs, types, strict=True)]
        result_indices = {
            update_index: self._result_index(update_index, inputs[0].ndim, scatter_indices)
            for update_index in elements.index_space(updates[0].shape)
        }
        for update_index in self._schedule(result_indices, results[0].shape):
            result_index = result_indices[update_index]
            if elements.in_bounds(result_index, results[0].shape):
                current = tuple([elements.element(result, result_index) for result in results])
                updates_converted = tuple(
                    [
                        elements.element(update, update_index).astype(dtype).astype(wide)
                        for update, (dtype, wide) in zip(updates, types, strict=True)
                    ]
                )
                if self.combine is not None:
                    updated_values = self.combine(current, updates_converted)
                else:
                    updated_values = update_computation(*current, *updates_converted)
                for result, updated_value in zip(results, updated_values, strict=True):
                    result[result_index] = updated_value
        return self.rounded(results)

    def _result_index(self, update_index: Index, rank: int, scatter_indices: Array) -> Index:
        """``result_index`` of an update, for inputs of `rank`; it may be out of bounds."""
        update_scatter_dims = index_space.other_dimensions(len(update_index), self.update_window_dims)
        update_scatter_index = tuple([update_index[d] for d in update_scatter_dims])
        start_index = index_space.start_index(scatter_indices, update_scatter_index, self.index_vector_dim)
        full_start_index = [0] * rank
        for d_start, d_input in enumerate(self.scatter_dims_to_operand_dims):
            full_start_index[d_input] = start_index[d_start]
        full_batching_index = index_space.full_batching_index(
            rank,
            update_scatter_index,
            self.input_batching_dims,
            self.scatter_indices_batching_dims,
            self.index_vector_dim,
        )
        update_window_index = [update_index[d] for d in self.update_window_dims]
        dropped = (*self.inserted_window_dims, *self.input_batching_dims)
        full_window_index = elements.inserted(update_window_index, 0, dropped)
        return index_space.index_sum(full_start_index, full_batching_index, full_window_index)

    def _schedule(self, result_indices: Mapping[Index, Index], shape: Sequence[int]) -> Sequence[Index]:
        """``schedule``: a permutation of the update indices, by `Options(scatter_schedule=...)`.

        Args:
            result_indices: the result index of each update, in lexicographic order of the updates.
            shape: the shape of the results.
        """
        update_indices = list(result_indices)
        chosen = self.ordering.scatter_schedule
        if chosen[:1] == ("shuffled",):
            from . import shuffled_schedule

            kept = [index for index in update_indices if elements.in_bounds(result_indices[index], shape)]
            strides = row_major_strides(shape)
            flat = [sum(map(operator.mul, result_indices[index], strides)) for index in kept]
            return [kept[number] for number in shuffled_schedule.order(np.array(flat, np.int64), chosen[1])]
        order = self.schedule(len(update_indices))
        return update_indices if order is None else [update_indices[number] for number in order]

    def may_overwrite(self) -> tuple[tuple[int, int], ...]:
        count = len(self.results)
        return tuple([(index, index) for index in range(count)]) if self.binds_to_shapes else ()

    @property
    def binds_to_shapes(self) -> bool:
        """Whether `bind` gives a function for one set of shapes: all are known."""
        return all(value.type.is_static for value in self.operation.operands)  # type: ignore[union-attr]

    def index_vectors(self, indices: Sequence[Array]) -> Array:
        """scatter_indices, or a chunk of them, from the operands."""
        return indices[0]

    def rounded(self, results: Sequence[Array]) -> tuple[Array, ...]:
        """The results in their own types."""
        rounded = []
        for array, result in zip(results, self.results, strict=True):
            element_type = result.element_type
            if array.dtype != result.dtype and isinstance(element_type, ElementType):
                array = rounding(array.dtype, element_type)(array)
            rounded.append(array)
        return tuple(rounded)

