"""Generated loops of window operations: with any regions, and with known ones on few elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...ops.framework.verify import view_of
from ...ops.reduction.cumulative import ScanLayout
from ...types import TensorType
from .native_code import LoweredKernel, division
from .region_functions import RegionCode, of_types, reduce_problem, with_converted


def window_code(view: Any, threads: int | None) -> RegionCode:
    """The native loops of a `reduce_window` with elements."""
    is_cumulative = view.scan_layout is not None
    return (_CumulativeCode if is_cumulative else _WindowCode)(view, threads)


class _WindowCode(RegionCode):
    """`reduce_window`, each window folded from the left."""

    def problem(self) -> str | None:
        view = self.view
        if view.ordering.reduction_tree != "blocked":
            return f"no native loops for the tree {view.ordering.reduction_tree!r}"
        if not view.inputs[0].shape:
            return "it has no dimensions"
        return reduce_problem(view.analysis, view.accumulate, view.results)

    @property
    def operands(self) -> list[TensorType]:
        return of_types((*self.view.inputs, *self.view.init_values), self.results)

    def lower(self) -> LoweredKernel:
        from ...codegen.regions.windows import WINDOWS, window_module, window_rows

        seconds = self.seconds()
        tasks, size = division(window_rows(self.view), seconds)
        return LoweredKernel(
            lambda: window_module(self.view, self.captured_operands, view_of, size),
            size,
            ((WINDOWS, tasks, seconds),),
        )

    def operations_on_elements(self) -> float:
        return self.native_calls()

    def passes(self) -> float:
        return float(math.prod(window.size for window in self.view.windows))

    def native_calls(self) -> float:
        return float(self.view.results[0].size) * self.passes()

    def wrap_native(self, native: Callable[..., Any]) -> Callable[..., Any]:
        return with_converted(native, (*self.view.inputs, *self.view.init_values), self.operands)


class _CumulativeCode(_WindowCode):
    """`reduce_window` whose windows hold all elements up to theirs."""

    most_small_calls = 1 << 13

    @functools.cached_property
    def layout(self) -> ScanLayout:
        layout: ScanLayout = self.view.scan_layout
        return layout

    def lower(self) -> LoweredKernel:
        from ...codegen.regions.cumulative import PADS, SCANS, cumulative_module

        layout = self.layout
        seconds = self.seconds()
        tasks, size = division(layout.outer * layout.inner, seconds)
        return LoweredKernel(
            lambda: cumulative_module(self.view, self.captured_operands, layout, view_of, size),
            size,
            ((PADS, 1, seconds / layout.outer), (SCANS, tasks, seconds)),
            tuple([((layout.length,), result.dtype) for result in self.results]),
        )

    def passes(self) -> float:
        length, group = self.layout.length, self.layout.group
        return float(min(length, group) + length // group)

    def native_calls(self) -> float:
        return float(2 * self.view.results[0].size)


class SelectCode(RegionCode):
    """`select_and_scatter`, in the order of `source`."""

    def problem(self) -> str | None:
        view = self.view
        if view.ordering.reduction_tree != "blocked":
            return f"no native loops for the tree {view.ordering.reduction_tree!r}"
        return reduce_problem(view.analysis, view.ordering.accumulate, self.results)

    @property
    def operands(self) -> list[TensorType]:
        operands_types = (self.view.source, self.view.init_value)
        return [self.view.operand, *of_types(operands_types, self.results)]

    def lower(self) -> LoweredKernel:
        from ...codegen.regions.windows import SELECTIONS, selection_module, slices_of

        seconds = self.seconds()
        tasks, size = division(slices_of(self.view), seconds)
        return LoweredKernel(
            lambda: selection_module(self.view, self.captured_operands, view_of, size),
            size,
            ((SELECTIONS, tasks, seconds),),
        )

    def operations_on_elements(self) -> float:
        return self.native_calls()

    def passes(self) -> float:
        return float(math.prod(window.size for window in self.view.windows))

    def native_calls(self) -> float:
        return float(self.view.source.size) * (1 + self.passes())

    def wrap_native(self, native: Callable[..., Any]) -> Callable[..., Any]:
        operands_types = (self.view.operand, self.view.source, self.view.init_value)
        return with_converted(native, operands_types, self.operands)
