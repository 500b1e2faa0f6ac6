"""The division of a convolution's products into tiles, which registers hold, and into work items."""

from __future__ import annotations

import functools
import itertools

from ..launch.threads import MAX_TASKS, chosen_threads
from ..named_tuples import NamedTuple
from . import convolution_tasks as tasks

MIN_WORK_ITEMS = 16
"""Minimum number of work items of a convolution that is large enough for them."""
ITEM_FMAS = 1 << 20
"""Multiply-adds per work item from which on work is divided further."""
_MAX_ITEM_TILES = 32
"""Maximum number of tiles of windows of a work item: a task holds the offsets of all its windows."""
_MAX_SHARED_RHS_BYTES = 3 << 18
"""Size of rhs up to which work items divide windows alone, if there are enough: rhs then stays in the L2
cache of each thread. Threads that write different features of the same windows slow each other down: on two
Zen 4 cores 3x3 windows of 28x28 with 128 features take 1.1 times as long."""

_ITEMS_PER_THREAD = 2
"""Minimum number of work items for each thread, if work can be divided so far: a thread that is late leaves
one to another."""
_TILE_OVERHEAD = 2
"""What a tile takes besides its multiply-adds, in the time of those of a window: it reads the strip of rhs
from the L2 cache. On two Zen 4 cores items of 25 windows take 1.07 times as long as those of 14."""
_BALANCE_PARTS = 32
"""Threads are as busy as each other if the busiest exceeds its share by less than one in so many."""


class Product(NamedTuple):
    """The matrix products of a subproblem: for each group [windows, k] by [k, columns]."""

    windows: int
    columns: int
    groups: int
    k: int

    @property
    def fmas(self) -> int:
        return self.windows * self.rhs_size

    @property
    def rhs_size(self) -> int:
        return self.k * self.columns * self.groups


class Tiles(NamedTuple):
    """The tiles of a product, which registers hold.

    Attributes:
        rows, vectors, last_vectors: the rows of a tile, its vectors, and those of the last strip.
        strips, padded: the strips into which rhs is packed, and their size.
        block, blocks: the windows of a block, and the number of blocks.
    """

    rows: int
    vectors: int
    last_vectors: int
    strips: int
    padded: int
    block: int
    blocks: int


class Items(NamedTuple):
    """The work items of a product.

    Attributes:
        windows, strips: the windows and strips of an item.
        item_count: the number of items.
        windows_first: whether items of the same strips follow each other.
    """

    windows: int
    strips: int
    item_count: int
    windows_first: bool


def divided_tiles(product: Product, inner: int, by_windows: bool, tile_shape: tuple[int, int, int]) -> Tiles:
    """The tiles whose lanes are columns, or `by_windows` groups of `inner` windows."""
    lanes, max_vectors, full_rows = tile_shape
    windows, columns = product.windows, product.columns
    vectors = min(max_vectors, -(-(inner if by_windows else columns) // lanes))
    if by_windows and columns <= tasks.LOW_ROWS:
        # Full tiles have variants of fewer rows, narrow ones do not.
        low_rows = 1 if columns == 1 else tasks.LOW_ROWS
        vectors = max_vectors if max_vectors * low_rows < vectors * tasks.NARROW_ROWS else vectors
    rows = 6 if vectors == max_vectors else tasks.NARROW_ROWS
    if by_windows:
        strips, block = -(-columns // rows), vectors * lanes
        blocks = windows // inner * -(-inner // block)
        return Tiles(rows, vectors, vectors, strips, strips * rows, block, blocks)
    if vectors == max_vectors and windows > rows:
        rows = full_rows
    strips = -(-columns // (vectors * lanes))
    last_vectors = -(-(columns - (strips - 1) * vectors * lanes) // lanes)
    padded = ((strips - 1) * vectors + last_vectors) * lanes
    block = tasks.BLOCK // rows * rows
    return Tiles(rows, vectors, last_vectors, strips, padded, block, -(-windows // block))


def wanted_items(fmas: int, threads: int | None) -> int:
    """The number of work items of a convolution, if it can be divided so far: at least one for each thread.

    No sum depends on it.

    Args:
        fmas: multiply-adds.
        threads: maximum number of threads; None: all.
    """
    return min(max(MIN_WORK_ITEMS, min(chosen_threads(threads), MAX_TASKS)), fmas // ITEM_FMAS)


def packed_items(product: Product, tiles: Tiles, packs_items: bool, threads: int | None) -> Items:
    """Items of a block each; or those that pack the part of rhs that they need."""
    wanted, strips = wanted_items(product.fmas, threads), product.groups * tiles.strips
    windows, blocks = tiles.block, tiles.blocks
    if packs_items:
        # Half of the wanted items suffice: each group of rows packs the same strips again.
        row_groups = max(1, min(-(-wanted // (2 * strips)), product.windows // tasks.BLOCK))
        windows = -(-product.windows // (row_groups * tiles.rows)) * tiles.rows
        blocks = -(-product.windows // windows)
    strip_group = -(-strips // max(1, min(strips, wanted // blocks)))
    return Items(windows, strip_group, blocks * -(-strips // strip_group), False)


def shared_items(
    product: Product, tiles: Tiles, lhs_size: int, itemsize: int, threads: int | None
) -> Items:
    """Items that divide windows and strips so that they read the least memory."""
    strips, rhs_size = product.groups * tiles.strips, product.rhs_size
    is_shared = rhs_size * itemsize <= _MAX_SHARED_RHS_BYTES
    sizes = _Sizes(product.windows, tiles.rows, strips, rhs_size, lhs_size)
    wanted = wanted_items(product.fmas, threads)
    windows, strip_group = _item_sizes(sizes, wanted, is_shared, chosen_threads(threads))
    count = -(-product.windows // windows) * -(-strips // strip_group)
    return Items(windows, strip_group, count, rhs_size > lhs_size)


def items_of_groups(product: Product, tile_shape: tuple[int, int, int]) -> tuple[int, int]:
    """The vectors of a tile whose lanes are groups, and the number of work items."""
    lanes, vectors, _ = tile_shape
    blocks = -(-product.windows // tasks.GROUP_WINDOWS)
    while vectors > 1 and blocks * product.groups < MIN_WORK_ITEMS // 2 * vectors * lanes:
        vectors //= 2
    return vectors, blocks * -(-product.groups // (vectors * lanes))


class _Sizes(NamedTuple):
    """What items are made of: windows, in tiles of `rows`, times strips; elements of rhs and of lhs."""

    windows: int
    rows: int
    strips: int
    rhs_size: int
    lhs_size: int


@functools.lru_cache(256)
def _item_sizes(sizes: _Sizes, wanted: int, is_shared: bool, threads: int) -> tuple[int, int]:
    """The windows and the strips of items that keep all threads busy and read the least memory.

    Each group of windows reads all of rhs, and each group of strips all of lhs.

    Args:
        sizes: of the product.
        wanted: number of work items, if there are enough windows and strips. Half as many suffice, but
            `_ITEMS_PER_THREAD`.
        is_shared: whether strips are only divided where there are too few tiles.
        threads: number of threads.
    """
    rows, needed = sizes.rows, max(-(-wanted // 2), min(wanted, _ITEMS_PER_THREAD * threads))
    tiles = -(-sizes.windows // rows)
    fewest = -(-tiles // _MAX_ITEM_TILES)
    grids = []
    for row_groups in range(fewest, max(fewest, min(tiles, wanted + threads)) + 1):
        even = -(-sizes.windows // row_groups)
        for windows, items in itertools.product({even, -(-even // rows) * rows}, {needed, wanted}):
            window_groups = -(-sizes.windows // windows)
            strip_group = -(-sizes.strips // max(1, min(sizes.strips, -(-items // window_groups))))
            strip_groups = -(-sizes.strips // strip_group)
            missing = max(0, needed - window_groups * strip_groups)
            imbalance = _imbalance(sizes, windows, strip_group, threads)
            traffic = window_groups * sizes.rhs_size + strip_groups * sizes.lhs_size
            divisions = strip_groups if is_shared else 1
            grids.append((missing, divisions, imbalance, traffic, (windows, strip_group)))
    return min(grids)[4]


def _imbalance(sizes: _Sizes, windows: int, strip_group: int, threads: int) -> int:
    """By how many parts in `_BALANCE_PARTS` the busiest thread exceeds its share of items of so many windows
    and strips, each of which the first idle thread takes."""
    full, rest = divmod(sizes.windows, windows)
    cost, cost_of_rest = _tile_cost(windows, sizes.rows), _tile_cost(rest, sizes.rows)
    strip_groups = -(-sizes.strips // strip_group)
    each, more = divmod(full * strip_groups, threads)
    load = (each + 1) * cost if more else each * cost + -(-strip_groups // threads) * cost_of_rest
    share = _tile_cost(sizes.windows, sizes.rows) * strip_groups / threads
    return max(0, int((load / share - 1) * _BALANCE_PARTS))


def _tile_cost(windows: int, rows: int) -> int:
    """The time of the tiles of some windows, in that of multiplying a window."""
    return windows + -(-windows // rows) * _TILE_OVERHEAD
