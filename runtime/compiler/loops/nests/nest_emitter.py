"""A loop nest as LLVM IR: one task, `void (int64 task, int64 *closure)`.

The closure holds a pointer for each access, then the values of `integer_args`. A task computes a range of
blocks; a block is a tile of the two inner loops at one index of the others. The nest's shape alone decides
which elements are in which block, and which blocks in which task.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from llvmlite import ir

from ....kernels.launch.processor import prefetch_distance_bytes
from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ....kernels.simd.prefetches import prefetch_address
from ....program.ir import Operation
from ....types import ELEMENT_TYPES, ElementType, TensorType
from ..chunks import prefetch_chunk
from ..element_costs import interleave_count
from ..elementwise.rules import emit
from ..llvm.functions import aligned_scratch, opaque
from ..llvm.loops import (
    ACCESS_GROUP,
    DISTINCT_LOOP,
    GuardedLoop,
    IndexRange,
    disable_unrolling,
    interleaved,
    min_index,
)
from ..llvm.module_text import text_of
from ..llvm.tasks import begin_task
from ..llvm.values import BIT, I8, I32, I64, Value, constant, load, store, stored_type, to_register
from ..llvm.vector_loops import add_quick_vectors
from ..llvm.vector_variants import SHORT_ENTRIES, settled, short_entry
from .contiguous_copy import copy_slice
from .emission_plan import BlockShape, block_count, emission_plan, tile_extent
from .gathering import StartIndexArgs, add_strided, gather_offset
from .nest import (
    MAX_CONSTANT_STRIDE,
    Access,
    Apply,
    Constant,
    Gather,
    Iota,
    Load,
    Nest,
    map_stride_class,
    operand_nodes,
    stride_class,
)
from .nontemporal_stores import copy_nontemporal, is_aligned
from .transposition import TileOperand, emit_tile
from .transposition_emitter import TranspositionEmitter, tile_range

NAME = "nest"
_LINES_AHEAD = 128
"""Cache lines of gathered slices that are prefetched ahead."""
_MAX_PREFETCHED_LINES = 8
"""Cache lines of one slice that are prefetched; the hardware prefetcher follows from there."""
_ONCE, _ROW, _ELEMENT = range(3)
"""Levels at which a node is computed: before all loops, before the innermost one, or in it."""


def integer_args(nest: Nest, blocks: BlockShape, blocks_per_task: int) -> tuple[int, ...]:
    """The closure's integers, which follow its pointers, for a scheduled nest."""
    block_counts = [-(-size // extent) for size, extent in zip(nest.sizes[-2:], blocks, strict=True)]
    args = [block_count(nest, blocks), blocks_per_task, *block_counts, *blocks, *nest.sizes]
    for access in nest.accesses:
        args += access.index_map.strides
    for index_map in nest.iota_maps:
        args += [index_map.offset, *index_map.strides]
    for start in nest.start_indices:
        args += start
    return tuple(args)


def nest_ir(nest: Nest, vectors: int | None = None) -> str:
    """The LLVM IR of a module that defines the task `NAME` of a scheduled nest.

    Args:
        nest: the nest.
        vectors: how many an iteration of the innermost loop computes; None: `interleave_count` decides.
    """
    return text_of(_Emitter(nest, vectors).module)


def _levels(nest: Nest) -> list[int]:
    levels: list[int] = []
    for node in nest.nodes:
        level = _ONCE
        if not isinstance(node, (Apply, Constant)):
            index_map = (
                nest.iota_maps[node.index_map]
                if isinstance(node, Iota)
                else nest.accesses[node.access].index_map
            )
            level = {".": _ONCE, "0": _ROW}.get(map_stride_class(index_map), _ELEMENT)
        levels.append(max([level, *[levels[other] for other in operand_nodes(node)]]))
    return levels


class _Emitter:
    """Generates one nest."""

    def __init__(self, nest: Nest, vectors: int | None) -> None:
        self.nest, self.vectors = nest, vectors
        self.plan = emission_plan(nest)
        self.module = ir.Module(NAME)
        builder, task, args = begin_task(
            self.module, NAME, len(nest.accesses), len(integer_args(nest, BlockShape(1, 1), 1))
        )
        self.pointers, integers = args[: len(nest.accesses)], iter(args[len(nest.accesses) :])
        block_total, blocks_per_task, middle_blocks, inner_blocks, middle_extent, inner_extent = islice(
            integers, 6
        )
        rank = len(nest.sizes)
        self.sizes = list(islice(integers, rank))
        self.strides = [list(islice(integers, rank)) for _ in nest.accesses]
        self.offsets: list[ir.Value] = []
        self.index_strides: list[list[ir.Value]] = []
        for _ in nest.iota_maps:
            self.offsets.append(next(integers))
            self.index_strides.append(list(islice(integers, rank)))
        self.start_indices = [StartIndexArgs(*islice(integers, 2)) for _ in nest.start_indices]
        self.aligned = BIT(1)
        for pointer in self.pointers[len(nest.accesses) - len(nest.stores) :]:
            self.aligned = builder.and_(self.aligned, is_aligned(builder, pointer))
        self.transposition = TranspositionEmitter(nest, self.plan, self.sizes, self.aligned)
        first = builder.mul(task, blocks_per_task)
        stop = min_index(builder, builder.add(first, blocks_per_task), block_total)
        self.levels = _levels(nest)
        self.buffers = self.allocate_buffers(builder)
        self.transposed_tiles = self.allocate_transposed_tiles(builder)
        self.tables = {number: self.copy_table(builder, number) for number in self.plan.tables}
        self.tile: tuple[ir.Value, ir.Value] | None = None
        self.values: list[Value] = [()] * len(nest.nodes)
        self.slices: dict[int, ir.Value] = {}
        self.emit_nodes(_ONCE, builder, None)
        loop = GuardedLoop(builder, "blocks", first, stop)
        self.emit_block(loop, (middle_blocks, inner_blocks), (middle_extent, inner_extent))
        loop.close()
        builder.ret_void()

    def allocate_buffers(self, builder: ir.IRBuilder) -> dict[int, ir.Value]:
        """Buffers of results that are copied with nontemporal stores, by access number."""
        if not self.plan.buffered:
            return {}
        buffers: dict[int, ir.Value] = {}
        for number in range(len(self.nest.accesses) - len(self.nest.stores), len(self.nest.accesses)):
            itemsize = self.nest.accesses[number].element_type.dtype.itemsize
            buffers[number] = _stack_scratch(builder, self.plan.chunk_elements * itemsize)
        return buffers

    def allocate_transposed_tiles(self, builder: ir.IRBuilder) -> dict[int, ir.Value]:
        """Scratch memory for transposed tiles, by access number."""
        scratch: dict[int, ir.Value] = {}
        for number in self.plan.transposed:
            itemsize = self.nest.accesses[number].element_type.dtype.itemsize
            scratch[number] = _stack_scratch(
                builder, itemsize * tile_extent(self.nest) ** 2 * self.plan.tiles
            )
        return scratch

    def copy_table(self, builder: ir.IRBuilder, number: int) -> ir.Value:
        """Copy the array of a node of `EmissionPlan.tables` to where its vectors can be read whole."""
        node = self.nest.nodes[number]
        assert isinstance(node, Gather)
        max_index = self.start_indices[node.indices[0].start_index].max_index
        table = _stack_scratch(builder, SHORT_ENTRIES * 4)
        entries = GuardedLoop(builder, "entries", I64(0), I64(SHORT_ENTRIES))
        body = entries.builder
        index = min_index(body, entries.index, max_index)
        bits = body.load(body.gep(self.pointers[node.access], [index], source_etype=I32), typ=I32)
        body.store(bits, body.gep(table, [entries.index], source_etype=I32))
        disable_unrolling(entries.close())
        return settled(builder, table)

    def emit_block(
        self, loop: GuardedLoop, counts: tuple[ir.Value, ir.Value], extents: tuple[ir.Value, ir.Value]
    ) -> None:
        """One block of the two inner loops."""
        builder = loop.builder
        if self.plan.is_transposition and self.plan.nontemporal:
            # Follow the source, along which hardware prefetches; nontemporal stores need no order.
            rest, middle_block = _divmod(builder, loop.index, counts[0])
            rest, inner_block = _divmod(builder, rest, counts[1])
        else:
            rest, inner_block = _divmod(builder, loop.index, counts[1])
            rest, middle_block = _divmod(builder, rest, counts[0])
        outer: list[ir.Value] = []
        for size in reversed(self.sizes[1:-2]):
            rest, index = _divmod(builder, rest, size)
            outer.insert(0, index)
        if len(self.sizes) > 2:
            outer.insert(0, rest)
        middle = self.block_range(builder, middle_block, extents[0], self.sizes[-2])
        inner = self.block_range(builder, inner_block, extents[1], self.sizes[-1])
        self.emit_rows(builder, outer, middle, inner)

    def block_range(
        self, builder: ir.IRBuilder, block: ir.Value, extent: ir.Value, size: ir.Value
    ) -> IndexRange:
        """The index range [first, stop) of a block."""
        first = builder.mul(block, extent)
        return first, min_index(builder, builder.add(first, extent), size)

    def emit_rows(
        self, builder: ir.IRBuilder, outer: list[ir.Value], middle: IndexRange, inner: IndexRange
    ) -> None:
        """The two inner loops."""
        if self.plan.is_transposition:
            source, target = [
                _element_pointer(builder, access, pointer, _affine_offset(builder, I64(0), outer, strides))
                for access, pointer, strides in zip(
                    self.nest.accesses, self.pointers, self.strides, strict=True
                )
            ]
            self.transposition.emit(
                builder,
                TileOperand(source, self.strides[0][-1]),
                TileOperand(target, self.strides[1][-2]),
                middle,
                inner,
            )
        elif self.transposed_tiles:
            self.emit_with_transposed_tiles(builder, outer, middle, inner)
        else:
            self.emit_row_loop(builder, outer, middle, inner)

    def emit_with_transposed_tiles(
        self, builder: ir.IRBuilder, outer: list[ir.Value], middle: IndexRange, inner: IndexRange
    ) -> None:
        """The two inner loops, a few adjacent tiles at a time: operands contiguous along the middle loop are
        first transposed into scratch memory."""
        extent = tile_extent(self.nest)
        tile_rows, tile_columns = (I64(extent * count) for count in (1, self.plan.tiles))
        rows = GuardedLoop(builder, "tiles", *tile_range(builder, middle, tile_rows))
        columns = GuardedLoop(rows.builder, "tile", *tile_range(rows.builder, inner, tile_columns))
        body = columns.builder
        row = body.add(body.mul(rows.index, tile_rows), middle[0])
        column = body.add(body.mul(columns.index, tile_columns), inner[0])
        ends = body.add(row, tile_rows), body.add(column, tile_columns)
        is_full = body.and_(
            body.icmp_signed("<=", ends[0], middle[1]), body.icmp_signed("<=", ends[1], inner[1])
        )
        with body.if_else(is_full) as (transposed, strided):
            with transposed:
                for number in self.transposed_tiles:
                    self.transpose_tiles(body, outer, number, row, column)
                self.tile = row, column
                self.emit_row_loop(body, outer, (row, ends[0]), (column, ends[1]))
                self.tile = None
            with strided:
                rows_range = row, min_index(body, ends[0], middle[1])
                columns_range = column, min_index(body, ends[1], inner[1])
                self.emit_row_loop(body, outer, rows_range, columns_range)
        columns.close()
        rows.close()

    def transpose_tiles(
        self, builder: ir.IRBuilder, outer: list[ir.Value], number: int, row: ir.Value, column: ir.Value
    ) -> None:
        """Transpose the tiles of an operand that begin at an element into scratch memory."""
        access, strides, extent = self.nest.accesses[number], self.strides[number], tile_extent(self.nest)
        start = _affine_offset(builder, I64(0), outer, strides)
        source = TileOperand(_element_pointer(builder, access, self.pointers[number], start), strides[-1])
        count = self.plan.tiles
        loop = GuardedLoop(builder, "transposed", I64(0), I64(count))
        body = loop.builder
        offset = body.mul(loop.index, I64(extent))
        width = I64(extent * count)
        tile = TileOperand(_element_pointer(body, access, self.transposed_tiles[number], offset), width)
        itemsize = access.element_type.dtype.itemsize
        first = body.add(column, offset)
        self.transposition.prefetch_later_tile(body, itemsize, source, (row, first), False)
        emit_tile(body, itemsize, extent, source, tile, row, first)
        disable_unrolling(loop.close())

    def emit_row_loop(
        self, builder: ir.IRBuilder, outer: list[ir.Value], middle: IndexRange, inner: IndexRange
    ) -> None:
        """The two inner loops, row by row."""
        rows = GuardedLoop(builder, "row", *middle)
        indices = [*outer, rows.index]
        row_offsets = [
            _affine_offset(rows.builder, I64(0), indices, strides)
            for access, strides in zip(self.nest.accesses, self.strides, strict=True)
        ]
        self.rows = [
            _element_pointer(rows.builder, access, pointer, offset)
            for access, pointer, offset in zip(self.nest.accesses, self.pointers, row_offsets, strict=True)
        ]
        if self.tile is not None:
            width = I64(tile_extent(self.nest) * self.plan.tiles)
            tile_row_offset = rows.builder.mul(rows.builder.sub(rows.index, self.tile[0]), width)
            for number, scratch in self.transposed_tiles.items():
                self.rows[number] = _element_pointer(
                    rows.builder, self.nest.accesses[number], scratch, tile_row_offset
                )
        for number, access in enumerate(self.nest.accesses):
            interleaved_with = self.plan.interleaved[number]
            if interleaved_with is not None and (self.tile is None or number not in self.transposed_tiles):
                distance = I64(interleaved_with.distance)
                first = self.rows[interleaved_with.access]
                self.rows[number] = _element_pointer(rows.builder, access, first, distance)
        self.row_iotas = [
            _affine_offset(rows.builder, offset, indices, strides)
            for offset, strides in zip(self.offsets, self.index_strides, strict=True)
        ]
        self.emit_nodes(_ROW, rows.builder, None)
        if self.plan.chunk_elements:
            self.emit_chunks(rows.builder, inner)
        else:
            self.emit_elements(rows.builder, inner)
        rows.close()

    def emit_elements(self, builder: ir.IRBuilder, inner: IndexRange) -> None:
        elements = GuardedLoop(builder, "element", *inner)
        self.prefetch_slices(elements.builder, elements.index)
        self.emit_nodes(_ELEMENT, elements.builder, elements.index)
        self.emit_stores(elements.builder, elements.index)
        is_one_block = elements.builder.block is elements.body
        branch = elements.close()
        if is_one_block:
            add_quick_vectors(elements)
        self.mark_parallel(elements.body, branch)

    def prefetch_slices(self, builder: ir.IRBuilder, index: ir.Value) -> None:
        """Prefetch gathered slices that the innermost loop copies later."""
        if not self.plan.prefetched_slices:
            return
        last = builder.sub(self.sizes[-1], I64(1))
        for number in self.plan.prefetched_slices:
            node = self.nest.nodes[number]
            assert isinstance(node, Gather)
            if all(self.levels[start.node] != _ELEMENT for start in node.indices):
                continue
            itemsize = self.nest.accesses[node.access].element_type.dtype.itemsize
            lines = min(-(-self.nest.slice_length * itemsize // CACHE_LINE_BYTES), _MAX_PREFETCHED_LINES)
            distance = I64(_LINES_AHEAD // lines)
            # The nodes of a later index are emitted for the slice's address alone; LLVM removes the others.
            values, self.values = self.values, list(self.values)
            self.emit_nodes(_ELEMENT, builder, min_index(builder, builder.add(index, distance), last))
            self.values = values
            for line in range(lines):
                offset = I64(line * CACHE_LINE_BYTES)
                address = builder.gep(self.slices[number], [offset], source_etype=I8)
                prefetch_address(builder, address, locality=2)

    def emit_chunks(self, builder: ir.IRBuilder, inner: IndexRange) -> None:
        """The innermost loop by chunks: before each, operands of a later one are prefetched; after it, its
        buffered results are copied with nontemporal stores."""
        extent = I64(self.plan.chunk_elements)
        size = builder.sub(inner[1], inner[0])
        chunk_count = builder.udiv(builder.add(size, I64(self.plan.chunk_elements - 1)), extent)
        chunk = GuardedLoop(builder, "chunks", I64(0), chunk_count)
        body = chunk.builder
        first = body.add(inner[0], body.mul(chunk.index, extent))
        stop = min_index(body, body.add(first, extent), inner[1])
        self.buffer_start = first
        for number in self.plan.prefetched_operands:
            access = self.nest.accesses[number]
            address = _element_pointer(body, access, self.rows[number], first)
            nbytes = self.plan.chunk_elements * access.element_type.dtype.itemsize
            prefetch_chunk(body, address, prefetch_distance_bytes(), nbytes)
        self.emit_elements(body, (first, stop))
        count = body.sub(stop, first)
        for number, buffer in self.buffers.items():
            access = self.nest.accesses[number]
            target = _element_pointer(body, access, self.rows[number], first)
            copy_nontemporal(body, buffer, target, count, access.element_type.dtype.itemsize)
        chunk.close()

    def emit_nodes(self, level: int, builder: ir.IRBuilder, index: ir.Value | None) -> None:
        for number, node in enumerate(self.nest.nodes):
            if self.levels[number] != level:
                continue
            if isinstance(node, Apply):
                operands = [self.values[operand] for operand in node.operands]
                self.values[number] = emit(builder, node.operation, operands)
            elif isinstance(node, Constant):
                self.values[number] = constant(node.element_type, node.value)
            elif isinstance(node, Iota):
                self.values[number] = self.iota_value(builder, node, level, index)
            elif number in self.tables and isinstance(node, Gather):
                self.values[number] = self.looked_up(builder, number, node)
            else:
                address = self.element_slice(builder, node, level, index)
                if self.nest.slice_length > 1 and number in self.nest.stores:
                    self.slices[number] = address
                else:
                    element_type = self.nest.accesses[node.access].element_type
                    self.values[number] = load(builder, element_type, address)

    def looked_up(self, builder: ir.IRBuilder, number: int, node: Gather) -> Value:
        """The entry of a table."""
        index = gather_offset(builder, node, self.values, self.nest.start_indices, self.start_indices)
        bits = short_entry(builder, self.tables[number], index)
        element_type = self.nest.accesses[node.access].element_type
        return (to_register(builder, element_type, builder.bitcast(bits, stored_type(element_type))),)

    def element_slice(
        self, builder: ir.IRBuilder, node: Load | Gather, level: int, index: ir.Value | None
    ) -> ir.Value:
        """The address of a node's element or slice."""
        access, strides = self.nest.accesses[node.access], self.strides[node.access]
        pointer = self.pointers[node.access] if level == _ONCE else self.rows[node.access]
        if isinstance(node, Gather):
            offset = gather_offset(builder, node, self.values, self.nest.start_indices, self.start_indices)
            if index is not None and any(self.levels[indices.node] == _ELEMENT for indices in node.indices):
                innermost_class = stride_class(access.index_map.strides[-1])
                offset = add_strided(builder, offset, index, strides[-1], innermost_class)
                index = None
            pointer = _element_pointer(builder, access, pointer, builder.sext(offset, I64))
        if index is not None:
            constant_stride = access.index_map.strides[-1]
            if self.tile is not None and node.access in self.transposed_tiles:
                index = builder.sub(index, self.tile[1])
                return _element_pointer(builder, access, pointer, index)
            stride = I64(constant_stride) if abs(constant_stride) <= MAX_CONSTANT_STRIDE else strides[-1]
            pointer = self.pointer(builder, access, pointer, stride, index)
        return pointer

    def iota_value(self, builder: ir.IRBuilder, node: Iota, level: int, index: ir.Value | None) -> Value:
        value = self.offsets[node.index_map] if level == _ONCE else self.row_iotas[node.index_map]
        if index is not None:
            stride = self.nest.iota_maps[node.index_map].strides[-1]
            scaled = index if stride == 1 else builder.mul(index, self.index_strides[node.index_map][-1])
            value = builder.add(value, scaled)
        return _convert_index(builder, node.element_type, value)

    def emit_stores(self, builder: ir.IRBuilder, index: ir.Value) -> None:
        """Write the results' elements."""
        first = len(self.nest.accesses) - len(self.nest.stores)
        for number, node in enumerate(self.nest.stores, first):
            access = self.nest.accesses[number]
            if self.buffers:
                offset = builder.sub(index, self.buffer_start)
                pointer = _element_pointer(builder, access, self.buffers[number], offset)
            else:
                # LLVM scatters interleaved stores with gaps, so only gapless ones get a constant stride.
                stride = self.strides[number][-1]
                if self.plan.interleaves_stores:
                    stride = I64(access.index_map.strides[-1])
                pointer = self.pointer(builder, access, self.rows[number], stride, index)
            if self.nest.slice_length > 1:
                self.emit_slice_copy(builder, access, self.slices[node], pointer)
            else:
                store(builder, access.element_type, self.values[node], pointer)

    def emit_slice_copy(
        self, builder: ir.IRBuilder, access: Access, source: ir.Value, target: ir.Value
    ) -> None:
        if not self.plan.nontemporal:
            copy_slice(builder, access.element_type, self.nest.slice_length, source, target)
            return
        with builder.if_else(self.aligned) as (nontemporal, temporal):
            with nontemporal:
                copy_slice(
                    builder, access.element_type, self.nest.slice_length, source, target, nontemporal=True
                )
            with temporal:
                copy_slice(builder, access.element_type, self.nest.slice_length, source, target)

    def pointer(
        self, builder: ir.IRBuilder, access: Access, row: ir.Value, stride: ir.Value, index: ir.Value
    ) -> ir.Value:
        """The address of an element in its row."""
        constant_stride = access.index_map.strides[-1]
        if constant_stride == -1:
            index = builder.neg(index)
        elif constant_stride != 1:
            index = builder.mul(index, stride, flags=("nsw",))
        return _element_pointer(builder, access, row, index)

    def mark_parallel(self, body: ir.Block, branch: ir.Instruction) -> None:
        """Mark a loop's memory accesses as parallel: no iteration depends on another one."""
        group = self.module.add_metadata([ACCESS_GROUP])
        parallel = self.module.add_metadata(["llvm.loop.parallel_accesses", group])
        properties: list[str | ir.MDValue] = [DISTINCT_LOOP, parallel]
        count = self.vectors or interleave_count(self.innermost_operations())
        if count:
            properties.append(interleaved(self.module, count))
        branch.set_metadata("llvm.loop", self.module.add_metadata(properties))
        for instruction in body.instructions:
            if isinstance(instruction, (ir.instructions.LoadInstr, ir.instructions.StoreInstr)):
                instruction.set_metadata("llvm.access.group", group)

    def innermost_operations(self) -> list[Operation]:
        nodes = zip(self.nest.nodes, self.levels, strict=True)
        return [node.operation for node, level in nodes if level == _ELEMENT and isinstance(node, Apply)]


def _stack_scratch(builder: ir.IRBuilder, nbytes: int) -> ir.Value:
    """Stack memory of a task."""
    return opaque(aligned_scratch(builder, I8, nbytes))


def _element_pointer(builder: ir.IRBuilder, access: Access, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """The address `offset` elements after a pointer."""
    return builder.gep(pointer, [offset], inbounds=True, source_etype=stored_type(access.element_type))


def _divmod(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Quotient and remainder."""
    quotient = builder.udiv(a, b)
    return quotient, builder.sub(a, builder.mul(quotient, b))


def _affine_offset(
    builder: ir.IRBuilder, start: ir.Value, indices: Sequence[ir.Value], strides: Sequence[ir.Value]
) -> ir.Value:
    """The value of an affine map without its innermost loop."""
    for index, stride in zip(indices, strides, strict=False):
        start = builder.add(start, builder.mul(index, stride, flags=("nsw",)), flags=("nsw",))
    return start


_I64 = ELEMENT_TYPES["i64"]


def _convert_index(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> Value:
    """An index converted to an element type, as `convert` does."""
    if element_type is _I64:
        return (value,)
    (source,) = Operation("", (), [TensorType((), _I64)]).results
    conversion = Operation("stablehlo.convert", [source], [TensorType((), element_type)])
    return emit(builder, conversion, [(value,)])
