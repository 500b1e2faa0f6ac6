"""Tiles of a transposition in registers: rows of the source in, rows of the result out, each one vector.

What is moved may be several elements of an array at a time: it lies at multiples of theirs, not of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

from ..llvm.functions import internal_function
from ..llvm.loops import Loop, min_index
from ..llvm.values import I32, I64, POINTER
from .nontemporal_stores import store_past_caches

_VECTOR_BYTES = 64
_MOST_LANES = 16
_ALIGNMENT = 1
"""Of what is moved; vectors are loaded and stored as fast as if more were known."""
WIDEST = 8
"""Bytes of the largest elements that lie in vectors."""


class Side(NamedTuple):
    """One of the two arrays: where the two loops begin, and the stride, in elements, of that which does not
    run along it."""

    pointer: ir.Value
    stride: ir.Value


def lanes_of(itemsize: int) -> int:
    """Extent of a tile in elements of that many bytes."""
    return min(_MOST_LANES, _VECTOR_BYTES // itemsize)


def emit_tile(
    builder: ir.IRBuilder,
    itemsize: int,
    source: Side,
    target: Side,
    middle: ir.Value,
    inner: ir.Value,
    streamed: bool,
) -> None:
    """Copy one tile: the source lies along the middle loop, the target along the inner one.

    Args:
        middle, inner: the indices of the tile's first element.
        streamed: the target is written past the caches, and its rows begin at multiples of a vector.
    """
    lanes = lanes_of(itemsize)
    element = ir.IntType(8 * itemsize)
    for lane, column in enumerate(_columns(builder, itemsize, lanes, source, middle, inner)):
        index = builder.add(middle, ir.Constant(I64, lane))
        place = builder.add(builder.mul(index, target.stride), inner)
        pointer = builder.gep(target.pointer, [place], inbounds=True, source_etype=element)
        if streamed:
            store_past_caches(builder, column, pointer, lanes * itemsize)
        else:
            builder.store(column, pointer, align=_ALIGNMENT)


def emit_turned_tile(
    builder: ir.IRBuilder,
    itemsize: int,
    extent: int,
    source: Side,
    room: Side,
    middle: ir.Value,
    inner: ir.Value,
) -> None:
    """Copy one tile of so many elements in both directions to a room of its own.

    Args:
        middle, inner: the indices of the tile's first element, which comes first in the room.
    """
    element = ir.IntType(8 * itemsize)
    for lane, column in enumerate(_columns(builder, itemsize, extent, source, middle, inner)):
        place = builder.mul(ir.Constant(I64, lane), room.stride)
        pointer = builder.gep(room.pointer, [place], inbounds=True, source_etype=element)
        builder.store(column, pointer, align=_ALIGNMENT)


def _columns(
    builder: ir.IRBuilder, itemsize: int, extent: int, source: Side, middle: ir.Value, inner: ir.Value
) -> list[ir.Value]:
    """The lines along the inner loop of a tile that lies along the middle one."""
    element = ir.IntType(8 * itemsize)
    vector = ir.VectorType(element, extent)
    rows = []
    for lane in range(extent):
        index = builder.add(inner, ir.Constant(I64, lane))
        place = builder.add(builder.mul(index, source.stride), middle)
        pointer = builder.gep(source.pointer, [place], inbounds=True, source_etype=element)
        rows.append(builder.load(pointer, typ=vector, align=_ALIGNMENT))
    return _transposed(builder, rows)


def emit_short_tile(
    builder: ir.IRBuilder,
    itemsize: int,
    sides: tuple[Side, Side],
    size: int,
    is_inner: bool,
    first: ir.Value,
    streamed: bool,
) -> None:
    """Copy a tile whose one loop has few indices: all of these, and a vector's of the other loop.

    Args:
        sides: the source and the target.
        size: how many indices the short loop has.
        is_inner: whether that is the inner one, along which the target lies; the source lies along the other.
        first: the tile's first index of the other loop.
        streamed: the target is written past the caches, and its rows begin at multiples of a vector.
    """
    lanes = lanes_of(itemsize)
    element = ir.IntType(8 * itemsize)
    vector = ir.VectorType(element, lanes)
    source, target = sides

    def places(side: Side, are_rows: bool) -> list[ir.Value]:
        """Where vectors lie: one at each index of the short loop, or side by side."""
        begin, step = first, side.stride
        if not are_rows:
            begin, step = builder.mul(first, ir.Constant(I64, size)), ir.Constant(I64, lanes)
        found = [builder.add(begin, builder.mul(step, ir.Constant(I64, number))) for number in range(size)]
        return [builder.gep(side.pointer, [place], inbounds=True, source_etype=element) for place in found]

    read = [builder.load(place, typ=vector, align=_ALIGNMENT) for place in places(source, is_inner)]
    for number, pointer in enumerate(places(target, not is_inner)):
        spread = [divmod(number * lanes + lane, size) for lane in range(lanes)]
        rows = [divmod(lane * size + number, lanes) for lane in range(lanes)]
        value = _chosen(builder, read, [(row, lane) for lane, row in spread] if is_inner else rows)
        if streamed:
            store_past_caches(builder, value, pointer, lanes * itemsize)
        else:
            builder.store(value, pointer, align=_ALIGNMENT)


def _chosen(builder: ir.IRBuilder, vectors: list[ir.Value], places: list[tuple[int, int]]) -> ir.Value:
    """The vector of the elements at these places: a vector's number, and a lane of it."""
    lanes = len(places)
    first, *others = sorted({number for number, _ in places})
    chosen, here = vectors[first], [lane for _, lane in places]
    for other in others or [first]:
        mask = [lanes + lane if number == other else here[at] for at, (number, lane) in enumerate(places)]
        chosen = builder.shuffle_vector(chosen, vectors[other], _mask(mask))
        here = list(range(lanes))
    return chosen


def emit_element(
    builder: ir.IRBuilder, itemsize: int, source: Side, target: Side, middle: ir.Value, inner: ir.Value
) -> None:
    """Copy one element."""
    element = ir.IntType(8 * itemsize)
    read = builder.add(builder.mul(inner, source.stride), middle)
    written = builder.add(builder.mul(middle, target.stride), inner)
    pointer = builder.gep(source.pointer, [read], inbounds=True, source_etype=element)
    value = builder.load(pointer, typ=element, align=_ALIGNMENT)
    place = builder.gep(target.pointer, [written], inbounds=True, source_etype=element)
    builder.store(value, place, align=_ALIGNMENT)


def load_turned(
    builder: ir.IRBuilder,
    itemsize: int,
    rows: ir.Value,
    columns: int,
    target: ir.Value,
    place: ir.Value,
    stride: int,
) -> None:
    """Copy as many short rows as a tile has, turned on their side.

    Args:
        rows: they lie one after the other; a tile's extent may be read behind the last one's beginning.
        columns: elements of a row.
        target: for each column, `stride` elements apart, the elements of the rows from `place` on.
    """
    _call_shared(builder, "load_turned", _load_turned, place, rows, target, (itemsize, columns, stride))


def store_turned(
    builder: ir.IRBuilder,
    itemsize: int,
    rows: ir.Value,
    columns: int,
    source: ir.Value,
    place: ir.Value,
    stride: int,
) -> None:
    """Copy what `load_turned` copied back to as many rows."""
    _call_shared(builder, "store_turned", _store_turned, place, rows, source, (itemsize, columns, stride))


def _call_shared(
    builder: ir.IRBuilder,
    name: str,
    emit: Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value, int, int, int], None],
    place: ir.Value,
    rows: ir.Value,
    turned: ir.Value,
    sizes: tuple[int, int, int],
) -> None:
    """Call the module's function of that name and these sizes: a tile is long, and most modules copy several
    alike."""
    name = ".".join([name, *map(str, sizes)])
    function = builder.module.globals.get(name)
    if function is None:
        function = internal_function(builder.module, name, 1, 2)
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        at, count, memory = function.args
        emit(inner, at, count, memory, *sizes)
        inner.ret_void()
    builder.call(function, [place, builder.bitcast(rows, POINTER), builder.bitcast(turned, POINTER)])


def _load_turned(
    builder: ir.IRBuilder,
    place: ir.Value,
    rows: ir.Value,
    target: ir.Value,
    itemsize: int,
    columns: int,
    stride: int,
) -> None:
    element, lanes, vector = _tile_of(itemsize)
    with Loop(builder, ir.Constant(I64, 0), ir.Constant(I64, -(-columns // lanes)), True) as tile:
        first = _first_column(builder, tile, columns, lanes)
        read = []
        for row in range(lanes):
            at = builder.add(first, ir.Constant(I64, row * columns))
            pointer = builder.gep(rows, [at], inbounds=True, source_etype=element)
            read.append(builder.load(pointer, typ=vector, align=itemsize))
        place = builder.add(place, builder.mul(first, ir.Constant(I64, stride)))
        for column, turned in enumerate(_transposed(builder, read)[:columns]):
            at = builder.add(place, ir.Constant(I64, column * stride))
            pointer = builder.gep(target, [at], inbounds=True, source_etype=element)
            builder.store(turned, pointer, align=itemsize)


def _store_turned(
    builder: ir.IRBuilder,
    place: ir.Value,
    rows: ir.Value,
    source: ir.Value,
    itemsize: int,
    columns: int,
    stride: int,
) -> None:
    element, lanes, vector = _tile_of(itemsize)
    width = min(lanes, columns)
    with Loop(builder, ir.Constant(I64, 0), ir.Constant(I64, -(-columns // lanes)), True) as tile:
        first = _first_column(builder, tile, columns, lanes)
        place = builder.add(place, builder.mul(first, ir.Constant(I64, stride)))
        read = []
        for column in range(width):
            at = builder.add(place, ir.Constant(I64, column * stride))
            pointer = builder.gep(source, [at], inbounds=True, source_etype=element)
            read.append(builder.load(pointer, typ=vector, align=itemsize))
        nothing = ir.Constant(vector, ir.Undefined)
        for row, turned in enumerate(_transposed(builder, read + [nothing] * (lanes - width))):
            at = builder.add(first, ir.Constant(I64, row * columns))
            pointer = builder.gep(rows, [at], inbounds=True, source_etype=element)
            _store_lanes(builder, turned, width, pointer)


def _first_column(builder: ir.IRBuilder, tile: ir.Value, columns: int, lanes: int) -> ir.Value:
    """Where a tile begins: the last one ends where the row does, if a row has as much."""
    first = builder.mul(tile, ir.Constant(I64, lanes))
    return min_index(builder, first, ir.Constant(I64, max(columns - lanes, 0)))


def _tile_of(itemsize: int) -> tuple[ir.IntType, int, ir.VectorType]:
    """The type of an element, a tile's extent, and the type of a row of it."""
    element, lanes = ir.IntType(8 * itemsize), lanes_of(itemsize)
    return element, lanes, ir.VectorType(element, lanes)


def _store_lanes(builder: ir.IRBuilder, vector: ir.Value, count: int, pointer: ir.Value) -> None:
    """Store the first lanes of a vector, in pieces whose lengths are powers of two."""
    element, first = vector.type.element, 0
    while first < count:
        width = 1 << ((count - first).bit_length() - 1)
        target = builder.gep(pointer, [ir.Constant(I64, first)], inbounds=True, source_etype=element)
        piece = builder.shuffle_vector(vector, vector, _mask(list(range(first, first + width))))
        builder.store(piece, target, align=element.width // 8)
        first += width


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """A square matrix's columns: halves change places, then quarters, down to single elements."""
    lanes = len(rows)
    rows = list(rows)
    half = lanes // 2
    while half:
        first = [c + lanes - half if c & half else c for c in range(lanes)]
        second = [c + lanes if c & half else c + half for c in range(lanes)]
        for row in range(lanes):
            if not row & half:
                a, b = rows[row], rows[row + half]
                rows[row] = builder.shuffle_vector(a, b, _mask(first))
                rows[row + half] = builder.shuffle_vector(a, b, _mask(second))
        half //= 2
    return rows


def _mask(places: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, len(places)), [ir.Constant(I32, place) for place in places])
