"""The division of a convolution's products into tiles, which registers hold, and into work items."""

from __future__ import annotations

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
    row_tiles = -(-product.windows // tiles.rows)
    wanted = wanted_items(product.fmas, threads)
    row_groups, column_groups = _item_grid(row_tiles, strips, rhs_size, lhs_size, wanted, is_shared)
    windows = -(-product.windows // (row_groups * tiles.rows)) * tiles.rows
    strip_group = -(-strips // column_groups)
    count = -(-product.windows // windows) * -(-strips // strip_group)
    return Items(windows, strip_group, count, rhs_size > lhs_size)


def items_of_groups(product: Product, tile_shape: tuple[int, int, int]) -> tuple[int, int]:
    """The vectors of a tile whose lanes are groups, and the number of work items."""
    lanes, vectors, _ = tile_shape
    blocks = -(-product.windows // tasks.GROUP_WINDOWS)
    while vectors > 1 and blocks * product.groups < MIN_WORK_ITEMS // 2 * vectors * lanes:
        vectors //= 2
    return vectors, blocks * -(-product.groups // (vectors * lanes))


def _item_grid(
    tiles: int, strips: int, rhs_size: int, lhs_size: int, wanted: int, is_shared: bool
) -> tuple[int, int]:
    """The numbers of groups of tiles and of strips that give enough work items and read the least memory.

    Each group of tiles reads all of rhs, and each group of strips all of lhs.

    Args:
        tiles, strips: how many there are.
        rhs_size, lhs_size: elements.
        wanted: minimum number of work items, if there are enough tiles and strips.
        is_shared: whether strips are only divided where there are too few tiles.
    """
    fewest = -(-tiles // _MAX_ITEM_TILES)
    grids = []
    for row_groups in range(fewest, max(fewest, min(tiles, wanted)) + 1):
        column_groups = max(1, min(strips, -(-wanted // row_groups)))
        missing = max(0, wanted - row_groups * column_groups)
        traffic = row_groups * rhs_size + column_groups * lhs_size
        divisions = column_groups if is_shared else 1
        grids.append((missing, divisions, traffic, (row_groups, column_groups)))
    return min(grids)[3]
