"""A loop nest as LLVM IR: one task, `void (int64 task, int64 *closure)`.

The closure holds a pointer for each access and then the words of `integers`. A task goes through a range of
units; a unit is a block of the two inner loops at one index of the others. Which part of the work is in which
unit, and which units are in which task, follows from the nest's shape alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llvmlite import ir

from ...ir import Operation
from ...kernels.launch.processor import read_ahead_bytes
from ...types import ELEMENT_TYPES, ElementType, TensorType
from ..elementwise.elementwise import emit, side_by_side
from ..llvm.loops import DISTINCT_LOOP, GuardedLoop, interleaved, keep_rolled, prefetch_after
from ..llvm.values import I64, Value, constant, load, store, stored_type
from .contiguous_copy import Line, copy_line
from .gathering import StartWords, moved, with_step
from .nest import (
    MOST_KNOWN_STRIDE,
    Access,
    Apply,
    Blocks,
    Constant,
    Gather,
    Index,
    Load,
    Nest,
    ShortSide,
    access_kind,
    is_buffered,
    is_transposition,
    neighbour_of,
    nodes_needed,
    read_in_order,
    reads_ahead,
    short_side,
    streams,
    stride_kind,
    tile_extent,
    tiles_together,
    turned_accesses,
    units_of,
    writes_lines,
)
from .nontemporal_stores import BUFFER_BYTES, CACHE_LINE, copy_past_caches, is_aligned
from .transposition import Side, emit_element, emit_short_tile, emit_tile, emit_turned_tile, lanes_of

NAME = "nest"
_POINTER = ir.PointerType()
_TASK = ir.FunctionType(ir.VoidType(), [I64, _POINTER])
_PART_BYTES = 1 << 10
"""Of what is read, between two times that memory is fetched."""
_ONCE, _ROW, _ELEMENT = range(3)
"""Where a node is computed: before all loops, before the innermost one, or in it."""


def integers(nest: Nest, blocks: Blocks, units_per_task: int) -> tuple[int, ...]:
    """The words of the closure after the pointers, for an arranged nest."""
    counts = [-(-size // extent) for size, extent in zip(nest.sizes[-2:], blocks, strict=True)]
    words = [units_of(nest, blocks), units_per_task, *counts, *blocks, *nest.sizes]
    for access in nest.accesses:
        words += access.place.strides
    for place in nest.indices:
        words += [place.offset, *place.strides]
    for start in nest.starts:
        words += start
    return tuple(words)


def nest_text(nest: Nest, name: str = NAME) -> str:
    """The text of a module that defines the task of an arranged nest under that name."""
    return _marked_parallel(str(_Emitter(nest, name).module))


def _levels(nest: Nest) -> list[int]:
    """Where each node is computed."""
    levels: list[int] = []
    for node in nest.nodes:
        level = _ONCE
        if not isinstance(node, (Apply, Constant)):
            place = nest.indices[node.place] if isinstance(node, Index) else nest.accesses[node.access].place
            level = {".": _ONCE, "0": _ROW}.get(access_kind(place), _ELEMENT)
        levels.append(max([level, *[levels[other] for other in nodes_needed(node)]]))
    return levels


class _Words:
    """Reads the closure's words in order."""

    def __init__(self, builder: ir.IRBuilder, closure: ir.Value) -> None:
        self.builder = builder
        self.closure = closure
        self.next = 0

    def take(self, type: ir.Type = I64) -> ir.Value:
        """The next word."""
        position = ir.Constant(I64, self.next)
        self.next += 1
        place = self.builder.gep(self.closure, [position], inbounds=True, source_etype=I64)
        return self.builder.load(place, typ=type)

    def take_all(self, count: int) -> list[ir.Value]:
        """The next words."""
        return [self.take() for _ in range(count)]


class _Emitter:
    """Generates one nest."""

    def __init__(self, nest: Nest, name: str) -> None:
        self.nest = nest
        self.module = ir.Module(name)
        function = ir.Function(self.module, _TASK, name)
        task, closure = function.args
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        words = _Words(builder, closure)
        self.pointers = [words.take(_POINTER) for _ in nest.accesses]
        units, per_task, middle_blocks, inner_blocks, middle_extent, inner_extent = words.take_all(6)
        self.sizes = words.take_all(len(nest.sizes))
        self.strides = [words.take_all(len(nest.sizes)) for _ in nest.accesses]
        self.offsets: list[ir.Value] = []
        self.index_strides: list[list[ir.Value]] = []
        for _ in nest.indices:
            self.offsets.append(words.take())
            self.index_strides.append(words.take_all(len(nest.sizes)))
        self.starts = [StartWords(*words.take_all(3)) for _ in nest.starts]
        self.aligned = ir.Constant(ir.IntType(1), 1)
        for pointer in self.pointers[len(nest.accesses) - len(nest.stores) :]:
            self.aligned = builder.and_(self.aligned, is_aligned(builder, pointer))
        first = builder.mul(task, per_task)
        stop = _least(builder, builder.add(first, per_task), units)
        self.levels = _levels(nest)
        self.buffers = self.made_buffers(builder)
        self.rooms = self.made_rooms(builder)
        self.tile: tuple[ir.Value, ir.Value] | None = None
        self.values: list[Value] = [()] * len(nest.nodes)
        self.lines: dict[int, Line] = {}
        self.emit_nodes(_ONCE, builder, None)
        loop = GuardedLoop(builder, "unit", first, stop)
        self.emit_unit(loop, (middle_blocks, inner_blocks), (middle_extent, inner_extent))
        loop.close()
        builder.ret_void()

    def made_buffers(self, builder: ir.IRBuilder) -> dict[int, ir.Value]:
        """Memory for parts of results that are written past the caches, by the numbers of their accesses."""
        if not is_buffered(self.nest):
            return {}
        made: dict[int, ir.Value] = {}
        for number in range(len(self.nest.accesses) - len(self.nest.stores), len(self.nest.accesses)):
            made[number] = _room(builder, BUFFER_BYTES)
        return made

    def made_rooms(self, builder: ir.IRBuilder) -> dict[int, ir.Value]:
        """Memory for tiles that are turned on their side, by the numbers of their accesses."""
        made: dict[int, ir.Value] = {}
        for number in turned_accesses(self.nest):
            itemsize = self.nest.accesses[number].element_type.dtype.itemsize
            made[number] = _room(builder, itemsize * tile_extent(self.nest) ** 2 * tiles_together(self.nest))
        return made

    def emit_unit(
        self, loop: GuardedLoop, counts: tuple[ir.Value, ir.Value], extents: tuple[ir.Value, ir.Value]
    ) -> None:
        """One block of the two inner loops."""
        builder = loop.builder
        if is_transposition(self.nest) and streams(self.nest):
            # Hardware reads ahead along the source; what is written past the caches needs no order.
            rest, middle_block = _divided(builder, loop.index, counts[0])
            rest, inner_block = _divided(builder, rest, counts[1])
        else:
            rest, inner_block = _divided(builder, loop.index, counts[1])
            rest, middle_block = _divided(builder, rest, counts[0])
        outer: list[ir.Value] = []
        for size in reversed(self.sizes[1:-2]):
            rest, index = _divided(builder, rest, size)
            outer.insert(0, index)
        if len(self.sizes) > 2:
            outer.insert(0, rest)
        middle = self.block_range(builder, middle_block, extents[0], self.sizes[-2])
        inner = self.block_range(builder, inner_block, extents[1], self.sizes[-1])
        self.emit_rows(builder, outer, middle, inner)

    def block_range(
        self, builder: ir.IRBuilder, block: ir.Value, extent: ir.Value, size: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """The indices of a block: the first, and the one after the last."""
        first = builder.mul(block, extent)
        return first, _least(builder, builder.add(first, extent), size)

    def emit_rows(
        self,
        builder: ir.IRBuilder,
        outer: list[ir.Value],
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
    ) -> None:
        """The two inner loops."""
        if is_transposition(self.nest):
            self.emit_tiles(builder, outer, middle, inner)
        elif self.rooms:
            self.emit_turned(builder, outer, middle, inner)
        else:
            self.emit_row_loop(builder, outer, middle, inner)

    def emit_turned(
        self,
        builder: ir.IRBuilder,
        outer: list[ir.Value],
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
    ) -> None:
        """The two inner loops, a few tiles side by side at a time: what lies along the middle one is first
        turned on its side."""
        extent = tile_extent(self.nest)
        high, wide = (ir.Constant(I64, extent * count) for count in (1, tiles_together(self.nest)))
        rows = GuardedLoop(builder, "tiles", *_tile_range(builder, middle, high))
        columns = GuardedLoop(rows.builder, "tile", *_tile_range(rows.builder, inner, wide))
        here = columns.builder
        row = here.add(here.mul(rows.index, high), middle[0])
        column = here.add(here.mul(columns.index, wide), inner[0])
        after = here.add(row, high), here.add(column, wide)
        whole = here.and_(
            here.icmp_signed("<=", after[0], middle[1]), here.icmp_signed("<=", after[1], inner[1])
        )
        with here.if_else(whole) as (turned, as_it_lies):
            with turned:
                for number in self.rooms:
                    self.emit_turned_tiles(here, outer, number, row, column)
                self.tile = row, column
                self.emit_row_loop(here, outer, (row, after[0]), (column, after[1]))
                self.tile = None
            with as_it_lies:
                one = row, _least(here, after[0], middle[1])
                other = column, _least(here, after[1], inner[1])
                self.emit_row_loop(here, outer, one, other)
        columns.close()
        rows.close()

    def emit_turned_tiles(
        self, builder: ir.IRBuilder, outer: list[ir.Value], number: int, row: ir.Value, column: ir.Value
    ) -> None:
        """Bring the tiles of an operand that begin there to their room."""
        access, strides, extent = self.nest.accesses[number], self.strides[number], tile_extent(self.nest)
        start = _along(builder, ir.Constant(I64, 0), outer, strides)
        source = Side(_element_pointer(builder, access, self.pointers[number], start), strides[-1])
        count = tiles_together(self.nest)
        loop = GuardedLoop(builder, "turned", ir.Constant(I64, 0), ir.Constant(I64, count))
        here = loop.builder
        place = here.mul(loop.index, ir.Constant(I64, extent))
        width = ir.Constant(I64, extent * count)
        room = Side(_element_pointer(here, access, self.rooms[number], place), width)
        itemsize = access.element_type.dtype.itemsize
        emit_turned_tile(here, itemsize, extent, source, room, row, here.add(column, place))
        keep_rolled(loop.close())

    def emit_row_loop(
        self,
        builder: ir.IRBuilder,
        outer: list[ir.Value],
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
    ) -> None:
        """The two inner loops, row by row."""
        rows = GuardedLoop(builder, "row", *middle)
        indices = [*outer, rows.index]
        starts = [
            _along(rows.builder, ir.Constant(I64, 0), indices, strides)
            for access, strides in zip(self.nest.accesses, self.strides, strict=True)
        ]
        self.rows = [
            _element_pointer(rows.builder, access, pointer, start)
            for access, pointer, start in zip(self.nest.accesses, self.pointers, starts, strict=True)
        ]
        if self.tile is not None:
            width = ir.Constant(I64, tile_extent(self.nest) * tiles_together(self.nest))
            line = rows.builder.mul(rows.builder.sub(rows.index, self.tile[0]), width)
            for number, room in self.rooms.items():
                self.rows[number] = _element_pointer(rows.builder, self.nest.accesses[number], room, line)
        for number, access in enumerate(self.nest.accesses):
            neighbour = neighbour_of(self.nest, number)
            if neighbour is not None and (self.tile is None or number not in self.rooms):
                distance = ir.Constant(I64, neighbour.distance)
                first = self.rows[neighbour.access]
                self.rows[number] = _element_pointer(rows.builder, access, first, distance)
        self.row_places = [
            _along(rows.builder, offset, indices, strides)
            for offset, strides in zip(self.offsets, self.index_strides, strict=True)
        ]
        self.emit_nodes(_ROW, rows.builder, None)
        if is_buffered(self.nest) or reads_ahead(self.nest):
            self.emit_parts(rows.builder, inner)
        else:
            self.emit_elements(rows.builder, inner)
        rows.close()

    def emit_elements(self, builder: ir.IRBuilder, inner: tuple[ir.Value, ir.Value]) -> None:
        """The innermost loop."""
        elements = GuardedLoop(builder, "element", *inner)
        self.emit_nodes(_ELEMENT, elements.builder, elements.index)
        self.emit_stores(elements.builder, elements.index)
        branch = elements.close()
        self.mark(elements.body, branch)

    def emit_parts(self, builder: ir.IRBuilder, inner: tuple[ir.Value, ir.Value]) -> None:
        """The innermost loop, part by part: before each, what the next ones read is fetched; from buffers,
        results are written past the caches behind it."""
        results = self.nest.results
        extent = _PART_BYTES // max(access.element_type.dtype.itemsize for access in self.nest.accesses)
        if self.buffers:
            extent = BUFFER_BYTES // max(access.element_type.dtype.itemsize for access in results)
        size, most = builder.sub(inner[1], inner[0]), ir.Constant(I64, extent)
        parts = builder.udiv(builder.add(size, ir.Constant(I64, extent - 1)), most)
        part = GuardedLoop(builder, "part", ir.Constant(I64, 0), parts)
        here = part.builder
        first = here.add(inner[0], here.mul(part.index, most))
        stop = _least(here, here.add(first, most), inner[1])
        if reads_ahead(self.nest):
            for number in read_in_order(self.nest):
                access = self.nest.accesses[number]
                place = _element_pointer(here, access, self.rows[number], first)
                size = extent * access.element_type.dtype.itemsize
                prefetch_after(here, place, size, read_ahead_bytes())
        self.buffered_from = first
        self.emit_elements(here, (first, stop))
        if self.buffers:
            count = here.sub(stop, first)
            for number, access in enumerate(results, len(self.rows) - len(results)):
                target = _element_pointer(here, access, self.rows[number], first)
                itemsize = access.element_type.dtype.itemsize
                copy_past_caches(here, self.buffers[number], target, count, itemsize)
        part.close()

    def emit_tiles(
        self,
        builder: ir.IRBuilder,
        outer: list[ir.Value],
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
    ) -> None:
        """The two inner loops of a transposition: whole tiles in registers, the rest by single elements.

        A target that is written past the caches, and does not begin at a line of cache, gets single ones.
        """
        itemsize = self.nest.accesses[0].element_type.dtype.itemsize
        element = ir.IntType(8 * itemsize)
        bases = [
            builder.gep(
                pointer,
                [_along(builder, ir.Constant(I64, 0), outer, strides)],
                inbounds=True,
                source_etype=element,
            )
            for pointer, strides in zip(self.pointers, self.strides, strict=True)
        ]
        source, target = Side(bases[0], self.strides[0][-1]), Side(bases[1], self.strides[1][-2])
        short = short_side(self.nest)
        if short is None:
            self.emit_square_tiles(builder, source, target, middle, inner)
        elif streams(self.nest):
            with builder.if_else(self.aligned) as (past_caches, as_usual):
                with past_caches:
                    self.emit_short_tiles(builder, source, target, middle, inner, short, True)
                with as_usual:
                    self.emit_short_tiles(builder, source, target, middle, inner, short, False)
        else:
            self.emit_short_tiles(builder, source, target, middle, inner, short, False)

    def emit_short_tiles(
        self,
        builder: ir.IRBuilder,
        source: Side,
        target: Side,
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
        short: ShortSide,
        streamed: bool,
    ) -> None:
        """The same where one of the loops is shorter than a tile."""
        itemsize = self.nest.accesses[0].element_type.dtype.itemsize
        start, stop = middle if short.is_inner else inner
        lanes = ir.Constant(I64, lanes_of(itemsize))
        tiles = builder.udiv(builder.sub(stop, start), lanes)
        loop = GuardedLoop(builder, "tile", ir.Constant(I64, 0), tiles)
        first = loop.builder.add(start, loop.builder.mul(loop.index, lanes))
        emit_short_tile(loop.builder, itemsize, (source, target), *short, first, streamed)
        loop.close()
        rest = builder.add(start, builder.mul(tiles, lanes)), stop
        ranges = (rest, inner) if short.is_inner else (middle, rest)
        self.emit_single_elements(builder, source, target, *ranges)

    def emit_single_elements(
        self,
        builder: ir.IRBuilder,
        source: Side,
        target: Side,
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
    ) -> None:
        """The elements of some indices of the two inner loops of a transposition."""
        itemsize = self.nest.accesses[0].element_type.dtype.itemsize
        one = GuardedLoop(builder, "rest", *middle)
        other = GuardedLoop(one.builder, "element", *inner)
        emit_element(other.builder, itemsize, source, target, one.index, other.index)
        other.close()
        one.close()

    def emit_square_tiles(
        self,
        builder: ir.IRBuilder,
        source: Side,
        target: Side,
        middle: tuple[ir.Value, ir.Value],
        inner: tuple[ir.Value, ir.Value],
    ) -> None:
        """The same where both loops have the extent of a tile, or need not."""
        streamed = streams(self.nest)
        itemsize = self.nest.accesses[0].element_type.dtype.itemsize
        lanes = ir.Constant(I64, lanes_of(itemsize))
        slow, fast = (inner, middle) if streamed else (middle, inner)
        rows = GuardedLoop(builder, "tiles", *_tile_range(builder, slow, lanes))
        columns = GuardedLoop(rows.builder, "tile", *_tile_range(rows.builder, fast, lanes))
        here = columns.builder
        first = [
            here.add(here.mul(loop.index, lanes), start)
            for loop, (start, _) in ((rows, slow), (columns, fast))
        ]
        first = first[::-1] if streamed else first
        after = [here.add(start, lanes) for start in first]
        whole = here.and_(
            here.icmp_signed("<=", after[0], middle[1]), here.icmp_signed("<=", after[1], inner[1])
        )
        if streamed:
            whole = here.and_(whole, self.aligned)
        with here.if_else(whole) as (in_registers, one_by_one):
            with in_registers:
                emit_tile(here, itemsize, source, target, first[0], first[1], streamed)
            with one_by_one:
                one = first[0], _least(here, after[0], middle[1])
                other = first[1], _least(here, after[1], inner[1])
                self.emit_single_elements(here, source, target, one, other)
        columns.close()
        rows.close()

    def emit_nodes(self, level: int, builder: ir.IRBuilder, index: ir.Value | None) -> None:
        """The nodes that are computed at one level."""
        for number, node in enumerate(self.nest.nodes):
            if self.levels[number] != level:
                continue
            if isinstance(node, Apply):
                operands = [self.values[operand] for operand in node.operands]
                self.values[number] = emit(builder, node.operation, operands)
            elif isinstance(node, Constant):
                self.values[number] = constant(node.element_type, node.value)
            elif isinstance(node, Index):
                self.values[number] = self.number(builder, node, level, index)
            else:
                line = self.line(builder, node, level, index)
                if self.nest.line > 1 and number in self.nest.stores:
                    self.lines[number] = line
                else:
                    self.values[number] = _loaded(builder, self.nest.accesses[node.access], line)

    def line(self, builder: ir.IRBuilder, node: Load | Gather, level: int, index: ir.Value | None) -> Line:
        """Where an element lies, and what may take its place."""
        access, strides = self.nest.accesses[node.access], self.strides[node.access]
        pointer = self.pointers[node.access] if level == _ONCE else self.rows[node.access]
        inside, fill = None, None
        if isinstance(node, Gather):
            fill = node.fill
            offset, inside = moved(builder, node, self.values, self.nest.starts, self.starts)
            if index is not None and any(self.levels[moving.node] == _ELEMENT for moving in node.moving):
                kind = stride_kind(access.place.strides[-1])
                offset = with_step(builder, offset, index, strides[-1], kind)
                index = None
            pointer = _element_pointer(builder, access, pointer, builder.sext(offset, I64))
        if index is not None:
            known = access.place.strides[-1]
            if self.tile is not None and node.access in self.rooms:
                index = builder.sub(index, self.tile[1])
                return Line(_element_pointer(builder, access, pointer, index))
            stride = ir.Constant(I64, known) if abs(known) <= MOST_KNOWN_STRIDE else strides[-1]
            pointer = self.pointer(builder, access, pointer, stride, index)
        return Line(pointer, inside, () if fill is None else self.values[fill])

    def number(self, builder: ir.IRBuilder, node: Index, level: int, index: ir.Value | None) -> Value:
        """The value of an index."""
        place = self.offsets[node.place] if level == _ONCE else self.row_places[node.place]
        if index is not None:
            stride = self.nest.indices[node.place].strides[-1]
            step = index if stride == 1 else builder.mul(index, self.index_strides[node.place][-1])
            place = builder.add(place, step)
        return _converted(builder, node.element_type, place)

    def emit_stores(self, builder: ir.IRBuilder, index: ir.Value) -> None:
        """Write the results' elements."""
        first = len(self.nest.accesses) - len(self.nest.stores)
        for number, node in enumerate(self.nest.stores, first):
            access = self.nest.accesses[number]
            if self.buffers:
                place = builder.sub(index, self.buffered_from)
                pointer = _element_pointer(builder, access, self.buffers[number], place)
            else:
                # Stores near each other that leave some out LLVM would take apart.
                stride = self.strides[number][-1]
                if writes_lines(self.nest):
                    stride = ir.Constant(I64, access.place.strides[-1])
                pointer = self.pointer(builder, access, self.rows[number], stride, index)
            if self.nest.line > 1:
                self.emit_line(builder, access, self.lines[node], pointer)
            else:
                store(builder, access.element_type, self.values[node], pointer)

    def emit_line(self, builder: ir.IRBuilder, access: Access, line: Line, target: ir.Value) -> None:
        """Copy a line to its place."""
        if not streams(self.nest):
            copy_line(builder, access.element_type, self.nest.line, line, target)
            return
        with builder.if_else(self.aligned) as (past_caches, as_usual):
            with past_caches:
                copy_line(builder, access.element_type, self.nest.line, line, target, streamed=True)
            with as_usual:
                copy_line(builder, access.element_type, self.nest.line, line, target)

    def pointer(
        self, builder: ir.IRBuilder, access: Access, row: ir.Value, stride: ir.Value, index: ir.Value
    ) -> ir.Value:
        """The place of an element in its row."""
        known = access.place.strides[-1]
        if known == -1:
            index = builder.neg(index)
        elif known != 1:
            index = builder.mul(index, stride, flags=("nsw",))
        return _element_pointer(builder, access, row, index)

    def mark(self, body: ir.Block, branch: ir.Instruction) -> None:
        """Tell LLVM that no element's accesses depend on another element's."""
        group = self.module.add_metadata([_GROUP])
        parallel = self.module.add_metadata(["llvm.loop.parallel_accesses", group])
        properties: list[str | ir.MDValue] = [DISTINCT_LOOP, parallel]
        count = side_by_side(self.applied_to_elements())
        if count:
            properties.append(interleaved(self.module, count))
        branch.set_metadata("llvm.loop", self.module.add_metadata(properties))
        for instruction in body.instructions:
            if isinstance(instruction, (ir.instructions.LoadInstr, ir.instructions.StoreInstr)):
                instruction.set_metadata("llvm.access.group", group)

    def applied_to_elements(self) -> list[Operation]:
        """The operations in the innermost loop."""
        nodes = zip(self.nest.nodes, self.levels, strict=True)
        return [node.operation for node, level in nodes if level == _ELEMENT and isinstance(node, Apply)]


def _room(builder: ir.IRBuilder, nbytes: int) -> ir.Value:
    """Memory of a task's own."""
    room = builder.alloca(ir.ArrayType(ir.IntType(8), nbytes))
    room.align = CACHE_LINE
    # llvmlite knows no other way to a pointer of no type, as all others here are.
    return builder.inttoptr(builder.ptrtoint(room, I64), _POINTER)


def _element_pointer(builder: ir.IRBuilder, access: Access, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """The place so many elements further."""
    return builder.gep(pointer, [offset], inbounds=True, source_etype=stored_type(access.element_type))


def _loaded(builder: ir.IRBuilder, access: Access, line: Line) -> Value:
    """The one element of a line."""
    value = load(builder, access.element_type, line.pointer)
    if line.inside is None:
        return value
    return tuple([builder.select(line.inside, a, b) for a, b in zip(value, line.fill, strict=True)])


_GROUP = "access group"
"""Stands for metadata that has to be distinct, which llvmlite cannot say."""


def _marked_parallel(text: str) -> str:
    return re.sub(rf'(![0-9]+) = !{{ !"{_GROUP}" }}', r"\1 = distinct !{}", text)


def _tile_range(
    builder: ir.IRBuilder, indices: tuple[ir.Value, ir.Value], lanes: ir.Constant
) -> tuple[ir.Value, ir.Value]:
    """The numbers of the tiles that cover a range of indices, counted from its first one."""
    count = builder.add(builder.sub(indices[1], indices[0]), ir.Constant(I64, lanes.constant - 1))
    return ir.Constant(I64, 0), builder.udiv(count, lanes)


def _least(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _divided(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Quotient and remainder."""
    quotient = builder.udiv(a, b)
    return quotient, builder.sub(a, builder.mul(quotient, b))


def _along(
    builder: ir.IRBuilder, start: ir.Value, indices: Sequence[ir.Value], strides: Sequence[ir.Value]
) -> ir.Value:
    """An affine place without its innermost loop."""
    for index, stride in zip(indices, strides, strict=False):
        start = builder.add(start, builder.mul(index, stride, flags=("nsw",)), flags=("nsw",))
    return start


_I64 = ELEMENT_TYPES["i64"]


def _converted(builder: ir.IRBuilder, element_type: ElementType, place: ir.Value) -> Value:
    """A number as an element of that type, as `convert` gives it."""
    if element_type is _I64:
        return (place,)
    (source,) = Operation("", (), [TensorType((), _I64)]).results
    conversion = Operation("stablehlo.convert", [source], [TensorType((), element_type)])
    return emit(builder, conversion, [(place,)])
