"""Tiles of a transposition in registers: load rows of the source, shuffle, store rows of the result.

An item of a tile may be several elements of an array, and is only aligned as these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llvmlite import ir

from ....kernels.named_tuples import NamedTuple
from ....kernels.simd.prefetches import prefetch_address
from ..llvm.functions import internal_function
from ..llvm.lanes import shuffle_lanes
from ..llvm.loops import Loop, min_index
from ..llvm.values import I64, POINTER
from .nontemporal_stores import store_nontemporal

_VECTOR_BYTES = 64
_MAX_LANES = 16
_ALIGNMENT = 1
"""Bytes of alignment of all loads and stores; a larger one makes them no faster."""
MAX_TILED_ITEMSIZE = 8
"""Bytes of the largest elements that are transposed in vectors."""


class TileOperand(NamedTuple):
    """One of the two arrays: its first element, and the stride in elements of the loop along which it is not
    contiguous."""

    pointer: ir.Value
    stride: ir.Value


def tile_lanes(itemsize: int) -> int:
    """Extent of a tile in elements of that many bytes."""
    return min(_MAX_LANES, _VECTOR_BYTES // itemsize)


def emit_tile(
    builder: ir.IRBuilder,
    itemsize: int,
    extent: int,
    source: TileOperand,
    target: TileOperand,
    middle: ir.Value,
    inner: ir.Value,
    rows: int | None = None,
    nontemporal: bool = False,
) -> None:
    """Transpose one tile of `extent` by `extent` elements: the source is contiguous along the middle loop.

    Args:
        target: where the tile begins, contiguous along the inner loop.
        middle, inner: the indices of the tile's first element in the source.
        rows: how many rows of the target are written; None: all.
        nontemporal: use nontemporal stores; the target's rows are aligned to a vector then.
    """
    element = ir.IntType(8 * itemsize)
    for lane, column in enumerate(_columns(builder, itemsize, extent, source, middle, inner)[:rows]):
        offset = builder.mul(I64(lane), target.stride)
        pointer = builder.gep(target.pointer, [offset], inbounds=True, source_etype=element)
        _store(builder, column, pointer, extent * itemsize, nontemporal)


def prefetch_tile(
    builder: ir.IRBuilder, itemsize: int, source: TileOperand, middle: ir.Value, inner: ir.Value
) -> None:
    """Prefetch the tile of the source that begins at an element into L2; it may lie outside of the array.

    A tile has a cache line of each row; the hardware prefetcher follows few rows at a time.
    """
    for pointer in _row_pointers(builder, itemsize, tile_lanes(itemsize), source, middle, inner):
        prefetch_address(builder, pointer, locality=2)


def _store(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, nbytes: int, nontemporal: bool) -> None:
    if nontemporal:
        store_nontemporal(builder, value, pointer, nbytes)
    else:
        builder.store(value, pointer, align=_ALIGNMENT)


def _columns(
    builder: ir.IRBuilder, itemsize: int, extent: int, source: TileOperand, middle: ir.Value, inner: ir.Value
) -> list[ir.Value]:
    """A tile that is contiguous along the middle loop, as vectors along the inner one."""
    vector = ir.VectorType(ir.IntType(8 * itemsize), extent)
    pointers = _row_pointers(builder, itemsize, extent, source, middle, inner)
    rows = [builder.load(pointer, typ=vector, align=_ALIGNMENT) for pointer in pointers]
    return _transpose_square(builder, rows)


def _row_pointers(
    builder: ir.IRBuilder, itemsize: int, extent: int, source: TileOperand, middle: ir.Value, inner: ir.Value
) -> Iterator[ir.Value]:
    """The addresses of the first elements of a tile's rows in the source."""
    element = ir.IntType(8 * itemsize)
    for lane in range(extent):
        index = builder.add(inner, I64(lane))
        offset = builder.add(builder.mul(index, source.stride), middle)
        yield builder.gep(source.pointer, [offset], source_etype=element)


def emit_short_tile(
    builder: ir.IRBuilder,
    itemsize: int,
    sides: tuple[TileOperand, TileOperand],
    size: int,
    is_inner: bool,
    first: ir.Value,
    nontemporal: bool,
) -> None:
    """Transpose a tile one of whose loops is shorter than a vector.

    Args:
        sides: the source and the target.
        size: extent of the short loop.
        is_inner: whether that is the inner loop, along which the target is contiguous.
        first: the tile's first index of the other loop.
        nontemporal: use nontemporal stores; the target's rows are aligned to a vector then.
    """
    lanes = tile_lanes(itemsize)
    element = ir.IntType(8 * itemsize)
    vector = ir.VectorType(element, lanes)
    source, target = sides

    def vector_pointers(side: TileOperand, are_rows: bool) -> list[ir.Value]:
        """Pointers to the vectors: one at each index of the short loop, or contiguous."""
        start, stride = first, side.stride
        if not are_rows:
            start, stride = builder.mul(first, I64(size)), I64(lanes)
        offsets = [builder.add(start, builder.mul(stride, I64(number))) for number in range(size)]
        return [
            builder.gep(side.pointer, [offset], inbounds=True, source_etype=element) for offset in offsets
        ]

    source_pointers = vector_pointers(source, is_inner)
    vectors = [builder.load(pointer, typ=vector, align=_ALIGNMENT) for pointer in source_pointers]
    for number, target_pointer in enumerate(vector_pointers(target, not is_inner)):
        if is_inner:
            positions = [divmod(number * lanes + lane, size) for lane in range(lanes)]
            lane_sources = [(row, lane) for lane, row in positions]
        else:
            lane_sources = [divmod(lane * size + number, lanes) for lane in range(lanes)]
        value = _select_lanes(builder, vectors, lane_sources)
        _store(builder, value, target_pointer, lanes * itemsize, nontemporal)


def _select_lanes(
    builder: ir.IRBuilder, vectors: list[ir.Value], lane_sources: list[tuple[int, int]]
) -> ir.Value:
    """Gather lanes from several vectors into one; `lane_sources` has (vector number, lane) for each lane."""
    lanes = len(lane_sources)
    first, *other_vectors = sorted({number for number, _ in lane_sources})
    chosen, chosen_lanes = vectors[first], [lane for _, lane in lane_sources]
    for vector_number in other_vectors or [first]:
        mask = [
            lanes + lane if number == vector_number else chosen_lanes[index]
            for index, (number, lane) in enumerate(lane_sources)
        ]
        chosen = shuffle_lanes(builder, chosen, mask, vectors[vector_number])
        chosen_lanes = list(range(lanes))
    return chosen


def emit_element(
    builder: ir.IRBuilder,
    itemsize: int,
    source: TileOperand,
    target: TileOperand,
    middle: ir.Value,
    inner: ir.Value,
) -> None:
    element = ir.IntType(8 * itemsize)
    source_offset = builder.add(builder.mul(inner, source.stride), middle)
    target_offset = builder.add(builder.mul(middle, target.stride), inner)
    source_pointer = builder.gep(source.pointer, [source_offset], inbounds=True, source_etype=element)
    value = builder.load(source_pointer, typ=element, align=_ALIGNMENT)
    target_pointer = builder.gep(target.pointer, [target_offset], inbounds=True, source_etype=element)
    builder.store(value, target_pointer, align=_ALIGNMENT)


def load_transposed(
    builder: ir.IRBuilder,
    itemsize: int,
    rows: ir.Value,
    columns: int,
    target: ir.Value,
    offset: ir.Value,
    stride: int,
) -> None:
    """Transpose as many short rows as a tile has.

    Args:
        rows: contiguous; a tile's extent may be read from the last row's beginning on.
        columns: elements of a row.
        target: columns `stride` elements apart; the rows' elements start at index `offset`.
    """
    _call_shared(
        builder, "load_transposed", _emit_load_transposed, offset, rows, target, (itemsize, columns, stride)
    )


def store_transposed(
    builder: ir.IRBuilder,
    itemsize: int,
    rows: ir.Value,
    columns: int,
    source: ir.Value,
    offset: ir.Value,
    stride: int,
) -> None:
    """Undo `load_transposed`: write as many short rows."""
    _call_shared(
        builder, "store_transposed", _emit_store_transposed, offset, rows, source, (itemsize, columns, stride)
    )


def _call_shared(
    builder: ir.IRBuilder,
    name: str,
    emit: Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value, int, int, int], None],
    offset: ir.Value,
    rows: ir.Value,
    transposed: ir.Value,
    sizes: tuple[int, int, int],
) -> None:
    """Call the module's shared function for these sizes: the code of a tile is long, and most modules
    transpose several of one size.

    Args:
        emit: emits the function's body; takes its builder, its arguments `offset`, `rows` and `transposed`,
            and `sizes`.
        sizes: itemsize, columns of a row, and the stride of the transposed columns.
    """
    name = ".".join([name, *map(str, sizes)])
    function = builder.module.globals.get(name)
    if function is None:
        function = internal_function(builder.module, name, 1, 2)
        body_builder = ir.IRBuilder(function.append_basic_block("entry"))
        offset_arg, rows_arg, transposed_arg = function.args
        emit(body_builder, offset_arg, rows_arg, transposed_arg, *sizes)
        body_builder.ret_void()
    builder.call(function, [offset, builder.bitcast(rows, POINTER), builder.bitcast(transposed, POINTER)])


def _emit_load_transposed(
    builder: ir.IRBuilder,
    offset: ir.Value,
    rows: ir.Value,
    target: ir.Value,
    itemsize: int,
    columns: int,
    stride: int,
) -> None:
    element, lanes, _ = _tile_of(itemsize)
    source, distance = TileOperand(rows, I64(columns)), I64(stride)
    with Loop(builder, I64(0), I64(-(-columns // lanes)), True) as tile:
        first = _first_column(builder, tile, columns, lanes)
        start = builder.add(offset, builder.mul(first, distance))
        pointer = builder.gep(target, [start], inbounds=True, source_etype=element)
        transposed = TileOperand(pointer, distance)
        emit_tile(builder, itemsize, lanes, source, transposed, first, I64(0), rows=columns)


def _emit_store_transposed(
    builder: ir.IRBuilder,
    offset: ir.Value,
    rows: ir.Value,
    source: ir.Value,
    itemsize: int,
    columns: int,
    stride: int,
) -> None:
    element, lanes, vector = _tile_of(itemsize)
    width = min(lanes, columns)
    with Loop(builder, I64(0), I64(-(-columns // lanes)), True) as tile:
        first = _first_column(builder, tile, columns, lanes)
        offset = builder.add(offset, builder.mul(first, I64(stride)))
        columns_read = []
        for column in range(width):
            index = builder.add(offset, I64(column * stride))
            pointer = builder.gep(source, [index], inbounds=True, source_etype=element)
            columns_read.append(builder.load(pointer, typ=vector, align=itemsize))
        nothing = ir.Constant(vector, ir.Undefined)
        columns_read += [nothing] * (lanes - width)
        for row, transposed in enumerate(_transpose_square(builder, columns_read)):
            index = builder.add(first, I64(row * columns))
            pointer = builder.gep(rows, [index], inbounds=True, source_etype=element)
            _store_lanes(builder, transposed, width, pointer)


def _first_column(builder: ir.IRBuilder, tile: ir.Value, columns: int, lanes: int) -> ir.Value:
    """The first column of a tile: the last tile ends with the row, if the row has that many columns."""
    first = builder.mul(tile, I64(lanes))
    return min_index(builder, first, I64(max(columns - lanes, 0)))


def _tile_of(itemsize: int) -> tuple[ir.IntType, int, ir.VectorType]:
    """The element type, a tile's extent, and the vector type of its rows."""
    element, lanes = ir.IntType(8 * itemsize), tile_lanes(itemsize)
    return element, lanes, ir.VectorType(element, lanes)


def _store_lanes(builder: ir.IRBuilder, vector: ir.Value, count: int, pointer: ir.Value) -> None:
    """Store the first lanes of a vector, in chunks whose lengths are powers of two."""
    element, first = vector.type.element, 0
    while first < count:
        width = 1 << ((count - first).bit_length() - 1)
        target = builder.gep(pointer, [I64(first)], inbounds=True, source_etype=element)
        chunk = shuffle_lanes(builder, vector, range(first, first + width))
        builder.store(chunk, target, align=element.width // 8)
        first += width


def _transpose_square(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square matrix: exchange off-diagonal halves, then quarters, down to elements."""
    lanes = len(rows)
    rows = list(rows)
    half = lanes // 2
    while half:
        first = [c + lanes - half if c & half else c for c in range(lanes)]
        second = [c + lanes if c & half else c + half for c in range(lanes)]
        for row in range(lanes):
            if not row & half:
                a, b = rows[row], rows[row + half]
                rows[row] = shuffle_lanes(builder, a, first, b)
                rows[row + half] = shuffle_lanes(builder, a, second, b)
        half //= 2
    return rows
