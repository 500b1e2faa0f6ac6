"""The order in which pairwise reductions combine vector lanes. Needs neither NumPy nor Numba."""

__all__ = ["LANE_BLOCK_BYTES", "lane_pairs"]

LANE_BLOCK_BYTES = 16


def lane_pairs(lanes: int, block_lanes: int, level: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The (left, right) lanes of two concatenated vectors that a level of the reduction tree combines.

    log2(`lanes`) levels reduce `lanes` vectors to one, whose lane i is the total of the i-th vector. The
    first levels pair even and odd lanes within blocks of LANE_BLOCK_BYTES, which have `block_lanes` lanes, by
    one instruction. The last levels pair whole blocks, which puts the totals in order.
    """
    even: list[int] = []
    if 2 << level <= block_lanes:
        for start in range(0, lanes, block_lanes):
            even += range(start, start + block_lanes, 2)
            even += range(lanes + start, lanes + start + block_lanes, 2)
        return tuple(even), tuple(lane + 1 for lane in even)
    for start in range(0, 2 * lanes, 2 * block_lanes):
        even += range(start, start + block_lanes)
    return tuple(even), tuple(lane + block_lanes for lane in even)
