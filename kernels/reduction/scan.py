"""Prefix scans: cumulative windows of `reduce_window`, the padding of which holds the initial value.

The order. Of the n values along the scanned dimension, taken from the last to the first for a reverse scan,
result i combines values 0 to i. The values are split into consecutive blocks of SCAN_BLOCK, and these into
groups of SCAN_GROUP. With

  - in_group(i): the values of i's group up to i, reduced from the left,
  - in_block(i): in_group(i) in a block's first group, else groups (op) in_group(i), where the totals of the
      block's groups before i's are reduced from the left,
  - in_row(i): in_block(i) in the first block, else blocks (op) in_block(i), where the totals of the blocks
      before i's are reduced from the left,
  - pads(i): n - i initial values, reduced from the left: those in the padding of window i, and its initial
      one,

result i is pads(i) (op) in_row(i); a reverse scan exchanges the operands of each (op), so that values stay in
order. pads(i) is the initial value itself if that combined with itself is the same. The combination
determines where results are rounded.
"""

from collections.abc import Callable

import numpy as np

from ..launch.compilation import kernel_at
from ..launch.threads import division
from ..simd.block_sizes import SCAN_BLOCK, SCAN_CHUNK, SCAN_FLAGS, SCAN_LANES, SCAN_PANEL
from ..simd.monoids import Combination, computing_dtype, storage_dtype

Scan = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

_LOOPS = f"{__package__}.scan_loops"
_MAX_TASKS = 32
_MIN_NONTEMPORAL_BYTES = 3 << 21  # results of scans; 4 MB are written 1.1 to 1.4 times as fast to caches
_MAX_BLOCK_COST = 1.25


def _pads(kind: Combination, initial: np.ndarray, size: int, reverse: bool) -> np.ndarray:
    """The combined initial values of each window, at the index of its result, and SCAN_LANES more; if all are
    equal, only SCAN_LANES of them."""
    powers = kernel_at(_LOOPS, "powers", *kind)
    pads = np.empty(size + SCAN_LANES, computing_dtype(kind.element))
    powers(1, initial, pads[:2])
    if pads[0].tobytes() == pads[1].tobytes():
        return np.full(SCAN_LANES, pads[0])
    powers(1, initial, pads[:size])
    if not reverse:
        pads[:size] = pads[size - 1 :: -1]
    return pads


def prepare(kind: Combination, outer: int, size: int, inner: int, reverse: bool, threads: int | None) -> Scan:
    """Prepare a scan, `(operand, initial, result) -> None`.

    The operand and the result are flat arrays of `outer * size * inner` elements of the storage type of
    `kind.element`; `initial` has one element of it.

    Args:
        kind: the combining function and the element types.
        outer, size, inner: the scan runs along `size`, the middle of these three sizes in row-major order.
        reverse: whether it begins with the last element.
        threads: maximum number of threads; None: all.
    """
    if inner > 1:
        return _columns(kind, outer, size, inner, reverse, threads)
    row_panels = -(-outer // SCAN_LANES) * -(-size // SCAN_LANES)
    panels = -(-size // SCAN_PANEL)
    block_panels = outer * panels * -(-min(size, SCAN_BLOCK) // SCAN_LANES)
    prepare_scan = _blocks if block_panels <= _MAX_BLOCK_COST * row_panels else _rows
    return prepare_scan(kind, outer, size, reverse, threads)


def _rows(kind: Combination, outer: int, size: int, reverse: bool, threads: int | None) -> Scan:
    """Scan SCAN_LANES neighbouring rows at a time."""
    computing, itemsize = computing_dtype(kind.element), storage_dtype(kind.element).itemsize
    tasks, task_size = division(-(-outer // SCAN_LANES), 2 * SCAN_LANES * size * itemsize)
    nontemporal = int(outer * size * itemsize >= _MIN_NONTEMPORAL_BYTES)

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        pads = _pads(kind, initial, size, reverse)
        row_scans, totals = np.empty(tasks * SCAN_PANEL, computing), np.empty(
            2 * tasks * SCAN_LANES, computing
        )
        arguments = (task_size, outer, size, operand, pads, row_scans, totals, nontemporal, result)
        kernel_at(_LOOPS, "scan_rows", *kind, reverse)(tasks, *arguments, threads=threads)

    return run


def _blocks(kind: Combination, outer: int, size: int, reverse: bool, threads: int | None) -> Scan:
    """Scan SCAN_LANES neighbouring blocks of a row at a time."""
    computing, itemsize = computing_dtype(kind.element), storage_dtype(kind.element).itemsize
    panels = outer * -(-size // SCAN_PANEL)
    tasks, _ = division(panels, 2 * SCAN_PANEL * itemsize, _MAX_TASKS)
    nontemporal = int(outer * size * itemsize >= _MIN_NONTEMPORAL_BYTES)

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        pads = _pads(kind, initial, size, reverse)
        row_scans = np.empty(2 * tasks * SCAN_PANEL, computing)
        totals, carries = np.empty((panels + 2 * tasks) * SCAN_LANES, computing), np.empty(panels, computing)
        flags = np.zeros(SCAN_FLAGS + panels, np.int64)
        arguments = (outer, size, operand, pads, row_scans, totals, carries, flags, nontemporal, result)
        kernel_at(_LOOPS, "scan_blocks", *kind, reverse)(tasks, *arguments, threads=threads)

    return run


def _columns(
    kind: Combination, outer: int, size: int, inner: int, reverse: bool, threads: int | None
) -> Scan:
    chunks = -(-inner // SCAN_CHUNK)
    width = min(inner, SCAN_CHUNK)
    computing = computing_dtype(kind.element)
    tasks, task_size = division(outer * chunks, 2 * size * width * storage_dtype(kind.element).itemsize)

    def run(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        pads = _pads(kind, initial, size, reverse)
        prefixes = np.empty(2 * tasks * SCAN_CHUNK, computing)
        arguments = (task_size, outer, size, inner, operand, pads, prefixes, result)
        scan_columns = kernel_at(f"{__package__}.scan_columns", "columns", *kind, reverse)
        scan_columns(tasks, *arguments, threads=threads)

    return run
