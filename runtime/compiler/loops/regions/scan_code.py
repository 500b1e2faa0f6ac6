"""The generated loop of `chlo.scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..native_code import LoweredLoop, TaskLaunch
from .region_code import RegionCode

if TYPE_CHECKING:
    from ....program.ops.chlo.scan import Scan


class ScanCode(RegionCode):
    """`chlo.scan` of small slices."""

    view: Scan

    applies_per_element = True

    def check(self) -> str | None:
        return None

    @property
    def length(self) -> int:
        """The size of the scanned dimension."""
        scanned = (*self.view.inputs, *self.view.outputs)[0]
        return int(scanned.shape[self.view.dimension])

    def lower(self) -> LoweredLoop:
        from .chlo_scan import NAME, scan_module

        launches = (TaskLaunch(NAME, 1, self.seconds()),)
        return LoweredLoop(
            lambda: scan_module(self.view, self.captured_operands, self.length), 1, launches
        )

    def operations_on_elements(self) -> float:
        return float(self.length)

    def passes(self) -> float:
        return float(self.length)

    def native_calls(self) -> float:
        return float(self.length)

    def adapt_operands(self, native: Callable[..., object]) -> Callable[..., Any]:
        if len(self.results) > 1:
            return native
        return lambda *operands: (native(*operands),)
