"""Whole runs of elements combined at once, for the loops of scatter. Importing this module imports Numba."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from ..simd.monoids import OVERWRITE, WIDENED, Combination, computing_dtype
from ..simd.vectors import (
    I32,
    I64,
    apply,
    cgutils,
    component_count,
    data_of,
    intrinsic,
    literal,
    load_lanes,
    store_lanes,
)

LINE_BYTES = 64
COPIED_BYTES = 1 << 12
"""Owners of so little have a copy of it."""
_VECTOR_BYTES = 64
_TOGETHER = 4
"""How many vectors of a row are made together."""
_BYTES = ir.IntType(8).as_pointer()
# What LLVM calls the locality. More lines can be on their way to the second cache than to the first.
_FIRST_CACHE, _SECOND_CACHE = 3, 2
NEAR_SHARE = 8
"""One in so many of the way is left when what was fetched into the second cache is fetched into the first."""


@intrinsic(prefer_literal=True)
def combine_run(
    typing_context: Any, element: Any, combiner: Any, result: Any, place: Any, values: Any, source: Any,
    count: Any,
) -> Any:  # fmt: skip
    """Combine `count` elements of `result` from `place` on with those of `values` from `source` on, each with
    its own.

    The arrays must not overlap. `combiner` is a monoid, or OVERWRITE.
    """
    kind = Combination(literal(element), literal(combiner))
    lanes = run_lanes(kind.element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, to, place, origin, source, count = arguments
        target = data_of(context, builder, result, to, kind.element)
        begin = data_of(context, builder, values, origin, kind.element)
        whole = builder.and_(count, I64(-lanes))
        with cgutils.for_range_slice(builder, I64(0), whole, I64(lanes), intp=I64, inc=True) as (at, _):
            _combine_vector(builder, kind, lanes, at, place, source, target, begin)
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", whole, count)):
            kinds = [I64, I64, I64, target.type, begin.type]
            name = f"rest_{'_'.join(kind).replace(':', '_').replace('>', '_')}"
            rest = _private_function(builder.module, name, kinds, functools.partial(_combine_rest, kind))
            builder.call(rest, [count, place, source, target, begin])
        return context.get_dummy_value()

    return types.void(element, combiner, result, types.intp, values, types.intp, types.intp), generate


@intrinsic(prefer_literal=True)
def combine_short_run(
    typing_context: Any, element: Any, combiner: Any, result: Any, place: Any, values: Any, source: Any,
    count: Any,
) -> Any:  # fmt: skip
    """The same for fewer than `run_lanes` elements, quicker."""
    kind = Combination(literal(element), literal(combiner))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, to, place, origin, source, count = arguments
        target = data_of(context, builder, result, to, kind.element)
        begin = data_of(context, builder, values, origin, kind.element)
        _combine_rest(kind, builder, count, place, source, target, begin)
        return context.get_dummy_value()

    return types.void(element, combiner, result, types.intp, values, types.intp, types.intp), generate


def run_lanes(element: str) -> int:
    """How many elements of a run are combined at once."""
    return max(1, _VECTOR_BYTES // computing_dtype(element).itemsize)


def _combine_vector(
    builder: Any, kind: Combination, lanes: int, step: Any, place: Any, source: Any, target: Any, begin: Any
) -> None:
    here = builder.add(place, step)
    value = load_lanes(builder, kind.element, begin, builder.add(source, step), lanes)
    if kind.monoid != OVERWRITE:
        value = apply(builder, kind, load_lanes(builder, kind.element, target, here, lanes), value)
    store_lanes(builder, kind.element, target, here, value, lanes)


def _combine_rest(kind: Combination, builder: Any, count: Any, *given: Any) -> None:
    for lanes, at in _shorter_vectors(builder, count, run_lanes(kind.element)):
        _combine_vector(builder, kind, lanes, at, *given)


@intrinsic(prefer_literal=True)
def make_row(
    typing_context: Any, element: Any, combiner: Any, result: Any, place: Any, initial: Any, start: Any,
    count: Any, values: Any, sources: Any, begin: Any, end: Any, ahead: Any, last: Any, past_caches: Any,
) -> Any:  # fmt: skip
    """Write `count` elements of `result` from `place` on, each once: those of `initial` from `start` on,
    combined with those of `values` from each place on that `sources` has from number `begin` to `end`, in
    their order.

    The updates of the source that comes `ahead` later are fetched, or those of number `last`, and again when
    they are near. `past_caches`: whole vectors are written past the caches; `place` is where a line of them
    begins.
    """
    kind = Combination(literal(element), literal(combiner))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, to, place, origin, start, count, added, places, *numbers, past_caches = arguments
        arrays = ((result, to), (initial, origin), (values, added))
        data = [data_of(context, builder, array, value, kind.element) for array, value in arrays]
        source_data = context.make_array(sources)(context, builder, places).data
        row = _Row(builder, kind, data, place, start, source_data, numbers)
        with builder.if_else(builder.trunc(past_caches, ir.IntType(1))) as (past, kept):
            with past:
                row.make_vectors(count, True)
            with kept:
                row.make_vectors(count, False)
        row.make_rest(count)
        return context.get_dummy_value()

    numbers = [types.intp] * 4
    arrays = (result, types.intp, initial, types.intp, types.intp, values, sources)
    return types.void(element, combiner, *arrays, *numbers, types.boolean), generate


class _Row:
    """Code for `make_row`, whose arguments are its attributes; arrays are pointers to their data: `data` of
    `result`, `initial` and `values`, and `sources`. `numbers` are `begin`, `end`, `ahead` and `last`."""

    def __init__(
        self, builder: Any, kind: Combination, data: Sequence[Any], place: Any, start: Any, sources: Any,
        numbers: Sequence[Any],
    ) -> None:  # fmt: skip
        self._builder = builder
        self._kind = kind
        is_rounded = kind.element in WIDENED and kind.monoid in ("add", "multiply")
        self._step = Combination(kind.element, f"{kind.monoid}:{kind.element}") if is_rounded else kind
        self._lanes = run_lanes(kind.element)
        self._result, self._initial, self._values = data
        self._place, self._start, self._sources = place, start, sources
        self._begin, self._end, self._ahead, self._last = numbers

    def make_vectors(self, count: Any, past_caches: bool) -> None:
        """Make those elements that fill vectors."""
        done = I64(0)
        for vectors in (_TOGETHER, 1):
            until = self._builder.and_(count, I64(-vectors * self._lanes))
            step = I64(vectors * self._lanes)
            with cgutils.for_range_slice(self._builder, done, until, step, intp=I64, inc=True) as (column, _):
                self._make(column, vectors, self._lanes, past_caches)
            done = until

    def make_rest(self, count: Any) -> None:
        """Make those that are left, by ever shorter vectors."""
        for lanes, column in _shorter_vectors(self._builder, count, self._lanes):
            self._make(column, 1, lanes, False)

    def _make(self, column: Any, vectors: int, lanes: int, past_caches: bool) -> None:
        builder, element = self._builder, self._kind.element
        columns = [builder.add(column, I64(number * lanes)) for number in range(vectors)]
        slots = []
        for here in columns:
            parts = load_lanes(builder, element, self._initial, builder.add(self._start, here), lanes)
            slots.append([cgutils.alloca_once_value(builder, part) for part in parts])
        one = I64(1)
        with cgutils.for_range_slice(builder, self._begin, self._end, one, intp=I64, inc=True) as (number, _):
            far = self._source_after(number, self._ahead)
            near = self._source_after(number, builder.sdiv(self._ahead, I64(NEAR_SHARE)))
            source = self._source(number)
            for here, slot in zip(columns, slots, strict=True):
                self._fetch(builder.add(far, here), _SECOND_CACHE)
                self._fetch(builder.add(near, here), _FIRST_CACHE)
                value = load_lanes(builder, element, self._values, builder.add(source, here), lanes)
                if self._kind.monoid != OVERWRITE:
                    value = apply(builder, self._step, tuple(map(builder.load, slot)), value)
                for part, kept in zip(value, slot, strict=True):
                    builder.store(part, kept)
        for here, slot in zip(columns, slots, strict=True):
            place, value = builder.add(self._place, here), tuple(map(builder.load, slot))
            store_lanes(builder, element, self._result, place, value, lanes, past_caches)

    def _source(self, number: Any) -> Any:
        value = self._builder.load(self._builder.gep(self._sources, [number]))
        return value if value.type == I64 else self._builder.sext(value, I64)

    def _source_after(self, number: Any, ahead: Any) -> Any:
        """The source that comes so much later, or that of number `last`."""
        later = self._builder.add(number, ahead)
        is_there = self._builder.icmp_signed("<", later, self._last)
        return self._source(self._builder.select(is_there, later, self._last))

    def _fetch(self, place: Any, locality: int) -> None:
        components = self._builder.mul(place, I64(component_count(self._kind.element)))
        _prefetch(self._builder, self._builder.gep(self._values, [components]), locality)


@intrinsic
def begins_lines(typing_context: Any, array: Any, items: Any) -> Any:
    """Whether each so many elements of an array begin where a cache line does."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = builder.ptrtoint(context.make_array(array)(context, builder, arguments[0]).data, I64)
        item = context.get_abi_sizeof(context.get_data_type(array.dtype))
        begins = builder.or_(data, builder.mul(arguments[1], I64(item)))
        return builder.icmp_signed("==", builder.and_(begins, I64(LINE_BYTES - 1)), I64(0))

    return types.boolean(array, types.intp), generate


@intrinsic
def copy_run(typing_context: Any, result: Any, place: Any, values: Any, source: Any, count: Any) -> Any:
    """Copy `count` elements of `values` from `source` on to `result`, of the same type, from `place` on. The
    arrays must not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, place, origin, source, count = arguments
        target = builder.gep(context.make_array(result)(context, builder, to).data, [place])
        begin = builder.gep(context.make_array(values)(context, builder, origin).data, [source])
        item = context.get_abi_sizeof(context.get_data_type(result.dtype))
        cgutils.raw_memcpy(builder, target, begin, count, I64(item))
        return context.get_dummy_value()

    return types.void(result, types.intp, values, types.intp, types.intp), generate


@kernel
def start_range(task: int, owners: int, size: int, initial: Any, result: Any) -> None:
    """Give an owner's part of the result its first values: those of `initial`, or its one value for all.

    Where `initial` is empty, they are there already. An owner has `size` elements, the last one all that are
    left.
    """
    if initial.size == 0:
        return
    begin = task * size
    end = begin + size if task < owners - 1 else result.size
    if initial.size > 1:
        copy_run(result, begin, initial, begin, end - begin)
        return
    for place in range(begin, end):
        put(result, place, get(initial, 0))


@kernel
def own_part(task: int, owners: int, size: int, result: Any) -> Any:
    """An owner's part of the result, or a copy of it where others write to the same cache lines often."""
    begin = task * size
    part = result[begin : begin + size if task < owners - 1 else result.size]
    if part.size * part.itemsize > COPIED_BYTES:
        return part
    apart = LINE_BYTES // part.itemsize
    copy = np.empty(part.size + 2 * apart, part.dtype)[apart : apart + part.size]
    copy_run(copy, 0, part, 0, part.size)
    return copy


@kernel
def return_part(task: int, size: int, part: Any, result: Any) -> None:
    """Put a copy that `own_part` made in its place."""
    if part.size * part.itemsize <= COPIED_BYTES:
        copy_run(result, task * size, part, 0, part.size)


@kernel
def start_columns(column: int, width: int, grain: int, initial: Any, result: Any) -> None:
    """The same of `width` columns, from `column` on, of all rows of `grain` elements."""
    for row in range(0, result.size, grain):
        if initial.size > 1:
            copy_run(result, row + column, initial, row + column, width)
            continue
        for place in range(row + column, row + column + width):
            put(result, place, get(initial, 0))


@intrinsic
def fetch_lines(typing_context: Any, array: Any, far: Any, near: Any, lines: Any) -> Any:
    """Fetch so many cache lines of an array: those from place `far` on into the second cache, those from
    `near` on into the first. They may lie outside of the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        places = [builder.bitcast(builder.gep(data, [place]), _BYTES) for place in arguments[1:3]]
        with cgutils.for_range(builder, arguments[3], intp=I64) as loop:
            line = builder.mul(loop.index, I64(LINE_BYTES))
            for first, locality in zip(places, (_SECOND_CACHE, _FIRST_CACHE), strict=True):
                _prefetch(builder, builder.gep(first, [line]), locality)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, types.intp), generate


def _shorter_vectors(builder: Any, count: Any, lanes: int) -> Iterator[tuple[int, Any]]:
    """The vectors of `count` elements that are left behind those of so many lanes, the longest ones first:
    lanes and place. What is made for one is put where there is one."""
    while lanes > 1:
        lanes //= 2
        with builder.if_then(builder.icmp_signed("!=", builder.and_(count, I64(lanes)), I64(0))):
            yield lanes, builder.and_(count, I64(-2 * lanes))


def _prefetch(builder: Any, pointer: Any, locality: int) -> None:
    """Fetch the cache line there, to be read, into that cache."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, I32, I32, I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
    builder.call(function, [builder.bitcast(pointer, _BYTES), I32(0), I32(locality), I32(1)])


def _private_function(module: Any, name: str, kinds: list[Any], generate: Callable[..., None]) -> Any:
    """A function of the module, kept out of its callers' code."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), module.get_unique_name(name))
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    generate(builder, *function.args)
    builder.ret_void()
    return function
