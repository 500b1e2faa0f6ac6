"""Vectorized destinations of update slices from indices with a constant stride. Importing this module imports
Numba."""


from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from ..simd.vectors import I64, TypedCode, Values, cgutils, intrinsic, literal, splat
from .scatter_layout import ADDEND, BOUND, COMPONENT_INPUT_STRIDE

_LANES = 16


@intrinsic(prefer_literal=True)
def accumulate_destinations(
    typing_context: TypingContext, bits: types.Type, from_base: types.Type, index_dtype_tag: types.Type,
    address: types.Type, offset: types.Type, index_stride: types.Type, min_index: types.Type,
    window_offset: types.Type, component: types.Type, base: types.Type, destinations: types.Type,
    at: types.Type, count: types.Type,
) -> TypedCode:  # fmt: skip
    """Add a component of index vectors to `count` destinations from number `at` on; -1 if it is out of
    bounds.

    If the constant `from_base` is 1, the component is added to `base`; if it is 0, to the destinations in the
    array, of which negative ones become -1. The component's indices, of the type of `index_dtype_tag`, are at
    `address`, from element `offset` on, `index_stride` apart; a constant stride of 1 is fastest. An index
    below `min_index` is out of bounds. `component` is a row of `scatter_layout.SliceLayout.components`, whose
    addend is added to a negative index; `window_offset` is added to all. The arithmetic has `bits` bits; 32,
    which ignore `min_index` and `window_offset`, are enough for indices and destinations of 32 bits.
    """
    computed = ir.IntType(literal(bits))
    replaces = literal(from_base)
    is_contiguous = isinstance(index_stride, types.Literal) and index_stride.literal_value == 1

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        _, _, _, address, offset, spacing, min_index, window_offset, component_row, base, array, at, count = (
            arguments
        )
        index = ir.IntType(index_dtype_tag.dtype.bitwidth)
        first = builder.gep(builder.inttoptr(address, index.as_pointer()), [offset])
        destinations_data = builder.gep(context.make_array(destinations)(context, builder, array).data, [at])
        destination_bytes = destinations_data.type.pointee.width // 8
        row = context.make_array(component)(context, builder, component_row).data
        columns = BOUND, COMPONENT_INPUT_STRIDE, ADDEND
        bound, stride, addend = [builder.load(builder.gep(row, [I64(column)])) for column in columns]
        numbers = [
            _cut(builder, value, computed)
            for value in (bound, stride, addend, min_index, window_offset, base)
        ]

        def accumulate(number: ir.Value, lanes: int) -> None:
            bound, stride, addend, min_index, window_offset, destination = [
                splat(builder, value, lanes) for value in numbers
            ]
            zero = ir.Constant(bound.type, None if lanes > 1 else 0)
            if is_contiguous:
                start = _loaded(builder, first, number, lanes)
            else:
                start = _gathered(builder, first, builder.mul(number, spacing), spacing, lanes)
            start = _widened(builder, start, computed, index_dtype_tag.dtype.signed)
            if computed.width == 64:
                smallest = splat(builder, I64(-(2**63)), lanes)
                start = builder.select(builder.icmp_signed(">=", start, min_index), start, smallest)
            wrapped = builder.add(start, addend)
            start = builder.select(builder.icmp_signed("<", start, zero), wrapped, start)
            if computed.width == 64:
                start = builder.add(start, window_offset)
            inside = builder.icmp_unsigned("<", start, bound)
            if not replaces:
                destination = _widened(
                    builder, _loaded(builder, destinations_data, number, lanes), computed, True
                )
                inside = builder.and_(inside, builder.icmp_signed(">=", destination, zero))
            outside = splat(builder, ir.Constant(computed, -1), lanes)
            destination = builder.select(
                inside, builder.add(destination, builder.mul(start, stride)), outside
            )
            stored, pointer = _vector(builder, destinations_data, number, lanes)
            builder.store(_cut(builder, destination, stored), pointer, align=destination_bytes)

        vector_end = builder.and_(count, I64(-_LANES))
        for begin, end, lanes in ((I64(0), vector_end, _LANES), (vector_end, count, 1)):
            with cgutils.for_range_slice(builder, begin, end, I64(lanes), intp=I64, inc=True) as (number, _):
                accumulate(number, lanes)
        return context.get_dummy_value()

    pair = [types.intp] * 2
    stride = index_stride if is_contiguous else types.intp
    written = (component, types.intp, destinations, *pair)
    return types.void(bits, from_base, index_dtype_tag, *pair, stride, *pair, *written), emit


def _cut(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type) -> ir.Value:
    return value if value.type == kind else builder.trunc(value, kind)


def _vector(builder: ir.IRBuilder, base: ir.Value, number: ir.Value, lanes: int) -> tuple[ir.Value, ir.Value]:
    """The type of `lanes` items and the address of those from `number` on."""
    address, kind = builder.gep(base, [number]), base.type.pointee
    if lanes == 1:
        return kind, address
    vector = ir.VectorType(kind, lanes)
    return vector, builder.bitcast(address, vector.as_pointer())


def _loaded(builder: ir.IRBuilder, base: ir.Value, number: ir.Value, lanes: int) -> ir.Value:
    """Items from `number` on."""
    _, address = _vector(builder, base, number, lanes)
    return builder.load(address, align=base.type.pointee.width // 8)


def _gathered(
    builder: ir.IRBuilder, base: ir.Value, number: ir.Value, stride: ir.Value, lanes: int
) -> ir.Value:
    """Items from `number` on, `stride` apart."""
    item = builder.load(builder.gep(base, [number]))
    if lanes == 1:
        return item
    items = ir.Constant(ir.VectorType(item.type, lanes), ir.Undefined)
    for lane in range(lanes):
        items = builder.insert_element(items, item, ir.IntType(32)(lane))
        if lane < lanes - 1:
            number = builder.add(number, stride)
            item = builder.load(builder.gep(base, [number]))
    return items


def _widened(builder: ir.IRBuilder, value: ir.Value, computed: ir.Type, signed: bool) -> ir.Value:
    """Items in the type of the arithmetic."""
    is_vector = isinstance(value.type, ir.VectorType)
    target = ir.VectorType(computed, value.type.count) if is_vector else computed
    width = value.type.element.width if is_vector else value.type.width
    if width >= computed.width:
        return _cut(builder, value, target)
    return builder.sext(value, target) if signed else builder.zext(value, target)
