"""The order in which lanes of vectors are folded by adjacent pairs: NumPy and Numba are not needed for it."""

__all__ = ["PIECE_BYTES", "lane_pairs"]

PIECE_BYTES = 16


def lane_pairs(lanes: int, piece: int, level: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which lanes of two vectors, numbered through, are folded with which at a level of the tree.

    As many vectors as they have lanes become one by as many levels as halve their lanes to one: its lane i is
    the total of the i-th vector. Even and odd places are first taken within pieces of PIECE_BYTES, which have
    `piece` lanes: that costs one instruction; then by whole pieces, which puts the totals in order.
    """
    even: list[int] = []
    if 2 << level <= piece:
        for start in range(0, lanes, piece):
            even += range(start, start + piece, 2)
            even += range(lanes + start, lanes + start + piece, 2)
        return tuple(even), tuple(lane + 1 for lane in even)
    for start in range(0, 2 * lanes, 2 * piece):
        even += range(start, start + piece)
    return tuple(even), tuple(lane + piece for lane in even)
