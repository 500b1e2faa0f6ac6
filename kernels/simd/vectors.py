"""LLVM code for elements and vectors of elements, which the intrinsics of kernels emit within loops.

A value is a tuple of LLVM values, one of a real number, two of a complex one: scalars, or vectors of as many
lanes. `element` and `kind` are named as in `monoids`. Importing this module imports Numba.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils as numba_cgutils
from numba.core.base import BaseContext
from numba.core.errors import RequireLiteralValue
from numba.core.typing import Signature
from numba.extending import intrinsic as numba_intrinsic

from ..launch.processor import avoids_software_prefetch, prefetch_distance_bytes, vector_bytes
from .block_sizes import CACHE_LINE_BYTES
from .monoids import WIDENED, Combination, computing_dtype, computing_element, storage_dtype, stored_element
from .narrow_floats import intrinsic_suffix, narrow, round_to_odd, type_like, widen
from .prefetches import prefetch_address

cgutils: Any = numba_cgutils
intrinsic: Any = numba_intrinsic
I64 = ir.IntType(64)
I32 = ir.IntType(32)
_MAX_LANES = 16

Value = tuple[ir.Value, ...]
Values = Sequence[ir.Value]
TypedCode = tuple[Signature, Callable[..., ir.Value]]
"""The result of a Numba intrinsic: the signature of the call, and the function that generates its code."""


def literal(name: Any) -> Any:
    """The value of an argument that must be a constant."""
    if not isinstance(name, types.Literal):
        raise RequireLiteralValue("the name of an element type or a monoid, or a number, must be a constant")
    return name.literal_value


def computed_type(element: str) -> types.Type:
    return from_dtype(computing_dtype(element))


def component(element: str) -> ir.Type:
    """The LLVM type in which a real number, or a component of a complex one, is computed."""
    if element.startswith(("int", "uint")):
        return ir.IntType(computing_dtype(element).itemsize * 8)
    return ir.DoubleType() if computing_element(element) in ("float64", "complex128") else ir.FloatType()


def stored_component(element: str) -> ir.Type:
    stored = stored_element(element)
    return ir.IntType(16) if stored in WIDENED else component(stored)


def component_count(element: str) -> int:
    return 2 if element.startswith("complex") else 1


def _computed(builder: ir.IRBuilder, element: str, value: ir.Value) -> ir.Value:
    """A stored number, or component of a complex number, converted to the computing type."""
    stored = stored_element(element)
    if stored in WIDENED:
        value = widen(builder, stored, value)
    target = type_like(component(element), value.type)
    return value if value.type == target else builder.fpext(value, target)


def _rounded(builder: ir.IRBuilder, element: str, value: ir.Value) -> ir.Value:
    """A computed number, or component, converted to the stored type: rounded to nearest even, once."""
    stored = stored_element(element)
    is_wider = component(element) != component(stored)
    if stored not in WIDENED:
        return builder.fptrunc(value, type_like(component(stored), value.type)) if is_wider else value
    return narrow(builder, stored, round_to_odd(builder, value) if is_wider else value)


def apply(builder: ir.IRBuilder, kind: Combination, left: Value, right: Value) -> Value:
    """`left` combined with `right`."""
    element, (monoid, _, rounded_to) = kind.element, kind.monoid.partition(":")
    if rounded_to:
        (value,) = apply(builder, Combination(element, monoid), left, right)
        return (widen(builder, rounded_to, narrow(builder, rounded_to, value)),)
    if element.startswith("complex"):
        return _apply_complex(builder, monoid, left, right)
    (a,), (b,) = left, right
    if element.startswith(("int", "uint")):
        return (_apply_integer(builder, element, monoid, a, b),)
    if monoid in ("add", "multiply"):
        return ((builder.fadd if monoid == "add" else builder.fmul)(a, b),)
    if not isinstance(a.type, ir.VectorType):
        return (_scalar_extreme(builder, monoid, a, b),)
    name = f"llvm.{monoid}.{intrinsic_suffix(a.type)}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type, a.type]), name)
    return (builder.call(function, [a, b]),)


def _scalar_extreme(builder: ir.IRBuilder, monoid: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """The extreme of two floats, soon after `a` is known: often the extreme that was stored last.

    A comparison may leave a zero of the wrong sign in `a`, and no NaN of `b`. An addition corrects both: of
    +0 or NaN to a maximum, and else of -0, which changes nothing. A minimum is the negative of such a sum.
    """
    is_maximum = monoid == "maximum"
    extreme = builder.select(builder.fcmp_ordered(">" if is_maximum else "<", b, a), b, a)
    sign = b if is_maximum else builder.fneg(b)
    bits = ir.IntType(32 if isinstance(a.type, ir.FloatType) else 64)
    is_positive_zero = builder.icmp_unsigned("==", builder.bitcast(sign, bits), bits(0))
    is_nan = builder.fcmp_unordered("uno", b, b)
    other = builder.select(is_nan, b, ir.Constant(a.type, -0.0))
    correction = builder.select(is_positive_zero, ir.Constant(a.type, 0.0), other)
    if is_maximum:
        return builder.fadd(extreme, correction)
    return builder.fneg(builder.fsub(correction, extreme))


def _apply_integer(builder: ir.IRBuilder, element: str, monoid: str, a: ir.Value, b: ir.Value) -> ir.Value:
    plain = {
        "add": builder.add,
        "multiply": builder.mul,
        "and": builder.and_,
        "or": builder.or_,
        "xor": builder.xor,
    }
    if monoid in plain:
        return plain[monoid](a, b)
    compare = builder.icmp_unsigned if element.startswith("u") else builder.icmp_signed
    return builder.select(compare(">" if monoid == "maximum" else "<", a, b), a, b)


def _apply_complex(builder: ir.IRBuilder, monoid: str, left: Value, right: Value) -> Value:
    (a, b), (c, d) = left, right
    if monoid == "add":
        return builder.fadd(a, c), builder.fadd(b, d)
    if monoid == "multiply":
        real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
        return real, builder.fadd(builder.fmul(a, d), builder.fmul(b, c))
    # The left value stays where it is a NaN, or where the right one is neither better nor a NaN.
    relation = ">" if monoid == "maximum" else "<"
    numbers = builder.fcmp_ordered("ord", b, d)
    better = builder.and_(builder.fcmp_ordered(relation, a, c), numbers)
    no_worse = builder.and_(builder.fcmp_ordered("==", a, c), builder.fcmp_ordered(relation + "=", b, d))
    stays = builder.or_(builder.fcmp_unordered("uno", a, b), builder.or_(better, no_worse))
    return builder.select(stays, a, c), builder.select(stays, b, d)


def data_of(
    context: BaseContext, builder: ir.IRBuilder, array_type: types.Type, array: ir.Value, element: str
) -> ir.Value:
    """The address of an array's items, as stored components."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(data, stored_component(element).as_pointer())


def load_lanes(
    builder: ir.IRBuilder, element: str, data: ir.Value, index: ir.Value, lanes: int, mask: ir.Value = None
) -> Value:
    """The values of `lanes` elements from `index` on, as vectors; scalars for a single lane.

    With a mask, a bit for each lane, only the selected elements are read; the others are zeros.
    """
    address, stored = _address(builder, element, data, index, lanes)
    if mask is None:
        loaded = builder.load(address, align=_alignment(stored))
    else:
        zeros = ir.Constant(address.type.pointee, None)
        bits = _of_components(builder, element, mask)
        loaded = _call_masked(builder, "load", zeros.type, [address, I32(_alignment(stored)), bits, zeros])
    if component_count(element) == 2:
        loaded = _computed(builder, element, loaded)
        if lanes == 1:
            return builder.extract_element(loaded, I32(0)), builder.extract_element(loaded, I32(1))
        return selected(builder, loaded, range(0, 2 * lanes, 2)), selected(
            builder, loaded, range(1, 2 * lanes, 2)
        )
    return (_computed(builder, element, loaded),)


def load_strided(
    builder: ir.IRBuilder, element: str, data: ir.Value, first: ir.Value, lanes: int, stride: ir.Value
) -> Value:
    """The values of `lanes` elements from index `first` on, `stride` apart; reads nothing after the last one.

    Elements whose stride is an int come from `stride` vectors, others one by one.
    """
    if stride == 1 or lanes == 1:
        return load_lanes(builder, element, data, first, lanes)
    if isinstance(stride, int):
        starts = [*range(0, (stride - 1) * lanes, lanes), (stride - 1) * (lanes - 1)]
        vectors = [
            load_lanes(builder, element, data, builder.add(first, I64(start)), lanes) for start in starts
        ]
        sources = [min(lane * stride // lanes, stride - 1) for lane in range(lanes)]
        picks = [(source, lane * stride - starts[source]) for lane, source in enumerate(sources)]
        return tuple(merged_lanes(builder, components, picks) for components in zip(*vectors, strict=True))
    offsets = [builder.add(first, builder.mul(stride, I64(lane))) for lane in range(lanes)]
    items = [load_lanes(builder, element, data, offset, 1) for offset in offsets]
    return tuple(_vector_of(builder, components) for components in zip(*items, strict=True))


def merged_lanes(
    builder: ir.IRBuilder, vectors: Sequence[ir.Value], picks: Sequence[tuple[int, int]]
) -> ir.Value:
    """A vector of lanes that are picked by the number of a vector and a lane of it."""
    merged = selected(builder, vectors[0], [lane if source == 0 else 0 for source, lane in picks])
    for number, vector in enumerate(vectors[1:], 1):
        order = [len(picks) + lane if source == number else at for at, (source, lane) in enumerate(picks)]
        merged = selected(builder, merged, order, vector)
    return merged


def _vector_of(builder: ir.IRBuilder, items: Sequence[ir.Value]) -> ir.Value:
    vector = ir.Constant(ir.VectorType(items[0].type, len(items)), ir.Undefined)
    for lane, item in enumerate(items):
        vector = builder.insert_element(vector, item, I32(lane))
    return vector


def store_lanes(
    builder: ir.IRBuilder, element: str, data: ir.Value, index: ir.Value, value: Value, lanes: int,
    nontemporal: bool = False, mask: ir.Value = None,
) -> None:  # fmt: skip
    """Write the values of `lanes` elements from `index` on, rounded to their type.

    `nontemporal`: the stores bypass the caches; the address is a multiple of their size. With a mask, a bit
    for each lane, only the selected elements are written.
    """
    address, stored = _address(builder, element, data, index, lanes)
    if component_count(element) == 2:
        if lanes == 1:
            both = ir.Constant(ir.VectorType(component(element), 2), ir.Undefined)
            for number, half in enumerate(value):
                both = builder.insert_element(both, half, I32(number))
        else:
            order = [lane + number * lanes for lane in range(lanes) for number in range(2)]
            both = selected(builder, value[0], order, value[1])
    else:
        (both,) = value
    if mask is not None:
        arguments = [_rounded(builder, element, both), address, I32(_alignment(stored))]
        mask = _of_components(builder, element, mask)
        _call_masked(builder, "store", arguments[0].type, [*arguments, mask])
    elif nontemporal:
        nbytes = lanes * component_count(element) * _alignment(stored)
        written = builder.store(_rounded(builder, element, both), address, align=min(nbytes, 64))
        written.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))
    else:
        builder.store(_rounded(builder, element, both), address, align=_alignment(stored))


def _of_components(builder: ir.IRBuilder, element: str, mask: ir.Value) -> ir.Value:
    components = component_count(element)
    lanes = [lane // components for lane in range(components * mask.type.count)]
    return mask if components == 1 else selected(builder, mask, lanes)


def _call_masked(builder: ir.IRBuilder, what: str, vector: ir.Type, arguments: list[ir.Value]) -> ir.Value:
    """Code for `llvm.masked.load` or `llvm.masked.store` of a vector."""
    result = vector if what == "load" else ir.VoidType()
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    name = f"llvm.masked.{what}.{intrinsic_suffix(vector)}.p0"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def prefetch(builder: ir.IRBuilder, element: str, data: ir.Value, index: ir.Value, locality: int = 2) -> None:
    """Prefetch the cache line of an element for a read; it may lie outside of the array.

    `locality`: 3 for L1, almost free if the line is there already; 2 for L2.
    """
    prefetch_address(builder, _address(builder, element, data, index, 1)[0], locality)


def read_ahead(builder: ir.IRBuilder, element: str, data: ir.Value, index: ir.Value, count: int) -> None:
    """Prefetch the elements that lie `prefetch_distance_bytes` after the `count` elements from `index` on.

    Nothing is prefetched on processors whose hardware prefetcher is sufficient.
    """
    if avoids_software_prefetch():
        return
    itemsize = storage_dtype(element).itemsize
    for line in range(-(-count * itemsize // CACHE_LINE_BYTES)):
        distance = (prefetch_distance_bytes() + line * CACHE_LINE_BYTES) // itemsize
        prefetch(builder, element, data, builder.add(index, I64(distance)), locality=3)


def _address(
    builder: ir.IRBuilder, element: str, data: ir.Value, index: ir.Value, lanes: int
) -> tuple[ir.Value, ir.Type]:
    """The address of `lanes` elements from `index` on, and the stored type of one component."""
    components = lanes * component_count(element)
    stored = stored_component(element)
    address = builder.gep(data, [builder.mul(index, I64(component_count(element)))])
    if components > 1:
        address = builder.bitcast(address, ir.VectorType(stored, components).as_pointer())
    return address, stored


def _alignment(stored: ir.Type) -> int:
    if isinstance(stored, ir.IntType):
        return int(stored.width) // 8
    return 8 if isinstance(stored, ir.DoubleType) else 4


def selected(
    builder: ir.IRBuilder, vector: ir.Value, lanes: Sequence[int], other: ir.Value = None
) -> ir.Value:
    """A shuffle: these lanes of a vector, or of its concatenation with `other`."""
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])
    return builder.shuffle_vector(vector, vector if other is None else other, mask)


def splat(builder: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """A vector with one value in all lanes; a scalar for a single lane."""
    if lanes == 1:
        return value
    vector = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    return selected(builder, builder.insert_element(vector, value, I32(0)), [0] * lanes)


def unpacked(builder: ir.IRBuilder, element: str, value: ir.Value) -> Value:
    """The components of a value in Numba's representation."""
    if component_count(element) == 1:
        return (value,)
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


def packed(context: BaseContext, builder: ir.IRBuilder, element: str, value: Value) -> ir.Value:
    """A value in Numba's representation, from its components."""
    if component_count(element) == 1:
        return value[0]
    packed = context.get_constant_undef(computed_type(element))
    for number, component_value in enumerate(value):
        packed = builder.insert_value(packed, component_value, number)
    return packed


def lanes_of(element: str) -> int:
    """Number of lanes of a vector: a power of two."""
    return min(_MAX_LANES, vector_bytes() // computing_dtype(element).itemsize)


def for_columns(
    builder: ir.IRBuilder,
    element: str,
    width: ir.Value,
    body: Callable[[ir.Value, int], None],
    vectors: int = 1,
) -> None:
    """Emit `body(column, count)` for all columns below `width`, `count` columns at a time.

    A count is the lanes of several `vectors`, of one, and fewer for the last columns.

    Each pass over the columns groups them alike: loading a vector right after narrower stores to it stalls.
    """
    begin = I64(0)
    lanes = lanes_of(element)
    for count in sorted({vectors * lanes, lanes, min(4, lanes), 1}, reverse=True):
        end = builder.and_(width, I64(-count))
        with cgutils.for_range_slice(builder, begin, end, I64(count), intp=I64, inc=True) as (column, _):
            body(column, count)
        begin = end
