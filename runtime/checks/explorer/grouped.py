"""Scatters of floats under many schedules: updates are grouped by destination once and applied often."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels.exploration import grouped_updates, update_groups
from ...kernels.launch.scratch import borrow_scratch
from ...kernels.named_tuples import NamedTuple
from ...options import Schedule as ScatterOrder
from ...program.ir.record import IdentityRecord
from ...program.ops.indexing.scatter import Scatter
from ...program.ops.indexing.scatter_destinations import destinations_of
from ...types import Array, TensorType
from .comparison import Comparison, compare


class _Groups(NamedTuple):
    """Updates grouped by destination, for one set of operands.

    Attributes:
        operand, indices, updates: the operands; references to them prevent overwriting.
        order_dependent, initials, bounds, values: the elements whose value depends on the schedule, and their
            initial and other values, as `update_groups.combine_order_independent` returns them.
        partial_result: the result, except for the order-dependent elements, which have the operand's values.
    """

    operand: Array
    indices: Array
    updates: Array
    order_dependent: Array
    initials: Array
    bounds: Array
    values: Array
    partial_result: Array


class GroupedResult(NamedTuple):
    """A scatter's result under one schedule. Results of the same groups differ only in the order-dependent
    elements.

    Attributes:
        groups: the grouped updates.
        totals: the values of the order-dependent elements.
        result: the whole result; None if it is not needed.
    """

    groups: _Groups
    totals: Array
    result: Array | None


class GroupedExtremes(IdentityRecord):
    """The first and the largest difference of results under two schedules, as in `Comparison`.

    Attributes:
        baseline_result: one of the results.
        combiner: of the scatter.
        order: the schedule of the other result, whose totals are not stored.
        first, largest, distance: as in `Comparison`, where positions number the order-dependent elements.
    """

    baseline_result: GroupedResult
    combiner: str
    order: tuple[str, int]
    first: int
    largest: int
    distance: int

    def element(self, position: int) -> int:
        return int(self.baseline_result.groups.order_dependent[position])

    def values_at(self, position: int) -> tuple[Any, Any]:
        """The two values at a position."""
        groups, own = self.baseline_result.groups, slice(position, position + 1)
        bounds, total = groups.bounds[position : position + 2], np.empty(1, groups.partial_result.dtype)
        group_arrays = (groups.order_dependent[own], groups.initials[own], bounds, groups.values)
        grouped_updates.apply(self.combiner, *group_arrays, *self.order, total)
        return self.baseline_result.totals[position], total[0]


class GroupedComparisons(NamedTuple):
    """The differences of results under many schedules from the result under one.

    Attributes:
        extremes: for each schedule; None if nothing differs.
        order_dependent: the elements that `differs`, `minimum` and `maximum` describe.
        differs: whether they differ under some schedule.
        minimum, maximum: the range of each of them under all of these schedules.
    """

    extremes: list[GroupedExtremes | None]
    order_dependent: Array
    differs: Array
    minimum: Array
    maximum: Array


def compare_grouped_results(
    first: GroupedResult, second: GroupedResult, type: TensorType
) -> Comparison | None:
    """The differences between two results that are computed from the same groups."""
    return compare(first.totals, second.totals, type, first.groups.order_dependent)


class GroupedScatter:
    """A scatter of one input whose body adds or multiplies floats of f32 or f64.

    Args:
        view: the scatter.
        threads: maximum number of threads that group its updates; None: all.
    """

    def __init__(self, view: Scatter, threads: int | None) -> None:
        self._threads = threads
        self._destinations = destinations_of(view)
        self._are_elements = _indexes_elements(view)
        self._combiner: str = view.analysis.monoid or ""
        self._size: int = view.inputs[0].size
        self._lock = threading.Lock()
        self._groups: _Groups | None = None

    @classmethod
    def of(cls, view: Scatter, threads: int | None = None) -> GroupedScatter | None:
        """The scatter of a view, or None if it is another one."""
        types = (*view.inputs, view.scatter_indices, *view.updates)
        if len(view.inputs) != 1 or not all(type.is_static for type in types):
            return None
        if view.combine is not None or view.results[0] != view.inputs[0]:
            return None
        if not grouped_updates.supports(view.inputs[0].dtype, view.analysis.monoid or ""):
            return None
        sizes = (view.inputs[0].size, view.updates[0].size)
        return cls(view, threads) if min(sizes) > 0 and max(sizes) <= update_groups.MAX_COUNT else None

    def supports(self, scatter_schedule: ScatterOrder) -> bool:
        name = scatter_schedule[0] if isinstance(scatter_schedule, tuple) else scatter_schedule
        return name in grouped_updates.SCHEDULES

    def __call__(
        self, scatter_schedule: ScatterOrder, operands: tuple[Array, ...], with_result: bool = True
    ) -> GroupedResult:
        """Scatter the updates; `with_result` selects whether the full result is computed."""
        groups = self._grouped(*operands)
        totals = np.empty(groups.order_dependent.size, groups.partial_result.dtype)
        result = groups.partial_result.copy() if with_result else None
        target = None if result is None else result.reshape(-1)
        order = _order(scatter_schedule)
        grouped_updates.apply(
            self._combiner, *_group_arrays(groups), *order, totals, target, threads=self._threads
        )
        return GroupedResult(groups, totals, result)

    def compare(
        self, baseline: GroupedResult, scatter_schedules: Sequence[ScatterOrder]
    ) -> GroupedComparisons:
        """The differences of its results under the supported schedules from one of them."""
        groups, max_schedules = baseline.groups, grouped_updates.MAX_SCHEDULES
        group_arrays = _group_arrays(groups)
        differs = np.zeros(groups.order_dependent.size, np.uint8)
        low, high = baseline.totals.copy(), baseline.totals.copy()
        all_extremes: list[GroupedExtremes | None] = []
        for begin in range(0, len(scatter_schedules) if groups.order_dependent.size else 0, max_schedules):
            orders = [_order(schedule) for schedule in scatter_schedules[begin : begin + max_schedules]]
            extremes = grouped_updates.compare_schedules(
                self._combiner,
                *group_arrays,
                baseline.totals,
                orders,
                differs,
                low,
                high,
                threads=self._threads,
            )
            for order, *where in zip(orders, *[schedule.tolist() for schedule in extremes], strict=True):
                is_same = where[0] < 0
                all_extremes.append(
                    None if is_same else GroupedExtremes(baseline, self._combiner, order, *where)
                )
        all_extremes += [None] * (len(scatter_schedules) - len(all_extremes))
        return GroupedComparisons(all_extremes, groups.order_dependent, differs, low, high)

    def _grouped(self, operand: Array, indices: Array, updates: Array) -> _Groups:
        """The groups of these operands; the groups of the last call are cached."""
        with self._lock:
            cached = self._groups
            if cached is not None and all(map(_have_same_bits, cached[:3], (operand, indices, updates))):
                return cached
            partial_result = np.array(operand, order="C")
            flat = np.ascontiguousarray(updates).reshape(-1)
            order_dependent = self._order_dependent(
                *self._destinations_and_updates(indices, flat), partial_result.reshape(-1)
            )
            self._groups = _Groups(operand, indices, updates, *order_dependent, partial_result)
            return self._groups

    def _destinations_and_updates(self, indices: Array, updates: Array) -> tuple[Array, Array]:
        if self._are_elements:
            return indices.reshape(-1), updates
        destinations, positions = self._destinations.in_order(indices)
        return destinations, updates[positions]

    def _order_dependent(
        self, destinations: Array, updates: Array, partial_result: Array
    ) -> tuple[Array, Array, Array, Array]:
        """The order-dependent elements and their values; combines the others in `partial_result`."""
        first, *others = update_groups.scratch_arrays(updates.size, self._size, updates.dtype)
        with borrow_scratch(*others) as borrowed_arrays:
            # The values stay in the first array: touching new memory would take longer.
            scratch = (np.empty(*first), *borrowed_arrays)
            operands = (np.ascontiguousarray(destinations), self._size, np.ascontiguousarray(updates))
            groups = update_groups.group(*operands, self._threads, scratch)
            return update_groups.combine_order_independent(
                self._combiner, *groups, partial_result, self._threads, scratch
            )


def _order(scatter_schedule: ScatterOrder) -> tuple[str, int]:
    """The name and the seed of a schedule."""
    return scatter_schedule if isinstance(scatter_schedule, tuple) else (scatter_schedule, 0)


def _group_arrays(groups: _Groups) -> tuple[Array, Array, Array, Array]:
    """The arrays that loops over order-dependent elements take."""
    return groups.order_dependent, groups.initials, groups.bounds, groups.values


def _indexes_elements(view: Scatter) -> bool:
    """Whether each index is the number of an element in the flattened operand."""
    return (
        view.inputs[0].rank == 1
        and not view.update_window_dims
        and view.scatter_dims_to_operand_dims == (0,)
        and view.scatter_indices.dtype in (np.int32, np.int64)
    )


def _have_same_bits(first: Array, second: Array) -> bool:
    """Whether two arrays of one type have the same bits."""
    if first is second:
        return True
    return bool(np.array_equal(first.view(f"u{first.itemsize}"), second.view(f"u{second.itemsize}")))
