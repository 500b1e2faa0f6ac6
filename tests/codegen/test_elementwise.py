"""The code of each elementwise operation on each element type gives the bits of its reference."""

import itertools

import numpy as np
import pytest

import nimblehlo
from nimblehlo import NimbleError
from nimblehlo.codegen.elementwise import emit, emits
from nimblehlo.codegen.elementwise_conversion import has_plain_codes
from nimblehlo.codegen.values import constant
from nimblehlo.ops import lookup
from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, INTEGER, SIGNED, storage_range
from tests.codegen.loops import looped
from tests.running import same_bits

INTEGERS = [type for type in ELEMENT_TYPES.values() if type.category & INTEGER]
FLOATS = [type for type in ELEMENT_TYPES.values() if type.category == FLOAT]
COMPLEXES = [type for type in ELEMENT_TYPES.values() if type.category == COMPLEX]
BOOLEANS = [ELEMENT_TYPES["i1"]]
SIGNED_TYPES = [type for type in INTEGERS if type.category == SIGNED]
ALL = list(ELEMENT_TYPES.values())
F4 = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN")
WITH_NAN = [type for type in FLOATS if type.name not in F4]


def values_of(type, count=40, seed=3):
    """Edge values of a type and random ones: all of its codes where it has few."""
    generator = np.random.default_rng(seed)
    if type.category == BOOLEAN:
        return np.array([False, True])
    if type.category & INTEGER:
        low, high = storage_range(type)
        edges = [v for v in (low, low + 1, -2, -1, 0, 1, 2, 3, 7, 31, 64, high - 1, high) if low <= v <= high]
        drawn = [int(v) for v in generator.integers(low, high, count, np.dtype(f"{'i' if low else 'u'}8"))]
        wide = np.array(edges + drawn, np.int64 if low else np.uint64)
        return wide.astype(type.dtype)
    if type.category == FLOAT and type.width < 16:
        return np.arange(1 << type.width, dtype=np.uint8).view(type.dtype)
    if type.category == COMPLEX:
        part = values_of(ELEMENT_TYPES[f"f{type.width // 2}"], 8)
        pairs = np.array(list(itertools.product(part, part)))
        return np.ascontiguousarray(pairs).view(type.dtype)[:, 0]
    edges = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 1e-3, np.inf, -np.inf, np.nan, 255.5, 1e9]
    edges += [float(np.finfo(np.float32).max), 2.0**31, -(2.0**31), 2.0**63, 2.0**64, 1e-45, -1e-40, 1e19]
    drawn = np.frombuffer(generator.bytes(count * type.dtype.itemsize), type.dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(edges).astype(type.dtype), drawn])


def grid(*columns):
    """All combinations of the columns' values, thinned out where there are many."""
    arrays = np.meshgrid(*[np.arange(len(column)) for column in columns], indexing="ij")
    step = max(1, arrays[0].size // 60_000) | 1
    return [
        np.ascontiguousarray(column[index.ravel()[::step]])
        for column, index in zip(columns, arrays, strict=True)
    ]


def operation_of(name, operands, result, attributes=""):
    """An operation on one-dimensional tensors of these element types."""
    types = [f"tensor<?x{type}>" for type in operands]
    names = [f"%a{index}" for index in range(len(operands))]
    text = (
        f"func.func @main({', '.join(f'{n}: {t}' for n, t in zip(names, types, strict=True))})"
        f" -> tensor<?x{result}> {{\n"
        f'  %r = "{name}"({", ".join(names)}) {{{attributes}}} : ({", ".join(types)}) -> tensor<?x{result}>\n'
        f"  return %r : tensor<?x{result}>\n}}"
    )
    (function,) = nimblehlo.load(text).body
    return function.body.block.operations[0]


def check(name, operands, result, attributes="", columns=None):
    """Compare the loop's results with the reference's."""
    operation = operation_of(name, operands, result, attributes)
    assert emits(operation)
    arrays = grid(*(columns or [values_of(type, seed=7 + k) for k, type in enumerate(operands)]))
    got = looped(lambda builder, *values: emit(builder, operation, values), operands, result)(*arrays)
    with np.errstate(all="ignore"):
        want = np.asarray(view(operation).reference(*arrays))
        assert want.dtype == got.dtype
        if not same_bits(got, want):
            differ = [k for k in range(got.size) if not same_bits(got[k : k + 1], want[k : k + 1])]
            first = differ[0]
            given = [array[first] for array in arrays]
            raise AssertionError(f"{len(differ)} differ, such as {given}: {got[first]}, not {want[first]}")


def view(operation):
    """The operation's declaration, bound to its types and attributes."""
    return lookup(operation.name)(operation)


UNARY = {
    "stablehlo.abs": SIGNED_TYPES + FLOATS,
    "stablehlo.ceil": FLOATS,
    "stablehlo.count_leading_zeros": INTEGERS,
    "stablehlo.floor": FLOATS,
    "stablehlo.negate": INTEGERS + FLOATS + COMPLEXES,
    "stablehlo.not": BOOLEANS + INTEGERS,
    "stablehlo.popcnt": INTEGERS,
    "stablehlo.round_nearest_afz": FLOATS,
    "stablehlo.round_nearest_even": FLOATS,
    "stablehlo.rsqrt": WITH_NAN,
    "stablehlo.sign": SIGNED_TYPES + FLOATS,
    "stablehlo.sqrt": WITH_NAN,
    "chlo.conj": FLOATS + COMPLEXES,
    "chlo.square": FLOATS + COMPLEXES,
}

BINARY = {
    "stablehlo.add": ALL,
    "stablehlo.and": BOOLEANS + INTEGERS,
    "stablehlo.divide": INTEGERS + WITH_NAN,
    "stablehlo.maximum": ALL,
    "stablehlo.minimum": ALL,
    "stablehlo.multiply": ALL,
    "stablehlo.or": BOOLEANS + INTEGERS,
    "stablehlo.power": INTEGERS,
    "stablehlo.remainder": INTEGERS + WITH_NAN,
    "stablehlo.shift_left": INTEGERS,
    "stablehlo.shift_right_arithmetic": INTEGERS,
    "stablehlo.shift_right_logical": INTEGERS,
    "stablehlo.subtract": INTEGERS + FLOATS + COMPLEXES,
    "stablehlo.xor": BOOLEANS + INTEGERS,
    "chlo.mulhi": INTEGERS,
}

PREDICATES = ("stablehlo.is_finite", "chlo.is_inf", "chlo.is_neg_inf", "chlo.is_pos_inf")


def cases(table):
    return [pytest.param(name, type, id=f"{name}-{type}") for name, types in table.items() for type in types]


@pytest.mark.parametrize(("name", "type"), cases(UNARY))
def test_unary(name, type):
    check(name, [type], type)


@pytest.mark.parametrize(("name", "type"), cases(BINARY))
def test_binary(name, type):
    check(name, [type, type], type)


@pytest.mark.parametrize(("name", "type"), cases(dict.fromkeys(PREDICATES, FLOATS)))
def test_predicates(name, type):
    check(name, [type], ELEMENT_TYPES["i1"])


@pytest.mark.parametrize("type", ALL, ids=str)
def test_compare(type):
    compare_types = ["NOTYPE"] + (["TOTALORDER"] if type.category == FLOAT else [])
    for direction, compare_type in itertools.product(("EQ", "NE", "GE", "GT", "LE", "LT"), compare_types):
        attributes = (
            f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
            f"compare_type = #stablehlo<comparison_type {compare_type}>"
        )
        check("stablehlo.compare", [type, type], ELEMENT_TYPES["i1"], attributes)


@pytest.mark.parametrize("type", ALL, ids=str)
def test_select_and_clamp(type):
    check("stablehlo.select", [ELEMENT_TYPES["i1"], type, type], type)
    few = [values_of(type, 5)[:24], values_of(type, 9), values_of(type, 5)[:24]]
    check("stablehlo.clamp", [type, type, type], type, columns=few)


@pytest.mark.parametrize("type", ALL, ids=str)
def test_convert(type):
    for target in ALL:
        if type.category == COMPLEX and target.category == BOOLEAN:
            continue
        columns = [values_of(type, 3000)]
        if type.category & INTEGER and type.width == 64:
            columns = [near_powers(type)]
        check("stablehlo.convert", [type], target, columns=columns)


def near_powers(type):
    """64-bit integers around powers of two and half-way between narrow floats."""
    powers = [1 << k for k in range(62)]
    halves = [(3 << k) + delta for k in range(60) for delta in (-1, 0, 1)]
    steps = [((1 << 8) + 1 << k) + delta for k in range(53) for delta in (-1, 0, 1)]
    digits = [((1 << 11) + 1 << k) + delta for k in range(50) for delta in (-1, 0, 1)]
    every = powers + halves + steps + digits
    if type.category == SIGNED:
        every += [-value for value in every]
    return np.concatenate([np.array(every, type.dtype), values_of(type, 3000)])


@pytest.mark.parametrize("type", ALL, ids=str)
def test_bitcast_convert(type):
    for target in ALL:
        if target.width == type.width and (target.category == COMPLEX) == (type.category == COMPLEX):
            operation = operation_of("stablehlo.bitcast_convert", [type], target)
            array = values_of(type)
            got = looped(lambda builder, value, o=operation: emit(builder, o, [value]), [type], target)(array)
            assert got.tobytes() == view(operation).reference(array).tobytes()


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_reduce_precision(type):
    for exponent, mantissa in itertools.product((1, 2, 4, 5, 8, 11, 20), (0, 1, 2, 3, 7, 10, 23, 60)):
        attributes = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
        check("stablehlo.reduce_precision", [type], type, attributes, [values_of(type, 2000)])


@pytest.mark.parametrize("type", [type for type in FLOATS if has_plain_codes(type)], ids=str)
def test_next_after(type):
    check("chlo.next_after", [type, type], type)


@pytest.mark.parametrize("type", COMPLEXES, ids=str)
def test_parts(type):
    part = ELEMENT_TYPES[f"f{type.width // 2}"]
    check("stablehlo.real", [type], part)
    check("stablehlo.imag", [type], part)
    check("stablehlo.complex", [part, part], type)
    check("stablehlo.imag", [part], part)


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_constant_operands(type):
    """LLVM has other ways for divisions by constants."""
    for name in ("stablehlo.divide", "stablehlo.remainder", "stablehlo.power"):
        operation = operation_of(name, [type, type], type)
        for scalar in values_of(type, 2):
            array = values_of(type)
            emitted = lambda builder, lhs, o=operation, c=scalar: emit(  # noqa: E731
                builder, o, [lhs, constant(type, c)]
            )
            got = looped(emitted, [type], type)(array)
            want = view(operation).reference(array, np.full_like(array, scalar))
            assert same_bits(got, want), (name, scalar)


def test_what_is_not_generated():
    f64, c64 = ELEMENT_TYPES["f64"], ELEMENT_TYPES["complex<f32>"]
    assert not emits(operation_of("stablehlo.exponential", [f64], f64))
    assert not emits(operation_of("stablehlo.divide", [c64, c64], c64))
    assert not emits(
        operation_of("stablehlo.divide", [ELEMENT_TYPES["f4E2M1FN"]] * 2, ELEMENT_TYPES["f4E2M1FN"])
    )
    with pytest.raises(NimbleError):
        operation_of("stablehlo.not", [f64], f64)
