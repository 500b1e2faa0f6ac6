"""The kernels of `scan` along contiguous values, and what all its kernels share; `scan` documents the order.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put
from ..simd.atomics import add_atomically, observe, publish
from ..simd.block_sizes import SCAN_BLOCK, SCAN_FLAGS, SCAN_LANES, SCAN_PANEL
from .scan_panels import scan_panel, write_panel

_REDUCED, _CARRIED = 1, 2


@functools.cache
def powers(element: str, monoid: str) -> Kernel:
    """Combinations of 1 to `pads.size` initial values."""

    @kernel(parallel=True)
    def repeat_initial(task: int, initial: np.ndarray, pads: np.ndarray) -> None:
        start = load(element, initial, 0)
        total = start
        for count in range(pads.size):
            put(pads, count, total)
            total = combine(element, monoid, total, start)

    return repeat_initial


@functools.cache
def scan_order_combiner(element: str, monoid: str, reverse: bool) -> Kernel:
    """A kernel that combines a prefix with the next value of the scan.

    In a reverse scan the value is the left operand, because it precedes the prefix in the array.
    """
    if reverse:

        @kernel(inline=True)
        def combine_backward(prefix: Any, value: Any) -> Any:
            return combine(element, monoid, value, prefix)

        return combine_backward

    @kernel(inline=True)
    def combine_forward(prefix: Any, value: Any) -> Any:
        return combine(element, monoid, prefix, value)

    return combine_forward


@functools.cache
def scan_rows(element: str, monoid: str, reverse: bool) -> Kernel:
    """Scan all rows, SCAN_LANES at a time, block by block."""
    combine_in_scan_order = scan_order_combiner(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int, size: int, outer: int, length: int, operand: np.ndarray, pads: np.ndarray,
        local: np.ndarray, totals: np.ndarray, nontemporal: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        scratch_start, carries = task * SCAN_PANEL, 2 * task * SCAN_LANES
        ends = carries + SCAN_LANES
        lane_groups = (outer + SCAN_LANES - 1) // SCAN_LANES
        for number in range(task * size, min((task + 1) * size, lane_groups)):
            row = number * SCAN_LANES
            row_count = min(SCAN_LANES, outer - row)
            for start in range(0, length, SCAN_BLOCK):
                count = min(SCAN_BLOCK, length - start)
                begin = length - 1 - start if reverse else start
                first, pad_offset = row * length + begin, begin if pads.size > SCAN_LANES else -1
                scan_panel(
                    element, monoid, reverse, operand, first, length, row_count, count, count,
                    step * SCAN_BLOCK, local, scratch_start, totals, ends,
                )  # fmt: skip
                first_carried = SCAN_LANES if start == 0 else 0
                write_panel(
                    element, monoid, reverse, local, scratch_start, totals, carries, first_carried, pads,
                    pad_offset, 0, first, length, row_count, count, count, nontemporal, result,
                )  # fmt: skip
                for lane in range(SCAN_LANES):
                    total = get(totals, ends + lane)
                    carry = get(totals, carries + lane)
                    total = combine_in_scan_order(carry, total) if start else total
                    put(totals, carries + lane, total)

    return body


@functools.cache
def scan_blocks(element: str, monoid: str, reverse: bool) -> Kernel:
    """All rows, SCAN_LANES blocks at a time: a panel.

    Tasks take panels in order. They say in `flags` which of them are reduced, and for which they have the
    carry, the total of all values of the row up to its end. A task that needs a panel that another one has
    not reduced yet reduces it itself, so that none waits.
    """
    combine_in_scan_order = scan_order_combiner(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int, outer: int, length: int, operand: np.ndarray, pads: np.ndarray, local: np.ndarray,
        totals: np.ndarray, carries: np.ndarray, flags: Any, nontemporal: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        panels = (length + SCAN_PANEL - 1) // SCAN_PANEL
        local_start, repeated_start = 2 * task * SCAN_PANEL, (2 * task + 1) * SCAN_PANEL
        repeated_totals = (outer * panels + 2 * task) * SCAN_LANES
        fiber_carries = repeated_totals + SCAN_LANES
        panel = add_atomically(flags, 0, 1)
        while panel < outer * panels:
            start = panel // panels * panels
            begin = panel // panels * length + (length - 1 if reverse else 0)
            left = min(SCAN_PANEL, length - (panel - start) * SCAN_PANEL)
            fiber_count, count = (left + SCAN_BLOCK - 1) // SCAN_BLOCK, min(left, SCAN_BLOCK)
            last = left - (fiber_count - 1) * SCAN_BLOCK
            offset = step * (panel - start) * SCAN_PANEL
            scan_panel(
                element, monoid, reverse, operand, begin + offset, step * SCAN_BLOCK, fiber_count, count,
                last, step * 2 * SCAN_PANEL, local, local_start, totals, panel * SCAN_LANES,
            )  # fmt: skip
            publish(flags, SCAN_FLAGS + panel, _REDUCED)
            carried = panel
            while carried > start and observe(flags, SCAN_FLAGS + carried - 1) != _CARRIED:
                carried -= 1
            carry = get(carries, max(carried - 1, 0))
            for before in range(carried, panel):
                source = before * SCAN_LANES
                if observe(flags, SCAN_FLAGS + before) < _REDUCED:
                    source = repeated_totals
                    repeated_first = begin + step * (before - start) * SCAN_PANEL
                    scan_panel(
                        element, monoid, reverse, operand, repeated_first, step * SCAN_BLOCK, SCAN_LANES,
                        SCAN_BLOCK, SCAN_BLOCK, 0, local, repeated_start, totals, repeated_totals,
                    )  # fmt: skip
                for fiber in range(SCAN_LANES):
                    total = get(totals, source + fiber)
                    carry = combine_in_scan_order(carry, total) if before + fiber > start else total
            for fiber in range(SCAN_LANES):
                put(totals, fiber_carries + fiber, carry)
                total = get(totals, panel * SCAN_LANES + fiber)
                carry = combine_in_scan_order(carry, total) if panel + fiber > start else total
            put(carries, panel, carry)
            publish(flags, SCAN_FLAGS + panel, _CARRIED)
            pad = begin + offset - panel // panels * length if pads.size > SCAN_LANES else -1
            write_panel(
                element, monoid, reverse, local, local_start, totals, fiber_carries,
                0 if panel > start else 1, pads, pad, step * SCAN_BLOCK, begin + offset, step * SCAN_BLOCK,
                fiber_count, count, last, nontemporal, result,
            )  # fmt: skip
            panel = add_atomically(flags, 0, 1)

    return body
