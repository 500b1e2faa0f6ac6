"""Generated loops of window operations: with any regions, and with known ones on few elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....program.ops.reduction.cumulative import ScanLayout
from ....types import TensorType
from ..native_code import LoweredLoop, TaskLaunch, divide_by_seconds
from .region_code import RegionCode, as_result_types, check_reducer, with_converted_operands

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce_window import ReduceWindow, SelectAndScatter


_SCAN_COMPILE_SECONDS = 0.2
"""Seconds to compile the loops of a scan: 0.21 to 0.31 on Zen 4. Those around windows take 0.03 to 0.06."""


def reduce_window_code(view: ReduceWindow, threads: int | None) -> RegionCode:
    """The generated loop of a `reduce_window` that has elements."""
    is_cumulative = view.scan_layout is not None
    return (_CumulativeCode if is_cumulative else _ReduceWindowCode)(view, threads)


class _WindowOperationCode(RegionCode):
    view: ReduceWindow | SelectAndScatter

    def check_order(self, accumulate: str) -> str | None:
        """Why the windows are not reduced from the left in the results' types; None if they are."""
        tree = self.view.ordering.reduction_tree
        if tree != "blocked":
            return f"no generated loops for the tree {tree!r}"
        return check_reducer(self.view.analysis, accumulate, self.results)

    def operations_on_elements(self) -> float:
        return self.native_calls()

    def passes(self) -> float:
        return float(math.prod(window.size for window in self.view.windows))


class _ReduceWindowCode(_WindowOperationCode):
    """`reduce_window`, each window reduced from the left."""

    view: ReduceWindow

    def check(self) -> str | None:
        view = self.view
        if not view.inputs[0].shape:
            return "it has no dimensions"
        return self.check_order(view.accumulate)

    @property
    def operands(self) -> list[TensorType]:
        return as_result_types((*self.view.inputs, *self.view.init_values), self.results)

    def lower(self) -> LoweredLoop:
        from .windows import WINDOWS, window_module, window_rows

        seconds = self.seconds()
        tasks, size = divide_by_seconds(window_rows(self.view), seconds)
        return LoweredLoop(
            lambda: window_module(self.view, self.captured_operands, size),
            size,
            (TaskLaunch(WINDOWS, tasks, seconds),),
        )

    def native_calls(self) -> float:
        return float(self.view.results[0].size) * self.passes()

    def adapt_operands(self, native: Callable[..., object]) -> Callable[..., Any]:
        return with_converted_operands(native, (*self.view.inputs, *self.view.init_values), self.operands)


class _CumulativeCode(_ReduceWindowCode):
    """`reduce_window` whose windows end at their element and contain all elements before it."""

    max_small_calls = 1 << 13
    loop_compile_seconds = _SCAN_COMPILE_SECONDS

    @functools.cached_property
    def layout(self) -> ScanLayout:
        layout = self.view.scan_layout
        assert layout is not None
        return layout

    def lower(self) -> LoweredLoop:
        from .cumulative import PADS, SCANS, cumulative_module

        layout = self.layout
        seconds = self.seconds()
        tasks, size = divide_by_seconds(layout.outer * layout.inner, seconds)
        return LoweredLoop(
            lambda: cumulative_module(self.view, self.captured_operands, layout, size),
            size,
            (TaskLaunch(PADS, 1, seconds / layout.outer), TaskLaunch(SCANS, tasks, seconds)),
            tuple([((layout.length,), result.dtype) for result in self.results]),
        )

    def passes(self) -> float:
        length, group = self.layout.length, self.layout.group
        return float(min(length, group) + length // group)

    def native_calls(self) -> float:
        return float(2 * self.view.results[0].size)


class SelectAndScatterCode(_WindowOperationCode):
    """`select_and_scatter`, in the order of `source`."""

    view: SelectAndScatter

    def check(self) -> str | None:
        return self.check_order(self.view.ordering.accumulate)

    @property
    def operands(self) -> list[TensorType]:
        scattered = (self.view.source, self.view.init_value)
        return [self.view.operand, *as_result_types(scattered, self.results)]

    def lower(self) -> LoweredLoop:
        from .windows import SELECTIONS, selection_module, slices_of

        seconds = self.seconds()
        tasks, size = divide_by_seconds(slices_of(self.view), seconds)
        return LoweredLoop(
            lambda: selection_module(self.view, self.captured_operands, size),
            size,
            (TaskLaunch(SELECTIONS, tasks, seconds),),
        )

    def native_calls(self) -> float:
        return float(self.view.source.size) * (1 + self.passes())

    def adapt_operands(self, native: Callable[..., object]) -> Callable[..., Any]:
        declared = (self.view.operand, self.view.source, self.view.init_value)
        return with_converted_operands(native, declared, self.operands)
