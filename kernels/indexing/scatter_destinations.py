"""Keys of a scatter's units from indices with equal steps, vector by vector. Importing this module
imports Numba."""

from typing import Any

from llvmlite import ir
from numba import types

from ..simd.vectors import I64, cgutils, intrinsic, literal, splat

_LANES = 16


@intrinsic(prefer_literal=True)
def move_keys(
    typing_context: Any, bits: Any, begins: Any, sample: Any, address: Any, place: Any, index_step: Any,
    least_index: Any, moved: Any, component: Any, base: Any, keys: Any, at: Any, count: Any,
) -> Any:  # fmt: skip
    """Move `count` keys, from number `at` on, by a component of index vectors; -1 where it is out of bounds.

    Where the constant `begins` is 1, what is moved is `base`, and where it is 0, the keys that are there,
    of which negative ones become -1. The component's indices, of the type of the items of `sample`, lie in
    the array at an address, from a place on and `index_step` apart; it is quickest where that is the constant
    1. An index below `least_index` is out of bounds. To a negative one is added what `component` says, a row
    of `scatter_layout.Layout.components`, and to all of them `moved`. So many `bits` are computed with; 32 of
    them, which leave out `least_index` and `moved`, are enough for indices and keys of 32 bits.
    """
    computed = ir.IntType(literal(bits))
    is_first = literal(begins)
    follow = isinstance(index_step, types.Literal) and index_step.literal_value == 1

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, _, address, place, apart, least_index, moved, component_, base, keys_, at, count = arguments
        index = ir.IntType(sample.dtype.bitwidth)
        first = builder.gep(builder.inttoptr(address, index.as_pointer()), [place])
        target = builder.gep(context.make_array(keys)(context, builder, keys_).data, [at])
        key_bytes = target.type.pointee.width // 8
        row = context.make_array(component)(context, builder, component_).data
        bound, step, added = [builder.load(builder.gep(row, [I64(number)])) for number in (1, 2, 3)]
        numbers = [_cut(builder, value, computed) for value in (bound, step, added, least_index, moved, base)]

        def move(number: Any, lanes: int) -> None:
            bound, step, added, least_index, moved, key = [splat(builder, value, lanes) for value in numbers]
            zero = ir.Constant(bound.type, None if lanes > 1 else 0)
            if follow:
                start = _loaded(builder, first, number, lanes)
            else:
                start = _collected(builder, first, builder.mul(number, apart), apart, lanes)
            start = _widened(builder, start, computed, sample.dtype.signed)
            if computed.width == 64:
                least = splat(builder, I64(-(2**63)), lanes)
                start = builder.select(builder.icmp_signed(">=", start, least_index), start, least)
            wrapped = builder.add(start, added)
            start = builder.select(builder.icmp_signed("<", start, zero), wrapped, start)
            if computed.width == 64:
                start = builder.add(start, moved)
            inside = builder.icmp_unsigned("<", start, bound)
            if not is_first:
                key = _widened(builder, _loaded(builder, target, number, lanes), computed, True)
                inside = builder.and_(inside, builder.icmp_signed(">=", key, zero))
            outside = splat(builder, ir.Constant(computed, -1), lanes)
            key = builder.select(inside, builder.add(key, builder.mul(start, step)), outside)
            stored, place = _vector(builder, target, number, lanes)
            builder.store(_cut(builder, key, stored), place, align=key_bytes)

        whole = builder.and_(count, I64(-_LANES))
        for begin, end, lanes in ((I64(0), whole, _LANES), (whole, count, 1)):
            with cgutils.for_range_slice(builder, begin, end, I64(lanes), intp=I64, inc=True) as (number, _):
                move(number, lanes)
        return context.get_dummy_value()

    pair = [types.intp] * 2
    step = index_step if follow else types.intp
    written = (component, types.intp, keys, *pair)
    return types.void(bits, begins, sample, *pair, step, *pair, *written), generate


def _cut(builder: Any, value: Any, kind: Any) -> Any:
    return value if value.type == kind else builder.trunc(value, kind)


def _vector(builder: Any, base: Any, number: Any, lanes: int) -> tuple[Any, Any]:
    """The type of so many items and the address of those from that number on."""
    address, kind = builder.gep(base, [number]), base.type.pointee
    if lanes == 1:
        return kind, address
    vector = ir.VectorType(kind, lanes)
    return vector, builder.bitcast(address, vector.as_pointer())


def _loaded(builder: Any, base: Any, number: Any, lanes: int) -> Any:
    """Items from that number on."""
    _, address = _vector(builder, base, number, lanes)
    return builder.load(address, align=base.type.pointee.width // 8)


def _collected(builder: Any, base: Any, number: Any, apart: Any, lanes: int) -> Any:
    """Items from that number on, so far apart."""
    item = builder.load(builder.gep(base, [number]))
    if lanes == 1:
        return item
    items = ir.Constant(ir.VectorType(item.type, lanes), ir.Undefined)
    for lane in range(lanes):
        items = builder.insert_element(items, item, ir.IntType(32)(lane))
        if lane < lanes - 1:
            number = builder.add(number, apart)
            item = builder.load(builder.gep(base, [number]))
    return items


def _widened(builder: Any, value: Any, computed: Any, signed: bool) -> Any:
    """Items as they are computed with."""
    is_vector = isinstance(value.type, ir.VectorType)
    target = ir.VectorType(computed, value.type.count) if is_vector else computed
    width = value.type.element.width if is_vector else value.type.width
    if width >= computed.width:
        return _cut(builder, value, target)
    return builder.sext(value, target) if signed else builder.zext(value, target)
