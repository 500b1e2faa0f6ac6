"""Prefix scans: cumulative windows of `reduce_window`, the padding of which holds the initial value.

The order. Of the n values along the scanned dimension, taken from the last to the first for a reverse scan,
result i combines values 0 to i. The values are split into consecutive blocks of SCAN_BLOCK. With

- local(i): the values of i's block up to i, folded from the left,
- carry(b): the whole blocks before block b, each folded from the left, these totals folded from the left,
- pads(i): n - i initial values, folded from the left: those in the padding of window i, and the one it
  starts with,

result i is pads(i) (op) local(i) in the first block, and (pads(i) (op) carry(b)) (op) local(i) in the
others; a reverse scan exchanges the operands of each (op), so that values stay in order. pads(i) is the
initial value itself if that combined with itself is the same. What is rounded when, the combination says.
"""

from collections.abc import Callable

import numpy as np

from .blocks import SCAN_BLOCK, SCAN_CHUNK, SCAN_SEGMENT
from .monoids import Combination, computing_dtype, storage_dtype
from .threads import division

Scan = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


def _pads(kind: Combination, initial: np.ndarray, size: int) -> np.ndarray:
    """The initial values of windows with 1 to `size` of them, folded; one item if all are the same."""
    from . import scan_loops

    computing = computing_dtype(kind.element)
    pads = np.empty(2, computing)
    scan_loops.powers(*kind)(initial, pads)
    if pads[0].tobytes() == pads[1].tobytes():
        return pads[:1]
    pads = np.empty(size, computing)
    scan_loops.powers(*kind)(initial, pads)
    return pads


def prepare(kind: Combination, outer: int, size: int, inner: int, reverse: bool, threads: int | None) -> Scan:
    """A function `(operand, initial, result)` on flat arrays: it scans the middle one of three sizes."""
    make = _columns if inner > 1 else _rows
    return make(kind, outer, size, inner, reverse, threads)


def _rows(kind: Combination, outer: int, size: int, inner: int, reverse: bool, threads: int | None) -> Scan:
    """The scanned values lie side by side. Long rows take two passes: totals of blocks, then the results."""
    segments = -(-size // SCAN_SEGMENT)
    blocks = -(-size // SCAN_BLOCK)
    computing = computing_dtype(kind.element)
    tasks, task_size = division(
        outer * segments, 2 * min(size, SCAN_SEGMENT) * storage_dtype(kind.element).itemsize
    )

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        from . import scan_loops

        pads = _pads(kind, initial, size)
        totals = np.empty(outer * blocks if segments > 1 else 0, computing)
        carries = np.empty(outer * segments if segments > 1 else 0, computing)
        if segments > 1:
            scan_loops.totals(*kind, reverse)(tasks, task_size, outer, size, operand, totals, threads=threads)
            scan_loops.carries(*kind, reverse)(outer, blocks, totals, carries)
        local = np.empty(tasks * SCAN_SEGMENT, computing)
        work = (task_size, outer, size, operand, pads, carries, local, result)
        scan_loops.rows(*kind, reverse)(tasks, *work, threads=threads)

    return run


def _columns(
    kind: Combination, outer: int, size: int, inner: int, reverse: bool, threads: int | None
) -> Scan:
    """The scanned columns lie side by side."""
    chunks = -(-inner // SCAN_CHUNK)
    width = min(inner, SCAN_CHUNK)
    computing = computing_dtype(kind.element)
    tasks, task_size = division(outer * chunks, 2 * size * width * storage_dtype(kind.element).itemsize)

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        from . import scan_loops

        pads = _pads(kind, initial, size)
        local, carry = np.empty(tasks * width, computing), np.empty(tasks * width, computing)
        work = (task_size, outer, size, inner, operand, pads, local, carry, result)
        scan_loops.columns(*kind, reverse)(tasks, *work, threads=threads)

    return run
