"""Arithmetic on single elements and on vectors of them, for the loops of the other modules.

Each function here is compiled into the loop that calls it. `element` and `monoid` are names of `monoids`,
constant where a loop is compiled. Importing this module imports Numba: only modules of loops do, when they
are first needed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils as numba_cgutils
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic as numba_intrinsic
from numba.np.numpy_support import from_dtype

from .monoids import Combination, computing_dtype, is_exact
from .reduce import LANES

cgutils: Any = numba_cgutils
intrinsic: Any = numba_intrinsic
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)

Value = tuple[Any, ...]  # LLVM values: one of a real number, two of a complex one; scalars or vectors


def _literal(name: Any) -> str:
    if not isinstance(name, types.StringLiteral):
        raise RequireLiteralValue("the name of an element type or a monoid must be a constant")
    return str(name.literal_value)


def _computed_type(element: str) -> Any:
    return from_dtype(computing_dtype(element))


def _component(element: str) -> Any:
    """The LLVM type of a real number, or of each part of a complex one, as computed."""
    if element.startswith(("int", "uint")):
        return ir.IntType(computing_dtype(element).itemsize * 8)
    return ir.DoubleType() if element in ("float64", "complex128") else ir.FloatType()


def _stored_component(element: str) -> Any:
    return ir.IntType(16) if element in ("bfloat16", "float16") else _component(element)


def _parts(element: str) -> int:
    return 2 if element.startswith("complex") else 1


def _like(kind: Any, shape: Any) -> Any:
    """The type `kind`, as a vector of as many lanes as `shape` has."""
    return ir.VectorType(kind, shape.count) if isinstance(shape, ir.VectorType) else kind


def _constant(kind: Any, value: int) -> Any:
    if isinstance(kind, ir.VectorType):
        return ir.Constant(kind, [ir.Constant(kind.element, value)] * kind.count)
    return ir.Constant(kind, value)


def _widened(builder: Any, element: str, bits: Any) -> Any:
    """float32 of stored bits."""
    if element == "float16":
        half = builder.bitcast(bits, _like(ir.HalfType(), bits.type))
        return builder.fpext(half, _like(ir.FloatType(), bits.type))
    wide = _like(_I32, bits.type)
    return builder.bitcast(
        builder.shl(builder.zext(bits, wide), _constant(wide, 16)), _like(ir.FloatType(), wide)
    )


def _narrowed(builder: Any, element: str, value: Any) -> Any:
    """Stored bits of a float32, rounded to nearest even; a NaN stays one."""
    short = _like(ir.IntType(16), value.type)
    if element == "float16":
        return builder.bitcast(builder.fptrunc(value, _like(ir.HalfType(), value.type)), short)
    wide = _like(_I32, value.type)
    bits = builder.bitcast(value, wide)
    odd = builder.and_(builder.lshr(bits, _constant(wide, 16)), _constant(wide, 1))
    rounded = builder.add(bits, builder.add(odd, _constant(wide, 0x7FFF)))
    quiet = builder.or_(bits, _constant(wide, 0x400000))
    kept = builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)
    return builder.trunc(builder.lshr(kept, _constant(wide, 16)), short)


def _apply(builder: Any, kind: Combination, left: Value, right: Value) -> Value:
    """`left` combined with `right`."""
    element, monoid = kind
    if element.startswith("complex"):
        return _apply_complex(builder, monoid, left, right)
    (a,), (b,) = left, right
    if element.startswith(("int", "uint")):
        return (_apply_integer(builder, element, monoid, a, b),)
    if monoid in ("add", "multiply"):
        return ((builder.fadd if monoid == "add" else builder.fmul)(a, b),)
    name = f"llvm.{monoid}.{_intrinsic_suffix(a.type)}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type, a.type]), name)
    return (builder.call(function, [a, b]),)


def _intrinsic_suffix(kind: Any) -> str:
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{_intrinsic_suffix(kind.element)}"
    return "f64" if isinstance(kind, ir.DoubleType) else "f32"


def _apply_integer(builder: Any, element: str, monoid: str, a: Any, b: Any) -> Any:
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


def _apply_complex(builder: Any, monoid: str, left: Value, right: Value) -> Value:
    (a, b), (c, d) = left, right
    if monoid == "add":
        return builder.fadd(a, c), builder.fadd(b, d)
    if monoid == "multiply":
        real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
        return real, builder.fadd(builder.fmul(a, d), builder.fmul(b, c))
    relation = ">" if monoid == "maximum" else "<"
    by_real, by_imaginary = builder.fcmp_ordered(relation, a, c), builder.fcmp_ordered(relation, b, d)
    first = builder.select(builder.fcmp_ordered("==", a, c), by_imaginary, by_real)
    return builder.select(first, a, c), builder.select(first, b, d)


def _data(context: Any, builder: Any, array_type: Any, array: Any, element: str) -> Any:
    """The address of an array's items, as stored components."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(data, _stored_component(element).as_pointer())


def _load_lanes(builder: Any, element: str, data: Any, index: Any, lanes: int) -> Value:
    """The values of `lanes` elements from `index` on; of a single one as scalars."""
    parts = _parts(element)
    stored = _stored_component(element)
    address = builder.gep(data, [builder.mul(index, _I64(parts))])
    if lanes * parts > 1:
        address = builder.bitcast(address, ir.VectorType(stored, lanes * parts).as_pointer())
    loaded = builder.load(address, align=_alignment(stored))
    if parts == 2:
        if lanes == 1:
            return builder.extract_element(loaded, _I32(0)), builder.extract_element(loaded, _I32(1))
        return _selected(builder, loaded, range(0, 2 * lanes, 2)), _selected(
            builder, loaded, range(1, 2 * lanes, 2)
        )
    return (_widened(builder, element, loaded) if element in ("bfloat16", "float16") else loaded,)


def _alignment(stored: Any) -> int:
    if isinstance(stored, ir.IntType):
        return int(stored.width) // 8
    return 8 if isinstance(stored, ir.DoubleType) else 4


def _selected(builder: Any, vector: Any, lanes: Sequence[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_I32, len(lanes)), [_I32(lane) for lane in lanes])
    return builder.shuffle_vector(vector, vector, mask)


def _unpacked(builder: Any, element: str, value: Any) -> Value:
    """The parts of a value as Numba holds it."""
    if _parts(element) == 1:
        return (value,)
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


def _packed(context: Any, builder: Any, element: str, value: Value) -> Any:
    """A value as Numba holds it."""
    if _parts(element) == 1:
        return value[0]
    packed = context.get_constant_undef(_computed_type(element))
    for number, part in enumerate(value):
        packed = builder.insert_value(packed, part, number)
    return packed


@intrinsic(prefer_literal=True)
def load(typing_context: Any, element: Any, array: Any, index: Any) -> Any:
    """The element of a one-dimensional array, as the type in which it is computed with."""
    name = _literal(element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, array, arguments[1], name)
        return _packed(context, builder, name, _load_lanes(builder, name, data, arguments[2], 1))

    return _computed_type(name)(element, array, types.intp), generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, element: Any, array: Any, index: Any, value: Any) -> Any:
    """Round a value to its element type, and write it into a one-dimensional array."""
    name = _literal(element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, array, arguments[1], name)
        parts = _unpacked(builder, name, arguments[3])
        if name in ("bfloat16", "float16"):
            parts = (_narrowed(builder, name, parts[0]),)
        for number, part in enumerate(parts):
            position = builder.add(builder.mul(arguments[2], _I64(len(parts))), _I64(number))
            builder.store(part, builder.gep(data, [position]))
        return context.get_dummy_value()

    return types.void(element, array, types.intp, _computed_type(name)), generate


@intrinsic
def get(typing_context: Any, array: Any, index: Any) -> Any:
    """`array[index]` of a flat array, where no index is negative: such loops become vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return context.unpack_value(builder, array.dtype, builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate


@intrinsic
def put(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """`array[index] = value`, where no index is negative."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        context.pack_value(builder, array.dtype, arguments[2], builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic(prefer_literal=True)
def combine(typing_context: Any, element: Any, monoid: Any, left: Any, right: Any) -> Any:
    """`left` combined with `right`, both as computed."""
    kind = Combination(_literal(element), _literal(monoid))
    name = kind.element

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b = (_unpacked(builder, name, argument) for argument in arguments[2:])
        return _packed(context, builder, name, _apply(builder, kind, a, b))

    computed = _computed_type(name)
    return computed(element, monoid, computed, computed), generate


def _slots(builder: Any, element: str) -> list[Any]:
    """Room on the stack for LANES values: an address for each part."""
    lanes = ir.VectorType(_component(element), LANES)
    return [cgutils.alloca_once(builder, lanes) for _ in range(_parts(element))]


def _read(builder: Any, slots: list[Any]) -> Value:
    return tuple(builder.load(slot) for slot in slots)


def _write(builder: Any, slots: list[Any], value: Value) -> None:
    for slot, part in zip(slots, value, strict=True):
        builder.store(part, slot)


class _Source(NamedTuple):
    """Elements of an array, to be folded by code under construction."""

    builder: Any
    kind: Combination
    data: Any
    start: Any
    count: Any

    def value(self, position: Any, lanes: int) -> Value:
        index = self.builder.add(self.start, position)
        return _load_lanes(self.builder, self.kind.element, self.data, index, lanes)

    def add_to(self, slots: list[Any], position: Any, lanes: int) -> None:
        """Combine what the slots hold with the elements from `position` on."""
        combined = _apply(self.builder, self.kind, _read(self.builder, slots), self.value(position, lanes))
        _write(self.builder, slots, combined)

    def lane(self, slots: list[Any], lane: Any) -> list[Any]:
        """The addresses of one lane's parts."""
        component = _component(self.kind.element).as_pointer()
        return [self.builder.gep(self.builder.bitcast(slot, component), [lane]) for slot in slots]


def _fold_many(source: _Source) -> Value:
    """At least LANES elements; where the order changes no bit, by several vectors at a time."""
    builder, kind = source.builder, source.kind
    vectors = [_slots(builder, kind.element) for _ in range(4 if is_exact(kind) else 1)]
    step = LANES * len(vectors)
    first = vectors[0]
    _write(builder, first, source.value(_I64(0), LANES))
    position = cgutils.alloca_once_value(builder, _I64(LANES))
    if len(vectors) > 1:
        with builder.if_then(builder.icmp_signed(">=", source.count, _I64(step))):
            for number, slots in enumerate(vectors):
                _write(builder, slots, source.value(_I64(number * LANES), LANES))
            end = builder.and_(source.count, _I64(-step))
            with cgutils.for_range_slice(builder, _I64(step), end, _I64(step), intp=_I64, inc=True) as (
                at,
                _,
            ):
                for number, slots in enumerate(vectors):
                    source.add_to(slots, builder.add(at, _I64(number * LANES)), LANES)
            for slots in vectors[1:]:
                _write(builder, first, _apply(builder, kind, _read(builder, first), _read(builder, slots)))
            builder.store(end, position)
    whole = builder.and_(source.count, _I64(-LANES))
    begin = builder.load(position)
    with cgutils.for_range_slice(builder, begin, whole, _I64(LANES), intp=_I64, inc=True) as (at, _):
        source.add_to(first, at, LANES)
    with cgutils.for_range_slice(builder, whole, source.count, _I64(1), intp=_I64, inc=True) as (at, _):
        source.add_to(source.lane(first, builder.sub(at, whole)), at, 1)
    return _fold_pairwise(builder, kind, _read(builder, first))


def _fold_few(source: _Source) -> Value:
    """Fewer than LANES elements."""
    builder, kind = source.builder, source.kind
    slots = _slots(builder, kind.element)
    with cgutils.for_range(builder, source.count, intp=_I64) as loop:
        _write(builder, source.lane(slots, loop.index), source.value(loop.index, 1))
    left = cgutils.alloca_once_value(builder, source.count)
    again, done = builder.append_basic_block("again"), builder.append_basic_block("done")
    builder.branch(again)
    builder.position_at_end(again)
    count = builder.load(left)
    half = builder.lshr(builder.add(count, _I64(1)), _I64(1))
    with cgutils.for_range(builder, builder.sub(count, half), intp=_I64) as loop:
        low, high = source.lane(slots, loop.index), source.lane(slots, builder.add(loop.index, half))
        _write(builder, low, _apply(builder, kind, _read(builder, low), _read(builder, high)))
    builder.store(half, left)
    builder.cbranch(builder.icmp_signed(">", half, _I64(1)), again, done)
    builder.position_at_end(done)
    return _read(builder, source.lane(slots, _I64(0)))


def _fold_pairwise(builder: Any, kind: Combination, value: Value) -> Value:
    lanes = LANES
    while lanes > 1:
        half = lanes // 2
        low = tuple(_selected(builder, part, range(half)) for part in value)
        high = tuple(_selected(builder, part, range(half, lanes)) for part in value)
        value, lanes = _apply(builder, kind, low, high), half
    return tuple(builder.extract_element(part, _I32(0)) for part in value)


@intrinsic(prefer_literal=True)
def fold_block(typing_context: Any, element: Any, monoid: Any, array: Any, start: Any, count: Any) -> Any:
    """One or more elements of a flat array folded into one, in the order of a block with LANES lanes."""
    kind = Combination(_literal(element), _literal(monoid))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, array, arguments[2], kind.element)
        source = _Source(builder, kind, data, *arguments[3:])
        total = [cgutils.alloca_once(builder, _component(kind.element)) for _ in range(_parts(kind.element))]
        with builder.if_else(builder.icmp_signed(">=", source.count, _I64(LANES)), likely=True) as (
            many,
            few,
        ):
            with many:
                _write(builder, total, _fold_many(source))
            with few:
                _write(builder, total, _fold_few(source))
        return _packed(context, builder, kind.element, _read(builder, total))

    return _computed_type(kind.element)(element, monoid, array, types.intp, types.intp), generate
