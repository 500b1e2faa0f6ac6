"""The two inner loops of a nest that is a transposition, tile by tile."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..llvm.loops import GuardedLoop, IndexRange, min_index
from ..llvm.values import I64
from .emission_plan import TILES_PER_BLOCK, EmissionPlan, tile_extent
from .nest import Nest
from .transposition import TileOperand, emit_element, emit_short_tile, emit_tile, prefetch_tile, tile_lanes

_BLOCKS_AHEAD = 4
"""The prefetch distance of a large transposition, in blocks."""


class TranspositionEmitter:
    """Generates the loops of a scheduled nest: full tiles in registers, the rest element by element.

    Args:
        nest: the nest.
        plan: how it is emitted.
        sizes: of its loops, as i64.
        aligned: whether the results are aligned, which nontemporal stores need.
    """

    def __init__(self, nest: Nest, plan: EmissionPlan, sizes: Sequence[ir.Value], aligned: ir.Value) -> None:
        self.nest = nest
        self.plan = plan
        self.sizes = sizes
        self.aligned = aligned
        self.itemsize = nest.accesses[0].element_type.dtype.itemsize

    def emit(
        self,
        builder: ir.IRBuilder,
        source: TileOperand,
        target: TileOperand,
        middle: IndexRange,
        inner: IndexRange,
    ) -> None:
        """Transpose the elements of two ranges of indices of the inner loops."""
        if self.plan.short is None:
            self.emit_square_tiles(builder, source, target, middle, inner)
        elif self.plan.nontemporal:
            with builder.if_else(self.aligned) as (nontemporal, temporal):
                with nontemporal:
                    self.emit_short_tiles(builder, source, target, middle, inner, True)
                with temporal:
                    self.emit_short_tiles(builder, source, target, middle, inner, False)
        else:
            self.emit_short_tiles(builder, source, target, middle, inner, False)

    def emit_short_tiles(
        self,
        builder: ir.IRBuilder,
        source: TileOperand,
        target: TileOperand,
        middle: IndexRange,
        inner: IndexRange,
        nontemporal: bool,
    ) -> None:
        """A transposition one of whose loops is shorter than a tile."""
        short = self.plan.short
        assert short is not None
        start, stop = middle if short.is_inner else inner
        lanes = I64(tile_lanes(self.itemsize))
        tiles = builder.udiv(builder.sub(stop, start), lanes)
        loop = GuardedLoop(builder, "tile", I64(0), tiles)
        first = loop.builder.add(start, loop.builder.mul(loop.index, lanes))
        emit_short_tile(loop.builder, self.itemsize, (source, target), *short, first, nontemporal)
        loop.close()
        rest = builder.add(start, builder.mul(tiles, lanes)), stop
        ranges = (rest, inner) if short.is_inner else (middle, rest)
        self.emit_single_elements(builder, source, target, *ranges)

    def emit_single_elements(
        self,
        builder: ir.IRBuilder,
        source: TileOperand,
        target: TileOperand,
        middle: IndexRange,
        inner: IndexRange,
    ) -> None:
        """The elements of some indices of the two inner loops of a transposition."""
        rows = GuardedLoop(builder, "rest", *middle)
        columns = GuardedLoop(rows.builder, "element", *inner)
        emit_element(columns.builder, self.itemsize, source, target, rows.index, columns.index)
        columns.close()
        rows.close()

    def emit_square_tiles(
        self,
        builder: ir.IRBuilder,
        source: TileOperand,
        target: TileOperand,
        middle: IndexRange,
        inner: IndexRange,
    ) -> None:
        nontemporal = self.plan.nontemporal
        lanes = I64(tile_lanes(self.itemsize))
        slow, fast = (inner, middle) if nontemporal else (middle, inner)
        rows = GuardedLoop(builder, "tiles", *tile_range(builder, slow, lanes))
        columns = GuardedLoop(rows.builder, "tile", *tile_range(rows.builder, fast, lanes))
        body = columns.builder
        first = [
            body.add(body.mul(loop.index, lanes), start)
            for loop, (start, _) in ((rows, slow), (columns, fast))
        ]
        first = first[::-1] if nontemporal else first
        ends = [body.add(start, lanes) for start in first]
        is_full = body.and_(
            body.icmp_signed("<=", ends[0], middle[1]), body.icmp_signed("<=", ends[1], inner[1])
        )
        if nontemporal:
            is_full = body.and_(is_full, self.aligned)
        with body.if_else(is_full) as (full, partial):
            with full:
                offset = body.add(body.mul(first[0], target.stride), first[1])
                pointer = body.gep(
                    target.pointer, [offset], inbounds=True, source_etype=ir.IntType(8 * self.itemsize)
                )
                tile = TileOperand(pointer, target.stride)
                self.prefetch_later_tile(body, self.itemsize, source, (first[0], first[1]), nontemporal)
                emit_tile(
                    body,
                    self.itemsize,
                    tile_lanes(self.itemsize),
                    source,
                    tile,
                    first[0],
                    first[1],
                    nontemporal=nontemporal,
                )
            with partial:
                rows_range = first[0], min_index(body, ends[0], middle[1])
                columns_range = first[1], min_index(body, ends[1], inner[1])
                self.emit_single_elements(body, source, target, rows_range, columns_range)
        columns.close()
        rows.close()

    def prefetch_later_tile(
        self,
        builder: ir.IRBuilder,
        itemsize: int,
        source: TileOperand,
        first: tuple[ir.Value, ir.Value],
        is_along_middle: bool,
    ) -> None:
        """Prefetch the tile that is read `_BLOCKS_AHEAD` blocks later, or at most a row of blocks later.

        Args:
            first: the middle and the inner index of the first element of the tile that is read now.
            is_along_middle: whether blocks follow each other along the middle loop first.
        """
        if not self.plan.prefetches_tiles:
            return
        (along, across), size = (first, self.sizes[-2]) if is_along_middle else (first[::-1], self.sizes[-1])
        extent = TILES_PER_BLOCK * tile_extent(self.nest)
        distance = min_index(builder, I64(_BLOCKS_AHEAD * extent), size)
        later = builder.add(along, distance)
        is_beyond = builder.icmp_signed(">=", later, size)
        along = builder.select(is_beyond, builder.sub(later, size), later)
        across = builder.select(is_beyond, builder.add(across, I64(extent)), across)
        indices = (along, across) if is_along_middle else (across, along)
        prefetch_tile(builder, itemsize, source, *indices)


def tile_range(builder: ir.IRBuilder, indices: IndexRange, lanes: ir.Constant) -> IndexRange:
    """The numbers of the tiles that cover a range of indices, counted from its first one."""
    count = builder.add(builder.sub(indices[1], indices[0]), I64(lanes.constant - 1))
    return I64(0), builder.udiv(count, lanes)
