"""Prefix scans: cumulative windows of `reduce_window`, the padding of which holds the initial value.

The order. Of the n values along the scanned dimension, taken from the last to the first for a reverse scan,
result i combines values 0 to i. The values are split into consecutive blocks of SCAN_BLOCK, and these into
groups of SCAN_GROUP. With

- in_group(i): the values of i's group up to i, folded from the left,
- in_block(i): in_group(i) in a block's first group, else groups (op) in_group(i), where the totals of the
  block's groups before i's are folded from the left,
- in_row(i): in_block(i) in the first block, else blocks (op) in_block(i), where the totals of the blocks
  before i's are folded from the left,
- pads(i): n - i initial values, folded from the left: those in the padding of window i, and the one it
  starts with,

result i is pads(i) (op) in_row(i); a reverse scan exchanges the operands of each (op), so that values stay
in order. pads(i) is the initial value itself if that combined with itself is the same. What is rounded when,
the combination says.
"""

from collections.abc import Callable

import numpy as np

from ..launch.threads import division
from ..simd.block_sizes import SCAN_BLOCK, SCAN_CHUNK, SCAN_LANES, SCAN_PANEL
from ..simd.monoids import Combination, computing_dtype, storage_dtype

Scan = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

_MOST_TASKS = 32
_LARGE_BYTES = 1 << 21  # of results that are written past the caches
_BLOCKS_MAY_COST = 1.25


def _pads(kind: Combination, initial: np.ndarray, size: int, reverse: bool) -> np.ndarray:
    """The initial values of each window, folded, at the place of its result, and SCAN_LANES places more; if
    all are the same, only SCAN_LANES of them."""
    from . import scan_loops

    pads = np.empty(size + SCAN_LANES, computing_dtype(kind.element))
    scan_loops.powers(*kind)(initial, pads[:2])
    if pads[0].tobytes() == pads[1].tobytes():
        return np.full(SCAN_LANES, pads[0])
    scan_loops.powers(*kind)(initial, pads[:size])
    if not reverse:
        pads[:size] = pads[size - 1 :: -1]
    return pads


def prepare(kind: Combination, outer: int, size: int, inner: int, reverse: bool, threads: int | None) -> Scan:
    """A function `(operand, initial, result)` on flat arrays: it scans the middle one of three sizes."""
    if inner > 1:
        return _columns(kind, outer, size, inner, reverse, threads)
    by_rows = -(-outer // SCAN_LANES) * -(-size // SCAN_LANES)
    panels = -(-size // SCAN_PANEL)
    by_blocks = outer * panels * -(-min(size, SCAN_BLOCK) // SCAN_LANES)
    make = _blocks if by_blocks <= _BLOCKS_MAY_COST * by_rows else _rows
    return make(kind, outer, size, reverse, threads)


def _rows(kind: Combination, outer: int, size: int, reverse: bool, threads: int | None) -> Scan:
    """Neighbouring rows side by side."""
    computing, itemsize = computing_dtype(kind.element), storage_dtype(kind.element).itemsize
    tasks, task_size = division(-(-outer // SCAN_LANES), 2 * SCAN_LANES * size * itemsize)
    past_caches = int(outer * size * itemsize >= _LARGE_BYTES)

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        from . import scan_loops

        pads = _pads(kind, initial, size, reverse)
        local, totals = np.empty(tasks * SCAN_PANEL, computing), np.empty(2 * tasks * SCAN_LANES, computing)
        work = (task_size, outer, size, operand, pads, local, totals, past_caches, result)
        scan_loops.neighbouring_rows(*kind, reverse)(tasks, *work, threads=threads)

    return run


def _blocks(kind: Combination, outer: int, size: int, reverse: bool, threads: int | None) -> Scan:
    """Neighbouring blocks of a row side by side."""
    computing, itemsize = computing_dtype(kind.element), storage_dtype(kind.element).itemsize
    panels = outer * -(-size // SCAN_PANEL)
    tasks, _ = division(panels, 2 * SCAN_PANEL * itemsize, _MOST_TASKS)
    past_caches = int(outer * size * itemsize >= _LARGE_BYTES)

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        from . import scan_loops

        pads = _pads(kind, initial, size, reverse)
        local = np.empty(2 * tasks * SCAN_PANEL, computing)
        totals, carries = np.empty((panels + 2 * tasks) * SCAN_LANES, computing), np.empty(panels, computing)
        flags = np.zeros(scan_loops.FLAGS + panels, np.int64)
        work = (outer, size, operand, pads, local, totals, carries, flags, past_caches, result)
        scan_loops.neighbouring_blocks(*kind, reverse)(tasks, *work, threads=threads)

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
        from . import scan_columns

        pads = _pads(kind, initial, size, reverse)
        ahead = np.empty(2 * tasks * SCAN_CHUNK, computing)
        work = (task_size, outer, size, inner, operand, pads, ahead, result)
        scan_columns.columns(*kind, reverse)(tasks, *work, threads=threads)

    return run
