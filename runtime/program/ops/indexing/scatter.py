"""Updating windows at indices from index vectors.

Source: specification, section "scatter".
"""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import counted
from ....types import INTEGER, PLAIN, QUANTIZED_PER_TENSOR
from ...ir import Region as IrRegion
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL
from ..framework.declaration import AnyOperand, Attribute, Operand, Region, Result, constraint
from ..framework.facts import OpenOrder
from . import index_space
from .scatter_rules import ScatterNumbers, ScatterRules, multi_element_components


class Scatter(ScatterRules, ScatterNumbers, name="stablehlo.scatter"):
    """Combines updates with elements at index vectors; updates that are out of bounds are dropped."""

    partition = "scatter"
    kernel = "body_kernels.scatter_kernel"
    region_loop = "regions.scatter_code.ScatterCode"
    open_order = OpenOrder.SCATTER_SCHEDULE
    rounding = Rounding.BODY
    terms_depend_on_data = True
    wider = "sum"
    block_rule = "scalars.indexing.SCATTER"
    cost = costs.REDUCTION

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    scatter_indices = Operand(INTEGER)
    updates = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    indices_are_sorted = Attribute(BOOL, False)
    unique_indices = Attribute(BOOL, False)
    update_computation = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

    def segment_sizes(self, what: str, declared: Sequence[AnyOperand], total: int) -> list[int]:
        """Inputs and updates must be equal in number; all other constraints rely on it."""
        if what == "result":
            return super().segment_sizes(what, declared, total)
        if total % 2 == 0:
            raise self.verify_error(
                f"has {counted(total, 'operand')}, but must have as many updates as inputs", "C5"
            )
        sizes = super().segment_sizes(what, declared, total)
        reason = _as_many_updates(sizes[0], sizes[2])
        if reason is not None:
            raise self.verify_error(reason, "C5")
        return sizes

    @property
    def moves_long_windows(self) -> bool:
        """Whether windows may have more than one element along a dimension in which indices move them."""
        return bool(multi_element_components(self, self.inputs[0].rank, self.updates[0].shape))

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        count = len(self.inputs)
        return [*range(count), *range(count + 1, 2 * count + 1)]

    C1 = constraints.same_shape("inputs")
    C2 = index_space.rank_is_sum(
        "inputs[0]", "update_window_dims", "inserted_window_dims", "input_batching_dims"
    )
    C3 = constraints.same_shape("updates")

    @constraint
    def C4(self) -> str | None:
        """shape(updates[0]) = combine(update_scatter_dim_sizes, update_window_dim_sizes)"""
        shape, window_dims = self.updates[0].shape, self.update_window_dims
        scatter_sizes = index_space.remaining_sizes(shape, window_dims)
        expected = index_space.batch_sizes(self.scatter_indices.shape, self.index_vector_dim)
        if not rules.shapes_agree(tuple(scatter_sizes), tuple(expected)):
            return (
                f"updates have sizes {rules.shape_text(scatter_sizes)} outside update_window_dims, but "
                f"scatter_indices have {rules.shape_text(expected)} outside index_vector_dim"
            )
        window_sizes = [shape[d] for d in window_dims if 0 <= d < len(shape)]
        limits = index_space.remaining_sizes(
            self.inputs[0].shape, self.inserted_window_dims, self.input_batching_dims
        )
        return rules.at_most("update_window_dim_sizes", window_sizes, "the window's part of inputs", limits)

    @constraint
    def C5(self) -> str | None:
        """0 < size(inputs) = size(updates)"""
        return _as_many_updates(len(self.inputs), len(self.updates))

    C6 = constraints.same_element_type_each("updates", "inputs")
    C7 = constraints.unique_and_sorted("update_window_dims")
    C8 = constraints.dimensions_of("update_window_dims", "updates[0]")
    C9 = constraints.unique("inserted_window_dims", "input_batching_dims")
    C10 = constraints.is_sorted("inserted_window_dims")
    C11 = constraints.dimensions_of("inserted_window_dims", "inputs[0]")
    C12 = constraints.is_sorted("input_batching_dims")
    C13 = constraints.dimensions_of("input_batching_dims", "inputs[0]")
    C14 = constraints.unique("scatter_indices_batching_dims")
    C15 = constraints.dimensions_of("scatter_indices_batching_dims", "scatter_indices")
    C16 = constraints.absent("index_vector_dim", "scatter_indices_batching_dims")
    C17 = constraints.same_size("input_batching_dims", "scatter_indices_batching_dims")
    C18 = constraints.same_sizes_along(
        "inputs[0]", "input_batching_dims", "scatter_indices", "scatter_indices_batching_dims"
    )
    C19 = index_space.has_index_vector_size("scatter_dims_to_operand_dims", "scatter_indices")
    C20 = constraints.unique("scatter_dims_to_operand_dims", "input_batching_dims")
    C21 = constraints.dimensions_of("scatter_dims_to_operand_dims", "inputs[0]")
    C22 = index_space.index_vector_dim_in_range("scatter_indices")
    C23 = constraints.combines("update_computation", "inputs", "results")
    C24 = constraints.all_of(
        constraints.same_size("results", "inputs"), constraints.same_shape_each("results", "inputs")
    )
    C25 = constraints.results_of("update_computation", "inputs", "results")


def _as_many_updates(inputs: int, updates: int) -> str | None:
    """There must be inputs, and an update for each."""
    if 0 < inputs == updates:
        return None
    return (
        f"has {counted(inputs, 'input')} and {counted(updates, 'update')}, "
        "but the numbers must be equal and at least 1"
    )
