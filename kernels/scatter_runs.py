"""Whole runs of elements combined at once, for the loops of scatter. Importing this module imports Numba."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from .monoids import OVERWRITE, Combination, computing_dtype
from .vectors import I32, I64, apply, cgutils, data_of, intrinsic, literal, load_lanes, store_lanes

LINE_BYTES = 64
_VECTOR_BYTES = 64
_BYTES = ir.IntType(8).as_pointer()


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
    most_lanes = max(1, _VECTOR_BYTES // computing_dtype(kind.element).itemsize)

    def loop(builder: Any, lanes: int, count: Any, place: Any, source: Any, target: Any, begin: Any) -> None:
        with cgutils.for_range_slice(builder, I64(0), count, I64(lanes), intp=I64, inc=True) as (step, _):
            here = builder.add(place, step)
            value = load_lanes(builder, kind.element, begin, builder.add(source, step), lanes)
            if kind.monoid != OVERWRITE:
                value = apply(builder, kind, load_lanes(builder, kind.element, target, here, lanes), value)
            store_lanes(builder, kind.element, target, here, value, lanes)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, to, place, origin, source, count = arguments
        target = data_of(context, builder, result, to, kind.element)
        begin = data_of(context, builder, values, origin, kind.element)
        whole = builder.and_(count, I64(-most_lanes))
        loop(builder, most_lanes, whole, place, source, target, begin)
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", whole, count)):
            rest = [builder.sub(count, whole), builder.add(place, whole), builder.add(source, whole)]
            numbers = [I64] * 3
            kinds = [*numbers, target.type, begin.type]
            name = f"rest_{'_'.join(kind).replace(':', '_').replace('>', '_')}"
            singly = _private_function(
                builder.module, name, kinds, lambda inner, *given: loop(inner, 1, *given)
            )
            builder.call(singly, [*rest, target, begin])
        return context.get_dummy_value()

    return types.void(element, combiner, result, types.intp, values, types.intp, types.intp), generate


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


@intrinsic
def fetch_lines(typing_context: Any, array: Any, place: Any, lines: Any) -> Any:
    """Fetch so many cache lines of an array, from that of `place` on. They may lie outside of the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, place, lines = arguments
        data = context.make_array(array)(context, builder, to).data
        first = builder.bitcast(builder.gep(data, [place]), _BYTES)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, I32, I32, I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
        with cgutils.for_range(builder, lines, intp=I64) as loop:
            line = builder.gep(first, [builder.mul(loop.index, I64(LINE_BYTES))])
            builder.call(function, [line, I32(0), I32(3), I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


def _private_function(module: Any, name: str, kinds: list[Any], generate: Callable[..., None]) -> Any:
    """A function of the module, kept out of its callers' code."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), module.get_unique_name(name))
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    generate(builder, *function.args)
    builder.ret_void()
    return function
