"""Reading windows at indices from index vectors.

Source: specification, sections "gather" and "dynamic_gather".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ....errors import UndefinedBehaviorError
from ....types import INTEGER, PLAIN, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL, DIMENSIONS, I64
from ..framework.declaration import Attribute, Constraint, Op, Operand, Result
from ..framework.elements import Index, clamp, from_elements, inserted
from ..framework.facts import Finiteness
from ..shape.run_time_sizes import RunTimeShaped
from . import index_space


class GatherRules(Op):
    """Base of `gather` and `dynamic_gather`: the shape of the result and the semantics."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    moved_operands = slice(1)
    may_be_hoisted = False

    operand: Operand[TensorType]
    start_indices: Operand[TensorType]
    offset_dims: Attribute[tuple[int, ...]]
    collapsed_slice_dims: Attribute[tuple[int, ...]]
    operand_batching_dims: Attribute[tuple[int, ...]]
    start_indices_batching_dims: Attribute[tuple[int, ...]]
    start_index_map: Attribute[tuple[int, ...]]
    index_vector_dim: Attribute[int]
    slice_sizes: Any
    result: Result[TensorType]

    @functools.cached_property
    def windowed_dims(self) -> dict[int, int]:
        """The dimensions of the operand that slices keep, each with the corresponding dimension of the
        result.
        """
        dropped = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        window_dims = index_space.other_dimensions(self.operand.rank, dropped)
        return dict(zip(window_dims, self.offset_dims, strict=True))

    @property
    def batch_dims(self) -> list[int]:
        """The batch dimensions of the result."""
        return index_space.other_dimensions(self.result.rank, self.offset_dims)

    def combined_shape(self) -> list[int] | None:
        """The shape of the result; None if slice_sizes are unknown."""
        slice_sizes = self.integers("slice_sizes")
        if slice_sizes is None:
            return None
        dropped = (self.collapsed_slice_dims, self.operand_batching_dims)
        return index_space.combine(
            index_space.batch_sizes(self.start_indices.shape, self.index_vector_dim),
            index_space.remaining_sizes(slice_sizes, *dropped),
            self.offset_dims,
        )

    def infer(self) -> list[Type] | None:
        shape = self.combined_shape()
        return None if shape is None else [self.operand.with_shape(shape)]

    def gathered(self, operand: Array, start_indices: Array, slice_sizes: Sequence[int]) -> Array:
        """``result[result_index] = operand[operand_index]``."""
        dropped = (self.collapsed_slice_dims, self.operand_batching_dims)
        result_shape = index_space.combine(
            index_space.batch_sizes(start_indices.shape, self.index_vector_dim),
            index_space.remaining_sizes(slice_sizes, *dropped),
            self.offset_dims,
        )

        def element_at(result_index: Index) -> Any:
            operand_index = self._operand_index(result_index, operand.shape, start_indices, slice_sizes)
            for d, (i, size) in enumerate(zip(operand_index, operand.shape, strict=True)):
                if i >= size:
                    raise self.missing_element(d, i, size)
            return operand[operand_index]

        return from_elements(result_shape, operand.dtype, element_at)

    def _operand_index(
        self, result_index: Index, shape: Sequence[int], start_indices: Array, slice_sizes: Sequence[int]
    ) -> Index:
        """``operand_index`` of a result's element, for an operand of `shape`."""
        batch_dims = index_space.other_dimensions(len(result_index), self.offset_dims)
        batch_index = tuple([result_index[d] for d in batch_dims])
        start_index = index_space.start_index(start_indices, batch_index, self.index_vector_dim)
        full_start_index = [0] * len(shape)
        for d_start, d_operand in enumerate(self.start_index_map):
            last = shape[d_operand] - slice_sizes[d_operand]
            full_start_index[d_operand] = clamp(0, start_index[d_start], last)
        full_batching_index = index_space.full_batching_index(
            len(shape),
            batch_index,
            self.operand_batching_dims,
            self.start_indices_batching_dims,
            self.index_vector_dim,
        )
        offset_index = [result_index[d] for d in self.offset_dims]
        dropped = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        full_offset_index = inserted(offset_index, 0, dropped)
        return index_space.index_sum(full_start_index, full_batching_index, full_offset_index)

    def rank_without_rows(self, shape: Sequence[int], slice_sizes: Sequence[int]) -> int:
        """The rank of the operand without the trailing dimensions that slices contain completely, in
        order."""
        rank = len(shape)
        result_dim = len(self.batch_dims) + len(self.windowed_dims) - 1
        for d in reversed(range(rank)):
            is_full = slice_sizes[d] == shape[d] > 0 and d not in self.start_index_map
            if not is_full or self.windowed_dims.get(d) != result_dim:
                break
            rank, result_dim = d, result_dim - 1
        return rank

    @property
    def row_elements(self) -> int:
        """The number of elements that are contiguous in operand and result, and are copied together."""
        shape = self.operand.shape
        return math.prod(shape[self.rank_without_rows(shape, self.slice_sizes) :])

    def missing_element(self, d: int, start: int, size: int) -> UndefinedBehaviorError:
        """The error of a slice of size 0 that reads one element along a collapsed dimension, where operand
        has none.
        """
        return self.undefined(
            f"slice_sizes[{d}] is 0 and {d} is in collapsed_slice_dims: "
            f"reads at {start} along dimension {d} of operand, which has size {size}"
        )


def _slice_sizes_at_most_one(name: str) -> Constraint:
    """slice_sizes must be at most 1 along the dimensions of a list."""

    def check(view: GatherRules) -> str | None:
        slice_sizes = view.integers("slice_sizes") or ()
        for d in getattr(view, name):
            if 0 <= d < len(slice_sizes) and slice_sizes[d] > 1:
                return f"slice_sizes[{d}] is {slice_sizes[d]}, but must be at most 1, for {d} is in {name}"
        return None

    return Constraint(check, f"slice_sizes[{name}...] <= 1")


class Gather(GatherRules, name="stablehlo.gather"):
    """Reads a window at each index vector, whose start is clamped so that the window is in bounds."""

    gathers = True
    cost = costs.GATHER
    loop_sharding = "gather"
    numpy = "indexing.gather_numpy.bind"
    block_rule = "scalars.indexing.GATHER"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    start_indices = Operand(INTEGER)
    offset_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    collapsed_slice_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    operand_batching_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    start_indices_batching_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    start_index_map = Attribute(DIMENSIONS, (), of="dimension_numbers")
    index_vector_dim = Attribute(I64, 0, of="dimension_numbers")
    slice_sizes = Attribute(DIMENSIONS)
    indices_are_sorted = Attribute(BOOL, False)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = index_space.rank_is_sum("operand", "offset_dims", "collapsed_slice_dims", "operand_batching_dims")
    C2 = index_space.index_vector_dim_in_range("start_indices")
    C3 = index_space.has_index_vector_size("start_index_map", "start_indices")
    C4 = constraints.unique_and_sorted("offset_dims")
    C5 = constraints.dimensions_of("offset_dims", "result")
    C6 = constraints.unique("collapsed_slice_dims", "operand_batching_dims")
    C7 = constraints.is_sorted("collapsed_slice_dims")
    C8 = constraints.dimensions_of("collapsed_slice_dims", "operand")
    C9 = _slice_sizes_at_most_one("collapsed_slice_dims")
    C10 = constraints.is_sorted("operand_batching_dims")
    C11 = constraints.dimensions_of("operand_batching_dims", "operand")
    C12 = _slice_sizes_at_most_one("operand_batching_dims")
    C13 = constraints.unique("start_indices_batching_dims")
    C14 = constraints.dimensions_of("start_indices_batching_dims", "start_indices")
    C15 = constraints.absent("index_vector_dim", "start_indices_batching_dims")
    C16 = constraints.same_size("operand_batching_dims", "start_indices_batching_dims")
    C17 = constraints.same_sizes_along(
        "operand", "operand_batching_dims", "start_indices", "start_indices_batching_dims"
    )
    C18 = constraints.unique("start_index_map", "operand_batching_dims")
    C19 = constraints.dimensions_of("start_index_map", "operand")
    C20 = constraints.size_is_rank("slice_sizes", of="operand")
    C21 = constraints.within_shape("slice_sizes", "operand")
    C22 = constraints.shape_is("result", "combine(batch_dim_sizes, offset_dim_sizes)", "combined_shape")
    C23 = constraints.same_element_type("operand", "result")

    def reference(self, operand: Array, start_indices: Array) -> Array:
        rules.check_actual_sizes(self, operand, start_indices)
        return self.gathered(operand, start_indices, self.slice_sizes)


class DynamicGather(GatherRules, RunTimeShaped, name="stablehlo.dynamic_gather"):
    """`gather` whose slice sizes are an operand.

    The specification has batching dimensions only for `gather`.
    """

    numpy = "indexing.gather_numpy.bind_dynamic"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    start_indices = Operand(INTEGER)
    slice_sizes = Operand(INTEGER, rank=1)
    offset_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    collapsed_slice_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    start_index_map = Attribute(DIMENSIONS, (), of="dimension_numbers")
    index_vector_dim = Attribute(I64, 0, of="dimension_numbers")
    indices_are_sorted = Attribute(BOOL, False)
    operand_batching_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    start_indices_batching_dims = Attribute(DIMENSIONS, (), of="dimension_numbers")
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = index_space.rank_is_sum("operand", "offset_dims", "collapsed_slice_dims", "operand_batching_dims")
    C2 = index_space.index_vector_dim_in_range("start_indices")
    C3 = index_space.has_index_vector_size("start_index_map", "start_indices")
    C4 = constraints.unique_and_sorted("offset_dims")
    C5 = constraints.dimensions_of("offset_dims", "result")
    C6 = constraints.unique_and_sorted("collapsed_slice_dims")
    C7 = constraints.dimensions_of("collapsed_slice_dims", "operand")
    C8 = _slice_sizes_at_most_one("collapsed_slice_dims")
    C9 = constraints.unique("start_index_map")
    C10 = constraints.dimensions_of("start_index_map", "operand")
    C11 = constraints.size_is_rank("slice_sizes", of="operand")
    C12 = constraints.within_shape("slice_sizes", "operand")
    C13 = constraints.shape_is("result", "combine(batch_dim_sizes, offset_dim_sizes)", "combined_shape")
    C14 = constraints.same_element_type("operand", "result")
    batching = constraints.all_of(
        constraints.is_sorted("operand_batching_dims"),
        constraints.unique("collapsed_slice_dims", "operand_batching_dims"),
        constraints.unique("start_index_map", "operand_batching_dims"),
        constraints.dimensions_of("operand_batching_dims", "operand"),
        _slice_sizes_at_most_one("operand_batching_dims"),
        constraints.unique("start_indices_batching_dims"),
        constraints.dimensions_of("start_indices_batching_dims", "start_indices"),
        constraints.absent("index_vector_dim", "start_indices_batching_dims"),
        constraints.same_size("operand_batching_dims", "start_indices_batching_dims"),
        constraints.same_sizes_along(
            "operand", "operand_batching_dims", "start_indices", "start_indices_batching_dims"
        ),
        rule="operand_batching_dims and start_indices_batching_dims are as C6 and C8 to C18 of `gather` say",
    )

    def reference(self, operand: Array, start_indices: Array, slice_sizes: Array) -> Array:
        sizes = self.at_run_time(operand, start_indices, slice_sizes).required_integers("slice_sizes")
        return self.gathered(operand, start_indices, sizes)
