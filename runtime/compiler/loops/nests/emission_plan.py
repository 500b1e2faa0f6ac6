"""How a scheduled loop nest is emitted: blocks and tiles, transposition, nontemporal stores, prefetches.

Each decision is a function of a nest from `loop_schedule.schedule_loops`; `EmissionPlan` has the decisions
that the code depends on.
"""

from __future__ import annotations

import math

from ....kernels.launch.processor import (
    avoids_software_prefetch,
    has_two_register_permute,
    nontemporal_store_bytes,
)
from ....kernels.named_tuples import NamedTuple
from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ..chunks import elements_of_chunk
from ..element_costs import takes_longer_than_memory
from ..llvm.vector_variants import SHORT_ENTRIES
from .nest import MAX_CONSTANT_STRIDE, Access, Apply, Gather, Nest, is_copy
from .nontemporal_stores import (
    BUFFER_BYTES,
    MIN_COMPUTED_NONTEMPORAL_BYTES,
    MIN_NONTEMPORAL_BYTES,
    MIN_NONTEMPORAL_ROW_BYTES,
)
from .transposition import MAX_TILED_ITEMSIZE, tile_lanes


def transposed_loop(nest: Nest) -> int | None:
    """The loop along which an operand is contiguous that the innermost loop strides or gathers through, if
    there is one."""
    if nest.slice_length > 1:
        return None
    gathered_accesses = _gathered_accesses(nest)
    for number, access in enumerate(nest.accesses):
        strides = access.index_map.strides
        if strides and (abs(strides[-1]) > 1 or number in gathered_accesses):
            for d, stride in enumerate(strides[:-1]):
                if abs(stride) == 1 and nest.sizes[d] > 1:
                    return d
    return None


def _gathered_accesses(nest: Nest) -> set[int]:
    """The accesses whose address depends on the innermost loop through index values alone."""
    gathered = [node.access for node in nest.nodes if isinstance(node, Gather)]
    return {number for number in gathered if nest.accesses[number].index_map.strides[-1:] == (0,)}


def is_transposition(nest: Nest) -> bool:
    """Whether a scheduled nest copies an array contiguous along its middle loop to one contiguous along the
    inner one."""
    if nest.slice_length > 1 or not is_copy(nest):
        return False
    source, target = nest.accesses
    return (
        source.element_type.dtype.itemsize <= MAX_TILED_ITEMSIZE
        and source.index_map.strides[-2] == 1
        and abs(source.index_map.strides[-1]) > 1
        and target.index_map.strides[-1] == 1
    )


class ShortLoop(NamedTuple):
    """The loop of a transposition that is shorter than a tile; one array is contiguous along both loops.

    Attributes:
        size: of the loop, less than a tile's extent.
        is_inner: whether it is the inner loop, and the result is that array; else the operand is.
    """

    size: int
    is_inner: bool


def short_loop(nest: Nest) -> ShortLoop | None:
    """The short loop of a scheduled nest that is a transposition, if it has one."""
    if not is_transposition(nest):
        return None
    source, target = nest.accesses
    lanes = tile_lanes(source.element_type.dtype.itemsize)
    middle, inner = nest.sizes[-2:]
    if 1 < inner < lanes and target.index_map.strides[-2] == inner:
        return ShortLoop(inner, True)
    if 1 < middle < lanes and source.index_map.strides[-1] == middle:
        return ShortLoop(middle, False)
    return None


def uses_nontemporal_stores(nest: Nest) -> bool:
    """Whether a scheduled nest stores its results with nontemporal stores where they are aligned to cache
    lines: they are large, and written by whole cache lines or by adjacent halves of them."""
    if nest.slice_length == 1 and not is_transposition(nest):
        return False
    elements = math.prod(nest.sizes) * nest.slice_length
    cached_bytes = nontemporal_store_bytes(gathered=nest.gathers)
    short = short_loop(nest)
    for access in nest.results:
        itemsize = access.element_type.dtype.itemsize
        width = (nest.slice_length if nest.slice_length > 1 else tile_lanes(itemsize)) * itemsize
        writes_halves = nest.slice_length > 1 and 2 * width == CACHE_LINE_BYTES
        write_bytes = CACHE_LINE_BYTES // 2 if writes_halves else CACHE_LINE_BYTES
        strides = access.index_map.strides[:-2] if short and short.is_inner else access.index_map.strides
        byte_strides = [stride * itemsize for stride in strides if stride != 1 or nest.slice_length > 1]
        if elements * itemsize < cached_bytes or any(size % write_bytes for size in (width, *byte_strides)):
            return False
    return True


def buffers_stores(nest: Nest) -> bool:
    """Whether a scheduled nest computes its results in buffers, which it copies with nontemporal stores: they
    are large, contiguous along the innermost loop, and take longer to write than to compute. While longer
    loops compute, short chunks are written if the operands are prefetched too (`prefetched_operands`)."""
    if not _computes_in_order(nest):
        return False
    is_long = takes_longer_than_memory([node.operation for node in nest.nodes if isinstance(node, Apply)])
    if is_long and not prefetched_operands(nest):
        return False
    elements = math.prod(nest.sizes)
    min_bytes = MIN_COMPUTED_NONTEMPORAL_BYTES if is_long else MIN_NONTEMPORAL_BYTES
    for access in nest.results:
        itemsize = access.element_type.dtype.itemsize
        if access.index_map.strides[-1] != 1 or elements * itemsize < min_bytes:
            return False
        if nest.sizes[-1] * itemsize < MIN_NONTEMPORAL_ROW_BYTES:
            return False
    return True


def _computes_in_order(nest: Nest) -> bool:
    """Whether a scheduled nest computes single elements of arrays that it reads in their order."""
    if nest.slice_length > 1 or nest.gathers:
        return False
    return not is_transposition(nest) and transposed_loop(nest) is None


def transposed_accesses(nest: Nest) -> list[int]:
    """The operands of a scheduled nest that are contiguous along its middle loop: their tiles are transposed
    into scratch memory before the computation reads them."""
    operands = range(len(nest.accesses) - len(nest.stores))
    if (
        nest.slice_length > 1
        or nest.gathers
        or is_transposition(nest)
        or min(nest.sizes[-2:]) < tile_extent(nest)
    ):
        return []
    if any(access.index_map.strides[-1] != 1 for access in nest.results):
        return []
    matches = []
    for number in operands:
        middle, inner = nest.accesses[number].index_map.strides[-2:]
        if (
            middle == 1
            and abs(inner) > 1
            and nest.accesses[number].element_type.dtype.itemsize <= MAX_TILED_ITEMSIZE
        ):
            matches.append(number)
    return matches


def tile_extent(nest: Nest) -> int:
    """Extent of a nest's tiles in elements: the widest elements fill a vector."""
    widest = max([access.element_type.dtype.itemsize for access in nest.accesses])
    return tile_lanes(min(widest, MAX_TILED_ITEMSIZE))


def tiles_per_group(nest: Nest) -> int:
    """The number of tiles along the inner loop that are transposed at a time; 1 if many would remain."""
    extent, inner = tile_extent(nest), nest.sizes[-1]
    for count in (TILES_PER_BLOCK, TILES_PER_BLOCK // 2):
        if inner % (count * extent) == 0 or inner >= TILES_PER_BLOCK * count * extent:
            return count
    return 1


TILE_BYTES = 64
"""Extent of a tile in both directions: a cache line."""
TILES_PER_BLOCK = 4
"""Tiles transposed in registers that a block has in both directions."""
GATHERED_LINES_PER_BLOCK = 1 << 8
"""Cache lines that a block gathers from."""
MAX_NEST_BLOCK_ELEMENTS = 1 << 13
"""Elements of a block of the two inner loops, about."""


class BlockShape(NamedTuple):
    """Extents of a block of the two inner loops."""

    middle: int
    inner: int


def block_shape(nest: Nest) -> BlockShape:
    """The blocks of a scheduled nest: a function of its shape alone."""
    middle, inner = nest.sizes[-2:]
    short = short_loop(nest)
    if short is not None:
        lanes = tile_lanes(nest.accesses[0].element_type.dtype.itemsize)
        extent = MAX_NEST_BLOCK_ELEMENTS // short.size // lanes * lanes
        return BlockShape(min(extent, middle), min(extent, inner))
    if is_transposition(nest) or transposed_accesses(nest):
        extent = TILES_PER_BLOCK * tile_extent(nest)
        return BlockShape(min(extent, middle), min(extent, inner))
    if transposed_loop(nest) is not None:
        extent = max(8, TILE_BYTES // max(access.element_type.dtype.itemsize for access in nest.accesses))
        gathers_in_middle = any(
            abs(nest.accesses[number].index_map.strides[-2]) == 1 for number in _gathered_accesses(nest)
        )
        if gathers_in_middle:
            return BlockShape(min(extent, middle), min(GATHERED_LINES_PER_BLOCK, inner))
        return BlockShape(
            min(extent if inner >= extent else MAX_NEST_BLOCK_ELEMENTS // inner, middle),
            min(extent if middle >= extent else MAX_NEST_BLOCK_ELEMENTS // middle, inner),
        )
    max_elements = max(1, MAX_NEST_BLOCK_ELEMENTS // nest.slice_length)
    inner_extent = min(inner, max_elements)
    return BlockShape(min(middle, max(1, max_elements // inner_extent)), inner_extent)


def block_count(nest: Nest, blocks: BlockShape) -> int:
    middle, inner = (-(-size // extent) for size, extent in zip(nest.sizes[-2:], blocks, strict=True))
    return math.prod(nest.sizes[:-2]) * middle * inner


def has_interleaved_stores(nest: Nest) -> bool:
    """Whether the stores of a scheduled nest to each result interleave without gaps."""
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for array, _, index_map in nest.results:
        groups.setdefault((array, index_map.strides), []).append(index_map.offset)
    arrays = {array for array, _ in groups}
    return len(arrays) == len(groups) and all(
        1 < len(offsets) == strides[-1] and offsets == list(range(offsets[0], offsets[0] + len(offsets)))
        for (_, strides), offsets in groups.items()
    )


class InterleavedAccess(NamedTuple):
    """An access of equal strides, and the distance from it in elements: less than the innermost stride."""

    access: int
    distance: int


def interleaved_access(nest: Nest, number: int) -> InterleavedAccess | None:
    """The first access of a scheduled nest that this one interleaves with, if there is one before it: LLVM
    then loads or stores both as whole vectors."""
    results = len(nest.accesses) - len(nest.stores)
    array, element_type, index_map = nest.accesses[number]
    if not 1 < abs(index_map.strides[-1]) <= MAX_CONSTANT_STRIDE or (
        number >= results and not has_interleaved_stores(nest)
    ):
        return None
    for other in range(0 if number < results else results, number):
        distance = index_map.offset - nest.accesses[other].index_map.offset
        matches = Access(array, element_type, index_map._replace(offset=index_map.offset - distance))
        if nest.accesses[other] == matches and abs(distance) < abs(index_map.strides[-1]):
            return InterleavedAccess(other, distance)
    return None


MIN_LOOKUPS = 1 << 8
"""Elements of a nest from which on it copies tables, which takes as long as gathering some 30 elements."""
MIN_PREFETCHED_BYTES = 1 << 20
"""Bytes of a gathered array that one core's own caches do not hold."""


def prefetched_slices(nest: Nest) -> tuple[int, ...]:
    """The nodes of a scheduled nest whose slices are prefetched: those gathered from large arrays.

    Prefetches into L2 have more cache misses under way than out-of-order execution: gathers of 8 to 512 bytes
    from memory take a half to a third of the time (Zen 4).
    """
    if nest.slice_length == 1:
        return ()
    return tuple(
        [
            number
            for number in dict.fromkeys(nest.stores)
            if isinstance(node := nest.nodes[number], Gather)
            and _gathered_bytes(nest, node) >= MIN_PREFETCHED_BYTES
        ]
    )


def tables(nest: Nest) -> tuple[int, ...]:
    """The nodes of a scheduled nest that gather 32-bit elements from an array which fits two registers, whose
    lanes one instruction permutes. A lookup in a table of 9 takes 0.1 ns, and 0.4 by gathering (Zen 4).
    """
    if math.prod(nest.sizes) < MIN_LOOKUPS or nest.slice_length > 1 or not has_two_register_permute():
        return ()
    return tuple(
        [
            number
            for number, node in enumerate(nest.nodes)
            if isinstance(node, Gather) and _is_table(nest, node)
        ]
    )


def _is_table(nest: Nest, node: Gather) -> bool:
    access, start = nest.accesses[node.access], nest.start_indices[node.indices[0].start_index]
    return (
        len(node.indices) == 1
        and not any(access.index_map.strides)
        and access.element_type.dtype.itemsize == 4
        and start.stride == 1
        and start.max_index < SHORT_ENTRIES
    )


def prefetched_operands(nest: Nest) -> tuple[int, ...]:
    """The operands of a scheduled nest of which later chunks are prefetched: those as large as results that
    bypass the caches, and contiguous along the innermost loop.

    Out-of-order execution sees the loads of the next few vectors only, and the hardware prefetcher stops at
    the end of a page. Functions of 10^7 elements take 0.7 to 0.9 of the time, sums 0.75 to 0.85; arrays of 1
    to 4 MB gain nothing (Sapphire Rapids).
    """
    if not _computes_in_order(nest) or avoids_software_prefetch():
        return ()
    return tuple(
        [
            number
            for number, access in enumerate(nest.accesses[: len(nest.accesses) - len(nest.stores)])
            if access.index_map.strides[-1] == 1
            and nest.sizes[-1] * access.element_type.dtype.itemsize >= MIN_NONTEMPORAL_ROW_BYTES
            and _accessed_bytes(nest, access) >= MIN_NONTEMPORAL_BYTES
        ]
    )


def chunk_elements(nest: Nest) -> int:
    """The elements of the innermost loop whose operands are prefetched, and whose results are buffered, at
    once; 0 for all."""
    prefetched = prefetched_operands(nest)
    accesses = [*nest.results, *[nest.accesses[number] for number in prefetched]]
    itemsizes = [access.element_type.dtype.itemsize for access in accesses]
    if prefetched:
        return elements_of_chunk(itemsizes)
    return BUFFER_BYTES // max(itemsizes) if buffers_stores(nest) else 0


def prefetches_tiles(nest: Nest) -> bool:
    """Whether a scheduled nest prefetches the tiles that it transposes: its results are as large as those
    that bypass the caches, so that operands come from memory."""
    if not is_transposition(nest) and not transposed_accesses(nest):
        return False
    itemsize = min([access.element_type.dtype.itemsize for access in nest.results])
    return math.prod(nest.sizes) * itemsize >= nontemporal_store_bytes(gathered=False)


def _gathered_bytes(nest: Nest, node: Gather) -> int:
    """Bytes from the first to the last start of the slices that a node may gather at all indices."""
    access = nest.accesses[node.access]
    starts = [nest.start_indices[index.start_index] for index in node.indices]
    elements = sum([start.max_index * abs(start.stride) for start in starts])
    return elements * access.element_type.dtype.itemsize + _accessed_bytes(nest, access)


def _accessed_bytes(nest: Nest, access: Access) -> int:
    """Bytes from the first to the last element of an access."""
    strides = zip(nest.sizes, access.index_map.strides, strict=True)
    elements = 1 + sum([(size - 1) * abs(stride) for size, stride in strides])
    return elements * access.element_type.dtype.itemsize


class EmissionPlan(NamedTuple):
    """The decisions by which a scheduled nest is emitted; they depend on the nest alone.

    Attributes:
        is_transposition: see `is_transposition`.
        short: see `short_loop`.
        nontemporal: see `uses_nontemporal_stores`.
        buffered: see `buffers_stores`.
        transposed: see `transposed_accesses`.
        tiles: see `tiles_per_group`; 0 without transposed accesses.
        interleaves_stores: see `has_interleaved_stores`.
        interleaved: see `interleaved_access`, for each access.
        prefetched_slices: see `prefetched_slices`.
        prefetched_operands: see `prefetched_operands`.
        chunk_elements: see `chunk_elements`.
        prefetches_tiles: see `prefetches_tiles`.
        tables: see `tables`.
    """

    is_transposition: bool
    short: ShortLoop | None
    nontemporal: bool
    buffered: bool
    transposed: tuple[int, ...]
    tiles: int
    interleaves_stores: bool
    interleaved: tuple[InterleavedAccess | None, ...]
    prefetched_slices: tuple[int, ...]
    prefetched_operands: tuple[int, ...]
    chunk_elements: int
    prefetches_tiles: bool
    tables: tuple[int, ...]


def emission_plan(nest: Nest) -> EmissionPlan:
    """The emission plan of a nest from `schedule_loops`."""
    transposed = tuple(transposed_accesses(nest))
    return EmissionPlan(
        is_transposition(nest),
        short_loop(nest),
        uses_nontemporal_stores(nest),
        buffers_stores(nest),
        transposed,
        tiles_per_group(nest) if transposed else 0,
        has_interleaved_stores(nest),
        tuple([interleaved_access(nest, number) for number in range(len(nest.accesses))]),
        prefetched_slices(nest),
        prefetched_operands(nest),
        chunk_elements(nest),
        prefetches_tiles(nest),
        tables(nest),
    )
