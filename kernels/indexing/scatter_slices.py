"""Vectorized combination of contiguous runs, for the kernels of scatter. Importing this module imports Numba.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from ..simd.block_sizes import CACHE_LINE_BYTES
from ..simd.monoids import OVERWRITE, WIDENED, Combination, computing_dtype
from ..simd.prefetches import prefetch_address
from ..simd.vectors import (
    I64,
    TypedCode,
    Values,
    apply,
    cgutils,
    component_count,
    data_of,
    intrinsic,
    literal,
    load_lanes,
    store_lanes,
)

MAX_COPIED_BYTES = 1 << 12
"""Tasks work on a private copy of partitions up to this size."""
_VECTOR_BYTES = 64
_UNROLLED_VECTORS = 4
"""Vectors of a row that are reduced in registers at a time."""
_BYTES = ir.IntType(8).as_pointer()
# The locality argument of llvm.prefetch. L2 has more outstanding misses than L1.
_L1_LOCALITY, _L2_LOCALITY = 3, 2
L1_DISTANCE_DIVISOR = 8
"""Prefetch again into L1 at one eighth of the L2 prefetch distance."""


@intrinsic(prefer_literal=True)
def combine_run(
    typing_context: TypingContext, element: types.Type, combiner: types.Type, result: types.Type,
    offset: types.Type, values: types.Type, update_offset: types.Type, count: types.Type,
) -> TypedCode:  # fmt: skip
    """Combine `count` elements of `result` from `offset` on with those of `values` from `update_offset` on.

    The arrays must not overlap. `combiner` is a monoid, or OVERWRITE.
    """
    kind = Combination(literal(element), literal(combiner))
    lanes = run_lanes(kind.element)

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        _, _, to, offset, origin, update_offset, count = arguments
        target = data_of(context, builder, result, to, kind.element)
        begin = data_of(context, builder, values, origin, kind.element)
        vector_end = builder.and_(count, I64(-lanes))
        with cgutils.for_range_slice(builder, I64(0), vector_end, I64(lanes), intp=I64, inc=True) as (at, _):
            _combine_vector(builder, kind, lanes, at, offset, update_offset, target, begin)
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", vector_end, count)):
            kinds = [I64, I64, I64, target.type, begin.type]
            name = f"rest_{'_'.join(kind).replace(':', '_').replace('>', '_')}"
            rest = _private_function(builder.module, name, kinds, functools.partial(_combine_rest, kind))
            builder.call(rest, [count, offset, update_offset, target, begin])
        return context.get_dummy_value()

    return types.void(element, combiner, result, types.intp, values, types.intp, types.intp), emit


@intrinsic(prefer_literal=True)
def combine_short_run(
    typing_context: TypingContext, element: types.Type, combiner: types.Type, result: types.Type,
    offset: types.Type, values: types.Type, update_offset: types.Type, count: types.Type,
) -> TypedCode:  # fmt: skip
    """`combine_run` for fewer than `run_lanes` elements."""
    kind = Combination(literal(element), literal(combiner))

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        _, _, to, offset, origin, update_offset, count = arguments
        target = data_of(context, builder, result, to, kind.element)
        begin = data_of(context, builder, values, origin, kind.element)
        _combine_rest(kind, builder, count, offset, update_offset, target, begin)
        return context.get_dummy_value()

    return types.void(element, combiner, result, types.intp, values, types.intp, types.intp), emit


def run_lanes(element: str) -> int:
    """Elements of a run that are combined by one vector operation."""
    return max(1, _VECTOR_BYTES // computing_dtype(element).itemsize)


def _combine_vector(
    builder: ir.IRBuilder, kind: Combination, lanes: int, position: ir.Value, offset: ir.Value,
    update_offset: ir.Value, target: ir.Value, begin: ir.Value,
) -> None:  # fmt: skip
    destination = builder.add(offset, position)
    value = load_lanes(builder, kind.element, begin, builder.add(update_offset, position), lanes)
    if kind.monoid != OVERWRITE:
        value = apply(builder, kind, load_lanes(builder, kind.element, target, destination, lanes), value)
    store_lanes(builder, kind.element, target, destination, value, lanes)


def _combine_rest(kind: Combination, builder: ir.IRBuilder, count: ir.Value, *operands: ir.Value) -> None:
    for lanes, at in _shorter_vectors(builder, count, run_lanes(kind.element)):
        _combine_vector(builder, kind, lanes, at, *operands)


@intrinsic(prefer_literal=True)
def reduce_row(
    typing_context: TypingContext, element: types.Type, combiner: types.Type, result: types.Type,
    offset: types.Type, initial: types.Type, start: types.Type, count: types.Type, values: types.Type,
    update_offsets: types.Type, begin: types.Type, end: types.Type, prefetch_distance: types.Type,
    last: types.Type, nontemporal: types.Type,
) -> TypedCode:  # fmt: skip
    """Write `count` elements of `result` from `offset` on, each once: those of `initial` from `start` on,
    combined in order with those of `values` from each offset in `update_offsets[begin:end]` on.

    The updates `prefetch_distance` slices later (at most slice `last`) are prefetched into L2, then into L1.
    With `nontemporal`, whole vectors bypass the caches; `offset` must be aligned to a cache line.
    """
    kind = Combination(literal(element), literal(combiner))

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        _, _, to, offset, origin, start, count, update_values, source_array, *numbers, nontemporal = arguments
        arrays = ((result, to), (initial, origin), (values, update_values))
        data = [data_of(context, builder, array, value, kind.element) for array, value in arrays]
        source_data = context.make_array(update_offsets)(context, builder, source_array).data
        row = _Row(builder, kind, data, offset, start, source_data, numbers)
        with builder.if_else(builder.trunc(nontemporal, ir.IntType(1))) as (
            nontemporal_branch,
            temporal_branch,
        ):
            with nontemporal_branch:
                row.emit_vectors(count, True)
            with temporal_branch:
                row.emit_vectors(count, False)
        row.emit_remainder(count)
        return context.get_dummy_value()

    numbers = [types.intp] * 4
    arrays = (result, types.intp, initial, types.intp, types.intp, values, update_offsets)
    return types.void(element, combiner, *arrays, *numbers, types.boolean), emit


class _Row:
    """The code of `reduce_row`, whose arguments are the attributes; arrays are pointers to their data: `data`
    of `result`, `initial` and `values`, and `update_offsets`. `numbers` are `begin`, `end`,
    `prefetch_distance` and `last`."""

    def __init__(
        self, builder: ir.IRBuilder, kind: Combination, data: Sequence[ir.Value], offset: ir.Value,
        start: ir.Value, update_offsets: ir.Value, numbers: Sequence[ir.Value],
    ) -> None:  # fmt: skip
        self._builder = builder
        self._kind = kind
        is_rounded = kind.element in WIDENED and kind.monoid in ("add", "multiply")
        self._combination = Combination(kind.element, f"{kind.monoid}:{kind.element}") if is_rounded else kind
        self._lanes = run_lanes(kind.element)
        self._result, self._initial, self._values = data
        self._offset, self._start, self._update_offsets = offset, start, update_offsets
        self._begin, self._end, self._prefetch_distance, self._last = numbers

    def emit_vectors(self, count: ir.Value, nontemporal: bool) -> None:
        """Emit the code for the elements that fill vectors."""
        done = I64(0)
        for vectors in (_UNROLLED_VECTORS, 1):
            until = self._builder.and_(count, I64(-vectors * self._lanes))
            vector_step = I64(vectors * self._lanes)
            with cgutils.for_range_slice(self._builder, done, until, vector_step, intp=I64, inc=True) as (
                column,
                _,
            ):
                self._emit(column, vectors, self._lanes, nontemporal)
            done = until

    def emit_remainder(self, count: ir.Value) -> None:
        """Emit the code for the remaining elements, in ever shorter vectors."""
        for lanes, column in _shorter_vectors(self._builder, count, self._lanes):
            self._emit(column, 1, lanes, False)

    def _emit(self, column: ir.Value, vectors: int, lanes: int, nontemporal: bool) -> None:
        builder, element = self._builder, self._kind.element
        columns = [builder.add(column, I64(number * lanes)) for number in range(vectors)]
        accumulators = []
        for offset in columns:
            components = load_lanes(builder, element, self._initial, builder.add(self._start, offset), lanes)
            accumulators.append([cgutils.alloca_once_value(builder, component) for component in components])
        one = I64(1)
        with cgutils.for_range_slice(builder, self._begin, self._end, one, intp=I64, inc=True) as (number, _):
            l2_offset = self._update_offset_after(number, self._prefetch_distance)
            l1_distance = builder.sdiv(self._prefetch_distance, I64(L1_DISTANCE_DIVISOR))
            l1_offset = self._update_offset_after(number, l1_distance)
            update_offset = self._update_offset(number)
            for offset, accumulator in zip(columns, accumulators, strict=True):
                self._fetch(builder.add(l2_offset, offset), _L2_LOCALITY)
                self._fetch(builder.add(l1_offset, offset), _L1_LOCALITY)
                value = load_lanes(builder, element, self._values, builder.add(update_offset, offset), lanes)
                if self._kind.monoid != OVERWRITE:
                    value = apply(builder, self._combination, tuple(map(builder.load, accumulator)), value)
                for component, accumulator_component in zip(value, accumulator, strict=True):
                    builder.store(component, accumulator_component)
        for offset, accumulator in zip(columns, accumulators, strict=True):
            result_offset, value = builder.add(self._offset, offset), tuple(map(builder.load, accumulator))
            store_lanes(builder, element, self._result, result_offset, value, lanes, nontemporal)

    def _update_offset(self, number: ir.Value) -> ir.Value:
        value = self._builder.load(self._builder.gep(self._update_offsets, [number]))
        return value if value.type == I64 else self._builder.sext(value, I64)

    def _update_offset_after(self, number: ir.Value, prefetch_distance: ir.Value) -> ir.Value:
        """The update offset `prefetch_distance` slices later, at most that of slice `last`."""
        later = self._builder.add(number, prefetch_distance)
        is_in_range = self._builder.icmp_signed("<", later, self._last)
        return self._update_offset(self._builder.select(is_in_range, later, self._last))

    def _fetch(self, offset: ir.Value, locality: int) -> None:
        components = self._builder.mul(offset, I64(component_count(self._kind.element)))
        prefetch_address(self._builder, self._builder.gep(self._values, [components]), locality)


@intrinsic
def is_cache_line_aligned(typing_context: TypingContext, array: types.Type, items: types.Type) -> TypedCode:
    """Whether the array and every `items` elements of it begin at a cache line."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = builder.ptrtoint(context.make_array(array)(context, builder, arguments[0]).data, I64)
        item = context.get_abi_sizeof(context.get_data_type(array.dtype))
        from_base = builder.or_(data, builder.mul(arguments[1], I64(item)))
        return builder.icmp_signed("==", builder.and_(from_base, I64(CACHE_LINE_BYTES - 1)), I64(0))

    return types.boolean(array, types.intp), emit


@intrinsic
def copy_run(
    typing_context: TypingContext,
    result: types.Type,
    offset: types.Type,
    values: types.Type,
    update_offset: types.Type,
    count: types.Type,
) -> TypedCode:
    """Copy `count` elements of `values` from `update_offset` on to `result`, of the same type, from `offset`
    on. The arrays must not overlap."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        to, offset, origin, update_offset, count = arguments
        target = builder.gep(context.make_array(result)(context, builder, to).data, [offset])
        begin = builder.gep(context.make_array(values)(context, builder, origin).data, [update_offset])
        item = context.get_abi_sizeof(context.get_data_type(result.dtype))
        cgutils.raw_memcpy(builder, target, begin, count, I64(item))
        return context.get_dummy_value()

    return types.void(result, types.intp, values, types.intp, types.intp), emit


@kernel
def initialize_partition(
    task: int, partitions: int, size: int, initial: np.ndarray, result: np.ndarray
) -> None:
    """Copy a partition of the result from `initial`, or fill it with the one value of `initial`.

    An empty `initial` means that the result is initialized. A partition has `size` elements, the last one the
    rest.
    """
    if initial.size == 0:
        return
    begin = task * size
    end = begin + size if task < partitions - 1 else result.size
    if initial.size > 1:
        copy_run(result, begin, initial, begin, end - begin)
        return
    for index in range(begin, end):
        put(result, index, get(initial, 0))


@kernel
def partition_buffer(task: int, partitions: int, size: int, result: np.ndarray) -> Any:
    """A partition of the result, or a private copy of a small one, which avoids false sharing of cache lines.
    """
    begin = task * size
    view = result[begin : begin + size if task < partitions - 1 else result.size]
    if view.size * view.itemsize > MAX_COPIED_BYTES:
        return view
    padding = CACHE_LINE_BYTES // view.itemsize
    private_copy = np.empty(view.size + 2 * padding, view.dtype)[padding : padding + view.size]
    copy_run(private_copy, 0, view, 0, view.size)
    return private_copy


@kernel
def write_back(task: int, size: int, buffer: np.ndarray, result: np.ndarray) -> None:
    """Write a private copy of `partition_buffer` to the result."""
    if buffer.size * buffer.itemsize <= MAX_COPIED_BYTES:
        copy_run(result, task * size, buffer, 0, buffer.size)


@intrinsic
def prefetch_cache_lines(
    typing_context: TypingContext,
    array: types.Type,
    l2_offset: types.Type,
    l1_offset: types.Type,
    cache_lines: types.Type,
) -> TypedCode:
    """Prefetch `cache_lines` lines of an array: into L2 from element `l2_offset` on, into L1 from `l1_offset`
    on. They may lie outside of the array."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = context.make_array(array)(context, builder, arguments[0]).data
        addresses = [builder.bitcast(builder.gep(data, [offset]), _BYTES) for offset in arguments[1:3]]
        with cgutils.for_range(builder, arguments[3], intp=I64) as loop:
            byte_offset = builder.mul(loop.index, I64(CACHE_LINE_BYTES))
            for first, locality in zip(addresses, (_L2_LOCALITY, _L1_LOCALITY), strict=True):
                prefetch_address(builder, builder.gep(first, [byte_offset]), locality)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, types.intp), emit


def _shorter_vectors(builder: ir.IRBuilder, count: ir.Value, lanes: int) -> Iterator[tuple[int, ir.Value]]:
    """Vectors that cover the remainder of `count` elements after vectors of `lanes`, longest first: lanes and
    offset. The code emitted between two of them is conditional on the vector."""
    while lanes > 1:
        lanes //= 2
        with builder.if_then(builder.icmp_signed("!=", builder.and_(count, I64(lanes)), I64(0))):
            yield lanes, builder.and_(count, I64(-2 * lanes))


def _private_function(
    module: ir.Module, name: str, kinds: list[ir.Type], emit: Callable[..., None]
) -> ir.Function:
    """An internal function of the module, never inlined into its callers."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), module.get_unique_name(name))
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    emit(builder, *function.args)
    builder.ret_void()
    return function
