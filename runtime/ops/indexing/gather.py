"""Reading windows at places that index vectors choose.

Source: specification, sections "gather" and "dynamic_gather".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UndefinedBehaviorError
from ...types import INTEGER, PLAIN, QUANTIZED_PER_TENSOR, Type
from ..framework import rules
from ..framework.attribute_kinds import BOOL, DIMENSIONS, I64
from ..framework.declaration import Array, Attribute, Op, Operand, Result, constraint
from ..shape.dynamic_shapes import RunTimeShaped
from . import index_space
from .index_space import IndexedWindows


class GatherRules(Op):
    """What `gather` and `dynamic_gather` share: rules that have different labels in each, and semantics."""

    operand: Any
    start_indices: Any
    offset_dims: Any
    collapsed_slice_dims: Any
    operand_batching_dims: Any
    start_indices_batching_dims: Any
    start_index_map: Any
    index_vector_dim: Any
    result: Any

    @functools.cached_property
    def windowed_dims(self) -> dict[int, int]:
        """For each dimension of the operand that slices keep, the one of the result."""
        dropped = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        window_dims = index_space.other_dimensions(self.operand.rank, dropped)
        return dict(zip(window_dims, self.offset_dims, strict=True))

    @property
    def batch_dims(self) -> list[int]:
        """The dimensions of the result that are those of the batch."""
        return index_space.other_dimensions(self.result.rank, self.offset_dims)

    def known_slice_sizes(self) -> Sequence[int] | None:
        """slice_sizes, or None where they are not known yet."""
        raise NotImplementedError

    def rank_is_sum(self) -> str | None:
        """Each dimension of operand is an offset dimension, collapsed, or a batching dimension."""
        groups = (self.offset_dims, self.collapsed_slice_dims, self.operand_batching_dims)
        total = sum(map(len, groups))
        if self.operand.rank == total:
            return None
        sizes = " + ".join(str(len(group)) for group in groups)
        return (
            f"operand has rank {self.operand.rank}, but offset_dims, collapsed_slice_dims and "
            f"operand_batching_dims have {sizes} = {total} elements"
        )

    def index_vector_dim_in_range(self) -> str | None:
        """index_vector_dim is a dimension of start_indices, or its rank."""
        rank = self.start_indices.rank
        return rules.in_range(
            "index_vector_dim", [self.index_vector_dim], 0, rank + 1, "rank(start_indices) + 1"
        )

    def start_index_map_has_index_vector_size(self) -> str | None:
        """start_index_map has an element for each element of an index vector."""
        return index_space.index_vector_size_is(
            "start_index_map", self.start_index_map, self.start_indices, self.index_vector_dim
        )

    def offset_dims_ascend(self) -> str | None:
        """offset_dims has no duplicates and is sorted."""
        return rules.first(
            rules.unique("offset_dims", self.offset_dims), rules.is_sorted("offset_dims", self.offset_dims)
        )

    def offset_dims_in_range(self) -> str | None:
        """offset_dims are dimensions of result."""
        return rules.in_range("offset_dims", self.offset_dims, 0, self.result.rank, "the rank of result")

    def dimensions_of_operand(self, name: str) -> str | None:
        """The elements of a list are dimensions of operand."""
        return rules.in_range(name, getattr(self, name), 0, self.operand.rank, "the rank of operand")

    def slice_sizes_at_most_one(self, name: str) -> str | None:
        """slice_sizes is at most 1 along the dimensions of a list."""
        slice_sizes = self.known_slice_sizes() or ()
        for d in getattr(self, name):
            if 0 <= d < len(slice_sizes) and slice_sizes[d] > 1:
                return f"slice_sizes[{d}] is {slice_sizes[d]}, but must be at most 1, for {d} is in {name}"
        return None

    def start_indices_batching_dims_in_range(self) -> str | None:
        """start_indices_batching_dims are dimensions of start_indices."""
        dimensions, rank = self.start_indices_batching_dims, self.start_indices.rank
        return rules.in_range("start_indices_batching_dims", dimensions, 0, rank, "the rank of start_indices")

    def index_vector_dim_absent(self) -> str | None:
        """index_vector_dim is no batching dimension."""
        dimensions = self.start_indices_batching_dims
        return rules.absent(
            "index_vector_dim", self.index_vector_dim, "start_indices_batching_dims", dimensions
        )

    def batching_dims_pair(self) -> str | None:
        """operand and start_indices have as many batching dimensions."""
        count = len(self.start_indices_batching_dims)
        return rules.length_is(
            "operand_batching_dims", self.operand_batching_dims, count, "that of start_indices_batching_dims"
        )

    def batching_sizes_agree(self) -> str | None:
        """operand and start_indices have the same sizes along their batching dimensions."""
        return index_space.batching_sizes_agree(
            ("operand", "start_indices"),
            (self.operand, self.start_indices),
            (self.operand_batching_dims, self.start_indices_batching_dims),
        )

    def slice_sizes_fit(self) -> str | None:
        """0 <= slice_sizes <= shape(operand)."""
        slice_sizes = self.known_slice_sizes() or ()
        return rules.first(
            rules.not_negative("slice_sizes", slice_sizes),
            rules.at_most("slice_sizes", slice_sizes, "operand", self.operand.shape),
        )

    def result_shape_is_combined(self) -> str | None:
        """The result has the sizes of the batch and of the offset dimensions."""
        shape = self.combined_shape()
        return None if shape is None else rules.same_shape("result", self.result, "the gathered shape", shape)

    def combined_shape(self) -> list[int] | None:
        """The shape of the result, or None where slice_sizes are not known yet."""
        slice_sizes = self.known_slice_sizes()
        if slice_sizes is None:
            return None
        dropped = (self.collapsed_slice_dims, self.operand_batching_dims)
        return index_space.combine(
            index_space.batch_sizes(self.start_indices.shape, self.index_vector_dim),
            index_space.kept_sizes(slice_sizes, *dropped),
            self.offset_dims,
        )

    def infer(self) -> list[Type] | None:
        shape = self.combined_shape()
        return None if shape is None else [self.operand.with_shape(shape)]

    def gather_of(
        self, shape: Sequence[int], indices_shape: Sequence[int], slice_sizes: Sequence[int]
    ) -> Callable[[Array, Array], Array]:
        """The function of operand and start_indices for one set of shapes."""
        windows = IndexedWindows(
            shape,
            indices_shape,
            self.index_vector_dim,
            self.start_index_map,
            self.operand_batching_dims,
            self.start_indices_batching_dims,
            [(d, slice_sizes[d]) for d in self.windowed_dims],
            self.offset_dims,
        )
        limits = np.array([[shape[d] - slice_sizes[d]] for d in self.start_index_map], np.int64).reshape(
            -1, 1
        )
        empty_slices = [d for d in self.collapsed_slice_dims if slice_sizes[d] == 0]

        def gather(operand: Array, start_indices: Array) -> Array:
            full_start_index = np.minimum(np.maximum(windows.starts(start_indices), 0), limits)
            if empty_slices and 0 not in windows.shape:
                self.reject_missing_elements(empty_slices, shape, full_start_index)
            return operand.reshape(-1).take(windows.positions(full_start_index))

        return gather

    def reject_missing_elements(
        self, dimensions: Sequence[int], shape: Sequence[int], full_start_index: Array
    ) -> None:
        """Along a collapsed dimension one element is read even of a slice of size 0: it must be there."""
        for d in dimensions:
            is_indexed = d in self.start_index_map
            start = int(full_start_index[self.start_index_map.index(d)].max()) if is_indexed else 0
            if start >= shape[d]:
                raise UndefinedBehaviorError(
                    f"slice_sizes[{d}] is 0 and {d} is in collapsed_slice_dims: "
                    f"reads at {start} along dimension {d} of operand, which has size {shape[d]}",
                    operation=self.name,
                    location=self.operation.location,
                )


class Gather(GatherRules, name="stablehlo.gather"):
    """Reads a window at each place that an index vector says, moved so that it lies within the operand."""

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

    @functools.cached_property
    def windowed_dims(self) -> dict[int, int]:
        """For each dimension of the operand that slices keep, the one of the result."""
        dropped = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        window_dims = index_space.other_dimensions(self.operand.rank, dropped)
        return dict(zip(window_dims, self.offset_dims, strict=True))

    @property
    def batch_dims(self) -> list[int]:
        """The dimensions of the result that are those of the batch."""
        return index_space.other_dimensions(self.result.rank, self.offset_dims)

    def known_slice_sizes(self) -> Sequence[int]:
        slice_sizes: Sequence[int] = self.slice_sizes
        return slice_sizes

    @constraint
    def C1(self) -> str | None:
        """rank(operand) = size(offset_dims) + size(collapsed_slice_dims) + size(operand_batching_dims)"""
        return self.rank_is_sum()

    @constraint
    def C2(self) -> str | None:
        """0 <= index_vector_dim <= rank(start_indices)"""
        return self.index_vector_dim_in_range()

    @constraint
    def C3(self) -> str | None:
        """size(start_index_map) is the size of an index vector"""
        return self.start_index_map_has_index_vector_size()

    @constraint
    def C4(self) -> str | None:
        """is_unique(offset_dims) and is_sorted(offset_dims)"""
        return self.offset_dims_ascend()

    @constraint
    def C5(self) -> str | None:
        """0 <= offset_dims < rank(result)"""
        return self.offset_dims_in_range()

    @constraint
    def C6(self) -> str | None:
        """is_unique(concatenate(collapsed_slice_dims, operand_batching_dims))"""
        dimensions = self.collapsed_slice_dims + self.operand_batching_dims
        return rules.unique("concatenate(collapsed_slice_dims, operand_batching_dims)", dimensions)

    @constraint
    def C7(self) -> str | None:
        """is_sorted(collapsed_slice_dims)"""
        return rules.is_sorted("collapsed_slice_dims", self.collapsed_slice_dims)

    @constraint
    def C8(self) -> str | None:
        """0 <= collapsed_slice_dims < rank(operand)"""
        return self.dimensions_of_operand("collapsed_slice_dims")

    @constraint
    def C9(self) -> str | None:
        """slice_sizes[collapsed_slice_dims...] <= 1"""
        return self.slice_sizes_at_most_one("collapsed_slice_dims")

    @constraint
    def C10(self) -> str | None:
        """is_sorted(operand_batching_dims)"""
        return rules.is_sorted("operand_batching_dims", self.operand_batching_dims)

    @constraint
    def C11(self) -> str | None:
        """0 <= operand_batching_dims < rank(operand)"""
        return self.dimensions_of_operand("operand_batching_dims")

    @constraint
    def C12(self) -> str | None:
        """slice_sizes[operand_batching_dims...] <= 1"""
        return self.slice_sizes_at_most_one("operand_batching_dims")

    @constraint
    def C13(self) -> str | None:
        """is_unique(start_indices_batching_dims)"""
        return rules.unique("start_indices_batching_dims", self.start_indices_batching_dims)

    @constraint
    def C14(self) -> str | None:
        """0 <= start_indices_batching_dims < rank(start_indices)"""
        return self.start_indices_batching_dims_in_range()

    @constraint
    def C15(self) -> str | None:
        """index_vector_dim not in start_indices_batching_dims"""
        return self.index_vector_dim_absent()

    @constraint
    def C16(self) -> str | None:
        """size(operand_batching_dims) = size(start_indices_batching_dims)"""
        return self.batching_dims_pair()

    @constraint
    def C17(self) -> str | None:
        """dim(operand, operand_batching_dims...) = dim(start_indices, start_indices_batching_dims...)"""
        return self.batching_sizes_agree()

    @constraint
    def C18(self) -> str | None:
        """is_unique(concatenate(start_index_map, operand_batching_dims))"""
        dimensions = self.start_index_map + self.operand_batching_dims
        return rules.unique("concatenate(start_index_map, operand_batching_dims)", dimensions)

    @constraint
    def C19(self) -> str | None:
        """0 <= start_index_map < rank(operand)"""
        return self.dimensions_of_operand("start_index_map")

    @constraint
    def C20(self) -> str | None:
        """size(slice_sizes) = rank(operand)"""
        return rules.length_is("slice_sizes", self.slice_sizes, self.operand.rank, "the rank of operand")

    @constraint
    def C21(self) -> str | None:
        """0 <= slice_sizes <= shape(operand)"""
        return self.slice_sizes_fit()

    @constraint
    def C22(self) -> str | None:
        """shape(result) = combine(batch_dim_sizes, offset_dim_sizes)"""
        return self.result_shape_is_combined()

    @constraint
    def C23(self) -> str | None:
        """element_type(operand) = element_type(result)"""
        return rules.same_element_type("result", self.result, "operand", self.operand)

    def reference(self, operand: Array, start_indices: Array) -> Array:
        rules.judge_unknown_sizes(self, operand, start_indices)
        return self.gather_of(operand.shape, start_indices.shape, self.slice_sizes)(operand, start_indices)

    def bind(self) -> Callable[..., Any]:
        if not (self.operand.is_static and self.start_indices.is_static):
            return self.reference
        return self.gather_of(self.operand.shape, self.start_indices.shape, self.slice_sizes)


class DynamicGather(GatherRules, RunTimeShaped, name="stablehlo.dynamic_gather"):
    """`gather` of windows whose sizes are an operand.

    Batching dimensions are beyond the specification, which gives them to `gather` alone.
    """

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

    @functools.cached_property
    def windowed_dims(self) -> dict[int, int]:
        """For each dimension of the operand that slices keep, the one of the result."""
        dropped = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        window_dims = index_space.other_dimensions(self.operand.rank, dropped)
        return dict(zip(window_dims, self.offset_dims, strict=True))

    @property
    def batch_dims(self) -> list[int]:
        """The dimensions of the result that are those of the batch."""
        return index_space.other_dimensions(self.result.rank, self.offset_dims)

    def known_slice_sizes(self) -> Sequence[int] | None:
        return self.sizes("slice_sizes")

    @constraint
    def C1(self) -> str | None:
        """rank(operand) = size(offset_dims) + size(collapsed_slice_dims)"""
        return self.rank_is_sum()

    @constraint
    def C2(self) -> str | None:
        """0 <= index_vector_dim <= rank(start_indices)"""
        return self.index_vector_dim_in_range()

    @constraint
    def C3(self) -> str | None:
        """size(start_index_map) is the size of an index vector"""
        return self.start_index_map_has_index_vector_size()

    @constraint
    def C4(self) -> str | None:
        """is_unique(offset_dims) and is_sorted(offset_dims)"""
        return self.offset_dims_ascend()

    @constraint
    def C5(self) -> str | None:
        """0 <= offset_dims < rank(result)"""
        return self.offset_dims_in_range()

    @constraint
    def C6(self) -> str | None:
        """is_unique(collapsed_slice_dims) and is_sorted(collapsed_slice_dims)"""
        return rules.first(
            rules.unique("collapsed_slice_dims", self.collapsed_slice_dims),
            rules.is_sorted("collapsed_slice_dims", self.collapsed_slice_dims),
        )

    @constraint
    def C7(self) -> str | None:
        """0 <= collapsed_slice_dims < rank(operand)"""
        return self.dimensions_of_operand("collapsed_slice_dims")

    @constraint
    def C8(self) -> str | None:
        """slice_sizes[collapsed_slice_dims...] <= 1"""
        return self.slice_sizes_at_most_one("collapsed_slice_dims")

    @constraint
    def C9(self) -> str | None:
        """is_unique(start_index_map)"""
        return rules.unique("start_index_map", self.start_index_map)

    @constraint
    def C10(self) -> str | None:
        """0 <= start_index_map < rank(operand)"""
        return self.dimensions_of_operand("start_index_map")

    @constraint
    def C11(self) -> str | None:
        """size(slice_sizes) = rank(operand)"""
        length = self.length("slice_sizes")
        if rules.sizes_agree(length, self.operand.rank):
            return None
        return f"slice_sizes has {length} elements, but the rank of operand is {self.operand.rank}"

    @constraint
    def C12(self) -> str | None:
        """0 <= slice_sizes <= shape(operand)"""
        return self.slice_sizes_fit()

    @constraint
    def C13(self) -> str | None:
        """shape(result) = combine(batch_dim_sizes, offset_dim_sizes)"""
        return self.result_shape_is_combined()

    @constraint
    def C14(self) -> str | None:
        """element_type(operand) = element_type(result)"""
        return rules.same_element_type("result", self.result, "operand", self.operand)

    @constraint
    def batching(self) -> str | None:
        """operand_batching_dims and start_indices_batching_dims are as C6 and C8 to C18 of `gather` say"""
        dimensions = self.operand_batching_dims
        return rules.first(
            rules.is_sorted("operand_batching_dims", dimensions),
            rules.unique(
                "collapsed_slice_dims + operand_batching_dims", self.collapsed_slice_dims + dimensions
            ),
            rules.unique("start_index_map + operand_batching_dims", self.start_index_map + dimensions),
            self.dimensions_of_operand("operand_batching_dims"),
            self.slice_sizes_at_most_one("operand_batching_dims"),
            rules.unique("start_indices_batching_dims", self.start_indices_batching_dims),
            self.start_indices_batching_dims_in_range(),
            self.index_vector_dim_absent(),
            self.batching_dims_pair(),
            self.batching_sizes_agree(),
        )

    def reference(self, operand: Array, start_indices: Array, slice_sizes: Array) -> Array:
        sizes = self.at_run_time(operand, start_indices, slice_sizes).known("slice_sizes")
        return self.gather_of(operand.shape, start_indices.shape, sizes)(operand, start_indices)
