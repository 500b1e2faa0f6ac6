"""Scans: cumulative windows of `reduce_window`.

The n values are split into blocks of SCAN_BLOCK values, and these into groups of SCAN_GROUP. If the padding
is at the high end, the values are taken from the last to the first. With

- in_group(i): the values of i's group up to i, reduced from the left,
- in_block(i): in_group(i) in the first group of a block; in others body(groups, in_group(i)), where the
  totals of the block's groups before i's are reduced from the left,
- in_row(i): in_block(i) in the first block; in others body(blocks, in_block(i)), where the totals of the
  blocks before i's are reduced from the left,
- pads(i): n - i init values, reduced from the left; one init value, if it is idempotent,

result i is body(pads(i), in_row(i)). The total of a group is in_group of its last value, the total of a block
in_block of its last value. If the padding is at the high end, the operands of the body are exchanged.

Source: specification, section "reduce_window".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ....kernels.named_tuples import NamedTuple
from .reduction_tree import BODY, INIT

SCAN_GROUP: Final = 16
SCAN_BLOCK: Final = 256


class ScanLayout(NamedTuple):
    """The dimensions of a scan and its division into blocks.

    Attributes:
        outer, length, inner: the sizes before, along and after the scanned dimension.
        is_reverse: whether the scan begins at the last element.
        group, block: how many values a group and a block have.
    """

    outer: int
    length: int
    inner: int
    is_reverse: bool
    group: int = SCAN_GROUP
    block: int = SCAN_BLOCK


def scan_schedule(count: int, position: int) -> Iterator[int]:
    """The schedule (`reduction_tree`) of the window of result `position` of a scan of `count` values.

    The window has `count` elements, of which the last `position` + 1 are values, and the others init values.
    An idempotent init value gives the same bits however often it is repeated.
    """
    pads = count - 1 - position
    yield INIT
    for pad in range(pads):
        yield pad
        yield BODY
    yield from _prefix(pads, count - 1, (SCAN_BLOCK, SCAN_GROUP))
    yield BODY


def _prefix(first: int, last: int, sizes: Sequence[int]) -> Iterator[int]:
    """The schedule of value `last`'s prefix: of a row for the sizes of blocks and groups, of a block for that
    of groups, of a group without sizes; `first` is the first value of the row, the block or the group.
    """
    if not sizes:
        yield first
        for number in range(first + 1, last + 1):
            yield number
            yield BODY
        return
    size, *inner_sizes = sizes
    own = first + (last - first) // size * size
    for start in range(first, own, size):
        yield from _prefix(start, start + size - 1, inner_sizes)
        if start > first:
            yield BODY
    yield from _prefix(own, last, inner_sizes)
    if own > first:
        yield BODY
