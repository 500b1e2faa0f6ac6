"""Updating windows at places that index vectors choose.

Source: specification, section "scatter".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...types import INTEGER, PLAIN, QUANTIZED_PER_TENSOR, TensorType
from ..framework import rules
from ..framework.attribute_kinds import BOOL, DIMENSIONS, I64
from ..framework.declaration import Array, Attribute, Evaluate, Operand, Region, Result, constraint
from . import index_space
from .scatter_rules import Destinations, ScatterRules


class Scatter(ScatterRules, name="stablehlo.scatter"):
    """Combines updates with elements at places that index vectors say; what lies outside is left out."""

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    scatter_indices = Operand(INTEGER)
    updates = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    update_window_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    inserted_window_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    input_batching_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    scatter_indices_batching_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    scatter_dims_to_operand_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    index_vector_dim = Attribute(I64, 0, of="scatter_dimension_numbers")
    indices_are_sorted = Attribute(BOOL, False)
    unique_indices = Attribute(BOOL, False)
    update_computation = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

    def segment_sizes(self, what: str, declared: Sequence[Operand], total: int) -> list[int]:
        """As many updates as inputs; judged here, for all other constraints count on it."""
        if what == "result":
            return super().segment_sizes(what, declared, total)
        if total % 2 == 0:
            raise self.error(f"has {total} operands, so not as many updates as inputs", "C5")
        sizes = super().segment_sizes(what, declared, total)
        reason = _as_many_updates(sizes[0], sizes[2])
        if reason is not None:
            raise self.error(reason, "C5")
        return sizes

    @constraint
    def C1(self) -> str | None:
        """same(shape(inputs...))"""
        return _same_shapes("inputs", self.inputs)

    @constraint
    def C2(self) -> str | None:
        """rank(inputs[0]) is the size of update_window_dims, inserted_window_dims and input_batching_dims"""
        groups = (self.update_window_dims, self.inserted_window_dims, self.input_batching_dims)
        total = sum(map(len, groups))
        if self.inputs[0].rank == total:
            return None
        sizes = " + ".join(str(len(group)) for group in groups)
        return (
            f"inputs have rank {self.inputs[0].rank}, but update_window_dims, inserted_window_dims and "
            f"input_batching_dims have {sizes} = {total} elements"
        )

    @constraint
    def C3(self) -> str | None:
        """same(shape(updates...))"""
        return _same_shapes("updates", self.updates)

    @constraint
    def C4(self) -> str | None:
        """shape(updates[0]) = combine(update_scatter_dim_sizes, update_window_dim_sizes)"""
        shape, window_dims = self.updates[0].shape, self.update_window_dims
        scatter_sizes = index_space.kept_sizes(shape, window_dims)
        expected = index_space.batch_sizes(self.scatter_indices.shape, self.index_vector_dim)
        if not rules.shapes_agree(tuple(scatter_sizes), tuple(expected)):
            return (
                f"updates have sizes {rules.shape_text(scatter_sizes)} apart from update_window_dims, but "
                f"scatter_indices have {rules.shape_text(expected)} apart from index_vector_dim"
            )
        window_sizes = [shape[d] for d in window_dims if 0 <= d < len(shape)]
        limits = index_space.kept_sizes(
            self.inputs[0].shape, self.inserted_window_dims, self.input_batching_dims
        )
        return rules.at_most("update_window_dim_sizes", window_sizes, "the window's part of inputs", limits)

    @constraint
    def C5(self) -> str | None:
        """0 < size(inputs) = size(updates)"""
        return _as_many_updates(len(self.inputs), len(self.updates))

    @constraint
    def C6(self) -> str | None:
        """element_type(updates...) = element_type(inputs...)"""
        pairs = zip(self.updates, self.inputs, strict=False)
        return rules.first(
            *(
                rules.same_element_type(f"updates[{index}]", update, f"inputs[{index}]", type)
                for index, (update, type) in enumerate(pairs)
            )
        )

    @constraint
    def C7(self) -> str | None:
        """is_unique(update_window_dims) and is_sorted(update_window_dims)"""
        return rules.first(
            rules.unique("update_window_dims", self.update_window_dims),
            rules.is_sorted("update_window_dims", self.update_window_dims),
        )

    @constraint
    def C8(self) -> str | None:
        """0 <= update_window_dims < rank(updates[0])"""
        rank = self.updates[0].rank
        return rules.in_range("update_window_dims", self.update_window_dims, 0, rank, "the rank of updates")

    @constraint
    def C9(self) -> str | None:
        """is_unique(concatenate(inserted_window_dims, input_batching_dims))"""
        dimensions = self.inserted_window_dims + self.input_batching_dims
        return rules.unique("concatenate(inserted_window_dims, input_batching_dims)", dimensions)

    @constraint
    def C10(self) -> str | None:
        """is_sorted(inserted_window_dims)"""
        return rules.is_sorted("inserted_window_dims", self.inserted_window_dims)

    @constraint
    def C11(self) -> str | None:
        """0 <= inserted_window_dims < rank(inputs[0])"""
        return self.dimensions_of_inputs("inserted_window_dims")

    @constraint
    def C12(self) -> str | None:
        """is_sorted(input_batching_dims)"""
        return rules.is_sorted("input_batching_dims", self.input_batching_dims)

    @constraint
    def C13(self) -> str | None:
        """0 <= input_batching_dims < rank(inputs[0])"""
        return self.dimensions_of_inputs("input_batching_dims")

    @constraint
    def C14(self) -> str | None:
        """is_unique(scatter_indices_batching_dims)"""
        return rules.unique("scatter_indices_batching_dims", self.scatter_indices_batching_dims)

    @constraint
    def C15(self) -> str | None:
        """0 <= scatter_indices_batching_dims < rank(scatter_indices)"""
        dimensions, rank = self.scatter_indices_batching_dims, self.scatter_indices.rank
        return rules.in_range(
            "scatter_indices_batching_dims", dimensions, 0, rank, "the rank of scatter_indices"
        )

    @constraint
    def C16(self) -> str | None:
        """index_vector_dim not in scatter_indices_batching_dims"""
        dimensions = self.scatter_indices_batching_dims
        return rules.absent(
            "index_vector_dim", self.index_vector_dim, "scatter_indices_batching_dims", dimensions
        )

    @constraint
    def C17(self) -> str | None:
        """size(input_batching_dims) = size(scatter_indices_batching_dims)"""
        count = len(self.scatter_indices_batching_dims)
        return rules.length_is(
            "input_batching_dims", self.input_batching_dims, count, "that of scatter_indices_batching_dims"
        )

    @constraint
    def C18(self) -> str | None:
        """dim(inputs[0], input_batching_dims...) = dim(scatter_indices, scatter_indices_batching_dims...)"""
        return index_space.batching_sizes_agree(
            ("inputs[0]", "scatter_indices"),
            (self.inputs[0], self.scatter_indices),
            (self.input_batching_dims, self.scatter_indices_batching_dims),
        )

    @constraint
    def C19(self) -> str | None:
        """size(scatter_dims_to_operand_dims) is the size of an index vector"""
        return index_space.index_vector_size_is(
            "scatter_dims_to_operand_dims",
            self.scatter_dims_to_operand_dims,
            self.scatter_indices,
            self.index_vector_dim,
        )

    @constraint
    def C20(self) -> str | None:
        """is_unique(concatenate(scatter_dims_to_operand_dims, input_batching_dims))"""
        dimensions = self.scatter_dims_to_operand_dims + self.input_batching_dims
        return rules.unique("concatenate(scatter_dims_to_operand_dims, input_batching_dims)", dimensions)

    @constraint
    def C21(self) -> str | None:
        """0 <= scatter_dims_to_operand_dims < rank(inputs[0])"""
        return self.dimensions_of_inputs("scatter_dims_to_operand_dims")

    @constraint
    def C22(self) -> str | None:
        """0 <= index_vector_dim <= rank(scatter_indices)"""
        rank = self.scatter_indices.rank
        return rules.in_range(
            "index_vector_dim", [self.index_vector_dim], 0, rank + 1, "rank(scatter_indices) + 1"
        )

    @constraint
    def C23(self) -> str | None:
        """update_computation combines two values each of types Ei to which the inputs' are promotable"""
        return rules.body_type_is("update_computation", self.update_computation, self.inputs, self.results)

    @constraint
    def C24(self) -> str | None:
        """shape(inputs...) = shape(results...)"""
        pairs = enumerate(zip(self.inputs, self.results, strict=False))
        return rules.first(
            rules.length_is("results", self.results, len(self.inputs), "that of inputs"),
            *(
                rules.same_shape(f"results[{index}]", result, f"shape(inputs[{index}])", type.shape)
                for index, (type, result) in pairs
            ),
        )

    @constraint
    def C25(self) -> str | None:
        """element_type(results[i]) = Ei, or inputs[i]'s own"""
        return rules.results_have_types_of("results", self.results, self.update_computation, self.inputs)

    def dimensions_of_inputs(self, name: str) -> str | None:
        """The elements of a list are dimensions of the inputs."""
        return rules.in_range(name, getattr(self, name), 0, self.inputs[0].rank, "the rank of inputs")

    def reference(self, *operands: Array, update_computation: Evaluate) -> Any:
        rules.judge_unknown_sizes(self, *operands)
        count = len(operands) // 2
        shapes = operands[0].shape, operands[count].shape, operands[-1].shape
        return self.scatter_of(*shapes)(*operands, update_computation=update_computation)

    def bind(self) -> Callable[..., Any]:
        types = (self.inputs[0], self.scatter_indices, self.updates[0])
        if not all(type.is_static for type in types):
            return self.reference
        return self.scatter_of(*[type.shape for type in types])

    def destinations(self) -> Destinations:
        """Where updates go; all sizes must be known."""
        types = (self.inputs[0], self.scatter_indices, self.updates[0])
        return Destinations(self, *[type.shape for type in types])


def _as_many_updates(inputs: int, updates: int) -> str | None:
    """There must be inputs, and an update for each."""
    if 0 < inputs == updates:
        return None
    return f"there are {inputs} inputs and {updates} updates, but must be as many, and one at least"


def _same_shapes(name: str, types: Sequence[TensorType]) -> str | None:
    """All types must have the shape of the first."""
    for index, type in enumerate(types):
        reason = rules.same_shape(f"{name}[{index}]", type, f"shape({name}[0])", types[0].shape)
        if reason is not None:
            return reason
    return None
