"""The loops of `scan` along neighbouring values, and what all its loops share; its text gives the order."""

import functools
from typing import Any

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put
from ..simd.atomics import add_atomically, observe, publish
from ..simd.block_sizes import SCAN_BLOCK, SCAN_LANES, SCAN_PANEL
from .scan_panels import fold_panel, write_panel

FLAGS = 8  # where the flags of `neighbouring_blocks` begin, behind the number of the next panel
_FOLDED, _CARRIED = 1, 2


@functools.cache
def powers(element: str, monoid: str) -> Kernel:
    """One to `pads.size` initial values, folded."""

    @kernel
    def fold(initial: Any, pads: Any) -> None:
        start = load(element, initial, 0)
        total = start
        for count in range(pads.size):
            put(pads, count, total)
            total = combine(element, monoid, total, start)

    return fold


@functools.cache
def in_order(element: str, monoid: str, reverse: bool) -> Kernel:
    """Combines what is folded so far with what follows in the scan: in a reverse scan, with what lies before
    it in the operand."""
    if reverse:

        @kernel(inline=True)
        def backward(folded: Any, value: Any) -> Any:
            return combine(element, monoid, value, folded)

        return backward

    @kernel(inline=True)
    def forward(folded: Any, value: Any) -> Any:
        return combine(element, monoid, folded, value)

    return forward


@functools.cache
def neighbouring_rows(element: str, monoid: str, reverse: bool) -> Kernel:
    """All rows, SCAN_LANES at a time: their blocks one after the other."""
    joined = in_order(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int, size: int, outer: int, length: int, operand: Any, pads: Any, local: Any, totals: Any,
        past_caches: int, result: Any,
    ) -> None:  # fmt: skip
        own, carries = task * SCAN_PANEL, 2 * task * SCAN_LANES
        ends = carries + SCAN_LANES
        sets = (outer + SCAN_LANES - 1) // SCAN_LANES
        for number in range(task * size, min((task + 1) * size, sets)):
            row = number * SCAN_LANES
            lines = min(SCAN_LANES, outer - row)
            for start in range(0, length, SCAN_BLOCK):
                count = min(SCAN_BLOCK, length - start)
                begin = length - 1 - start if reverse else start
                first, pad = row * length + begin, begin if pads.size > SCAN_LANES else -1
                fold_panel(
                    element, monoid, reverse, operand, first, length, lines, count, count, step * SCAN_BLOCK,
                    local, own, totals, ends,
                )  # fmt: skip
                first_carried = SCAN_LANES if start == 0 else 0
                write_panel(
                    element, monoid, reverse, local, own, totals, carries, first_carried, pads, pad, 0,
                    first, length, lines, count, count, past_caches, result,
                )  # fmt: skip
                for line in range(SCAN_LANES):
                    total = get(totals, ends + line)
                    total = joined(get(totals, carries + line), total) if start else total
                    put(totals, carries + line, total)

    return body


@functools.cache
def neighbouring_blocks(element: str, monoid: str, reverse: bool) -> Kernel:
    """All rows, SCAN_LANES blocks at a time: a panel.

    Tasks take panels in order. They say in `flags` which of them are folded, and of which they know the
    carry, the fold of all values of the row up to its end. A task that needs what another one has not folded
    yet folds it itself, so that none waits.
    """
    joined = in_order(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int, outer: int, length: int, operand: Any, pads: Any, local: Any, totals: Any, carries: Any,
        flags: Any, past_caches: int, result: Any,
    ) -> None:  # fmt: skip
        panels = (length + SCAN_PANEL - 1) // SCAN_PANEL
        own, again = 2 * task * SCAN_PANEL, (2 * task + 1) * SCAN_PANEL
        spare = (outer * panels + 2 * task) * SCAN_LANES
        ahead = spare + SCAN_LANES
        panel = add_atomically(flags, 0, 1)
        while panel < outer * panels:
            start = panel // panels * panels
            begin = panel // panels * length + (length - 1 if reverse else 0)
            left = min(SCAN_PANEL, length - (panel - start) * SCAN_PANEL)
            lines, count = (left + SCAN_BLOCK - 1) // SCAN_BLOCK, min(left, SCAN_BLOCK)
            last = left - (lines - 1) * SCAN_BLOCK
            place = step * (panel - start) * SCAN_PANEL
            fold_panel(
                element, monoid, reverse, operand, begin + place, step * SCAN_BLOCK, lines, count, last,
                step * 2 * SCAN_PANEL, local, own, totals, panel * SCAN_LANES,
            )  # fmt: skip
            publish(flags, FLAGS + panel, _FOLDED)
            known = panel
            while known > start and observe(flags, FLAGS + known - 1) != _CARRIED:
                known -= 1
            carry = get(carries, max(known - 1, 0))
            for before in range(known, panel):
                source = before * SCAN_LANES
                if observe(flags, FLAGS + before) < _FOLDED:
                    source = spare
                    there = begin + step * (before - start) * SCAN_PANEL
                    fold_panel(
                        element, monoid, reverse, operand, there, step * SCAN_BLOCK, SCAN_LANES, SCAN_BLOCK,
                        SCAN_BLOCK, 0, local, again, totals, spare,
                    )  # fmt: skip
                for line in range(SCAN_LANES):
                    total = get(totals, source + line)
                    carry = joined(carry, total) if before + line > start else total
            for line in range(SCAN_LANES):
                put(totals, ahead + line, carry)
                total = get(totals, panel * SCAN_LANES + line)
                carry = joined(carry, total) if panel + line > start else total
            put(carries, panel, carry)
            publish(flags, FLAGS + panel, _CARRIED)
            pad = begin + place - panel // panels * length if pads.size > SCAN_LANES else -1
            write_panel(
                element, monoid, reverse, local, own, totals, ahead, 0 if panel > start else 1, pads, pad,
                step * SCAN_BLOCK, begin + place, step * SCAN_BLOCK, lines, count, last, past_caches, result,
            )  # fmt: skip
            panel = add_atomically(flags, 0, 1)

    return body
