"""The generated loop of `sort`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....types import TensorType
from ..native_code import LoweredLoop, TaskLaunch
from .region_code import MAX_TASKS, RegionCode

if TYPE_CHECKING:
    from ....program.ops.sorting.sort import Sort

_MIN_CHUNK = 1 << 12
"""Minimum number of elements that a task sorts."""
_OPERATIONS_PER_PROBE = 12
"""Operations on arrays of a step of the baseline's binary search."""


class SortCode(RegionCode):
    """`sort` by merging."""

    view: Sort

    max_small_calls = 1 << 13

    def check(self) -> str | None:
        if self.view.keys is not None and not (self.is_small and self.view.follows_comparator):
            return "a kernel sorts by these keys"
        return None if 1 < self.count < 1 << 31 else "there is nothing to sort"

    @property
    def count(self) -> int:
        """The elements of a slice."""
        return int(self.view.length)

    @property
    def rows(self) -> int:
        """The number of slices."""
        return int(self.view.inputs[0].size // self.count)

    @property
    def results(self) -> list[TensorType]:
        return [type.with_shape((self.rows, self.count)) for type in self.view.inputs]

    @property
    def operands(self) -> list[TensorType]:
        return self.results

    def lower(self) -> LoweredLoop:
        from .sort import CHUNKS, MERGES, SortPlan, sort_module

        chunk = 1 << (self.count - 1).bit_length()
        while chunk > _MIN_CHUNK and self.rows * self.count // chunk < MAX_TASKS:
            chunk //= 2
        tiling = SortPlan(self.rows, self.count, chunk)
        seconds = self.seconds()
        launches = [TaskLaunch(CHUNKS, tiling.rows * tiling.chunks, seconds)]
        for width in tiling.widths:
            tasks = tiling.rows * tiling.pairs(width)
            launches.append(TaskLaunch(MERGES.format(width), tasks, seconds / tiling.levels))
        scratch = [((type.shape), type.dtype) for type in self.results]
        scratch.append(((self.rows, self.count + 1), np.dtype(np.int32)))
        comparator = self.view.comparator
        return LoweredLoop(
            lambda: sort_module(comparator, self.captured_operands, tiling),
            chunk,
            tuple(launches),
            tuple(scratch),
        )

    def operations_on_elements(self) -> float:
        # Each probe gathers elements, and takes about a dozen operations on arrays.
        return self.native_calls() * _OPERATIONS_PER_PROBE

    def passes(self) -> float:
        levels = self.count.bit_length()
        return float(levels * (levels + 1))

    def native_calls(self) -> float:
        return float(self.view.comparisons)

    def adapt_operands(self, native: Callable[..., Any]) -> Callable[..., Any]:
        count, axis, shape = len(self.results), self.view.adjusted_dimension, self.view.inputs[0].shape
        moved_shape = (*shape[:axis], *shape[axis + 1 :], shape[axis])

        def sorted_rows(*operands: Any) -> list[Any]:
            results = native(*operands)
            return [array.reshape(moved_shape) for array in (results if count > 1 else (results,))]

        def run(*operands: Any) -> tuple[Any, ...]:
            inputs = [np.moveaxis(array, axis, -1) for array in operands[:count]]
            return tuple([np.moveaxis(array, -1, axis) for array in sorted_rows(*inputs, *operands[count:])])

        return run if axis < len(shape) - 1 else lambda *operands: tuple(sorted_rows(*operands))
