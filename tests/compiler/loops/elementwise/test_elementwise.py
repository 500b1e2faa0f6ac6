"""The code of each elementwise operation on each element type gives the bits of its reference."""

import itertools

import numpy as np
import pytest

import nimblehlo
from nimblehlo import NimbleError, Options
from nimblehlo.compiler.loops.elementwise.emitted_operations import emits
from nimblehlo.compiler.loops.elementwise.rules import emit
from nimblehlo.compiler.loops.llvm.float_formats import has_ordered_bit_patterns
from nimblehlo.compiler.loops.llvm.values import constant
from nimblehlo.program.ops import lookup
from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, INTEGER, SIGNED, storage_range
from tests.compiler.loops.loops import looped_together
from tests.support.running import same_bits

INTEGERS = [type for type in ELEMENT_TYPES.values() if type.category & INTEGER]
FLOATS = [type for type in ELEMENT_TYPES.values() if type.category == FLOAT]
COMPLEXES = [type for type in ELEMENT_TYPES.values() if type.category == COMPLEX]
SINGLE_COMPLEX = [ELEMENT_TYPES["complex<f32>"]]
BOOLEANS = [ELEMENT_TYPES["i1"]]
SIGNED_TYPES = [type for type in INTEGERS if type.category == SIGNED]
ALL = list(ELEMENT_TYPES.values())


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
    step = max(1, arrays[0].size // 30_000) | 1
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
    check_together([operation_of(name, operands, result, attributes)], operands, [result], columns)


def check_together(operations, operands, results, columns=None):
    """Compare the results of operations on the same operands, in one loop, with the references'."""
    assert all(map(emits, operations))
    arrays = grid(*(columns or [values_of(type, seed=7 + k) for k, type in enumerate(operands)]))
    run = looped_together(
        lambda builder, *values: [emit(builder, operation, values) for operation in operations],
        operands,
        results,
    )
    for operation, got in zip(operations, run(*arrays), strict=True):
        compare(operation, arrays, got)


def compare(operation, arrays, got):
    """The bits must be those of the operation's reference."""
    with np.errstate(all="ignore"):
        want = np.asarray(view(operation).reference(*arrays))
        assert want.dtype == got.dtype
        if not same_bits(got, want):
            differ = [k for k in range(got.size) if not same_bits(got[k : k + 1], want[k : k + 1])]
            first = differ[0]
            given = [array[first] for array in arrays]
            example = f"{given}: {got[first]}, not {want[first]}"
            raise AssertionError(f"{operation.name} to {got.dtype}: {len(differ)} differ, such as {example}")


def view(operation):
    """The operation's declaration, bound to its types and attributes."""
    return lookup(operation.name)(operation)


UNARY = {
    "stablehlo.abs": SIGNED_TYPES + FLOATS,
    "stablehlo.ceil": FLOATS,
    "stablehlo.count_leading_zeros": INTEGERS,
    "stablehlo.exponential": SINGLE_COMPLEX,
    "stablehlo.floor": FLOATS,
    "stablehlo.log": SINGLE_COMPLEX,
    "stablehlo.negate": INTEGERS + FLOATS + COMPLEXES,
    "stablehlo.not": BOOLEANS + INTEGERS,
    "stablehlo.popcnt": INTEGERS,
    "stablehlo.round_nearest_afz": FLOATS,
    "stablehlo.round_nearest_even": FLOATS,
    "stablehlo.rsqrt": FLOATS + SINGLE_COMPLEX,
    "stablehlo.sign": SIGNED_TYPES + FLOATS + SINGLE_COMPLEX,
    "stablehlo.sqrt": FLOATS + SINGLE_COMPLEX,
    "chlo.conj": FLOATS + COMPLEXES,
    "chlo.square": FLOATS + COMPLEXES,
}

BINARY = {
    "stablehlo.add": ALL,
    "stablehlo.and": BOOLEANS + INTEGERS,
    "stablehlo.divide": INTEGERS + FLOATS + SINGLE_COMPLEX,
    "stablehlo.maximum": ALL,
    "stablehlo.minimum": ALL,
    "stablehlo.multiply": ALL,
    "stablehlo.or": BOOLEANS + INTEGERS,
    "stablehlo.power": INTEGERS,
    "stablehlo.remainder": INTEGERS + FLOATS,
    "stablehlo.shift_left": INTEGERS,
    "stablehlo.shift_right_arithmetic": INTEGERS,
    "stablehlo.shift_right_logical": INTEGERS,
    "stablehlo.subtract": INTEGERS + FLOATS + COMPLEXES,
    "stablehlo.xor": BOOLEANS + INTEGERS,
    "chlo.mulhi": INTEGERS,
}

PREDICATES = ("stablehlo.is_finite", "chlo.is_inf", "chlo.is_neg_inf", "chlo.is_pos_inf")


def check_table(table, type, count):
    """Compare all operations of a table that take the type."""
    operations = [operation_of(name, [type] * count, type) for name, types in table.items() if type in types]
    check_together(operations, [type] * count, [type] * len(operations))


@pytest.mark.parametrize("type", ALL, ids=str)
def test_unary(type):
    check_table(UNARY, type, 1)


@pytest.mark.parametrize("type", ALL, ids=str)
def test_binary(type):
    check_table(BINARY, type, 2)


def test_moduli_of_complex_numbers():
    type = ELEMENT_TYPES["complex<f32>"]
    # Squares of these would leave the range of f32.
    parts = values_of(ELEMENT_TYPES["f32"], 100)
    tiny = (np.arange(-40, 40) * 1e-45).astype(np.float32)
    for column in (
        parts,
        np.concatenate([tiny, np.float32([0.0, -0.0, 1e-38, 9e-19, 8e-19, 1e18, 2e18, 3e38])]),
    ):
        pairs = np.array(list(itertools.product(column, column)))
        operand = np.ascontiguousarray(pairs).view(type.dtype)[:, 0]
        check("stablehlo.abs", [type], ELEMENT_TYPES["f32"], columns=[operand])


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_predicates(type):
    boolean = ELEMENT_TYPES["i1"]
    operations = [operation_of(name, [type], boolean) for name in PREDICATES]
    check_together(operations, [type], [boolean] * len(operations))


@pytest.mark.parametrize("type", ALL, ids=str)
def test_compare(type):
    compare_types = ["NOTYPE"] + (["TOTALORDER"] if type.category == FLOAT else [])
    operations = [
        operation_of(
            "stablehlo.compare",
            [type, type],
            ELEMENT_TYPES["i1"],
            f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
            f"compare_type = #stablehlo<comparison_type {compare_type}>",
        )
        for direction, compare_type in itertools.product(("EQ", "NE", "GE", "GT", "LE", "LT"), compare_types)
    ]
    check_together(operations, [type, type], BOOLEANS * len(operations))


@pytest.mark.parametrize("type", ALL, ids=str)
def test_select_and_clamp(type):
    check("stablehlo.select", [ELEMENT_TYPES["i1"], type, type], type)
    few = [values_of(type, 5)[:24], values_of(type, 9), values_of(type, 5)[:24]]
    check("stablehlo.clamp", [type, type, type], type, columns=few)


@pytest.mark.parametrize("type", ALL, ids=str)
def test_convert(type):
    column = near_powers(type) if type.category & INTEGER and type.width == 64 else values_of(type, 3000)
    operations = [operation_of("stablehlo.convert", [type], target) for target in ALL]
    check_together(operations, [type], ALL, [column])


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
    is_complex = type.category == COMPLEX
    targets = [t for t in ALL if t.width == type.width and (t.category == COMPLEX) == is_complex]
    operations = [operation_of("stablehlo.bitcast_convert", [type], target) for target in targets]
    array = values_of(type)
    run = looped_together(
        lambda builder, value: [emit(builder, o, [value]) for o in operations], [type], targets
    )
    for operation, got in zip(operations, run(array), strict=True):
        assert got.tobytes() == view(operation).reference(array).tobytes()


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_reduce_precision(type):
    operations = [
        operation_of(
            "stablehlo.reduce_precision",
            [type],
            type,
            f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32",
        )
        for exponent, mantissa in itertools.product((1, 2, 5, 8, 20), (0, 1, 2, 7, 10, 23, 60))
    ]
    check_together(operations, [type], [type] * len(operations), [values_of(type, 2000)])


@pytest.mark.parametrize("type", [type for type in FLOATS if has_ordered_bit_patterns(type)], ids=str)
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
    array, scalars = values_of(type), values_of(type, 2)
    for name in ("stablehlo.divide", "stablehlo.remainder", "stablehlo.power"):
        operation = operation_of(name, [type, type], type)
        run = looped_together(
            lambda builder, lhs, o=operation: [emit(builder, o, [lhs, constant(type, c)]) for c in scalars],
            [type],
            [type] * len(scalars),
        )
        for scalar, got in zip(scalars, run(array), strict=True):
            compare(operation, [array, np.full_like(array, scalar)], got)


def test_what_is_not_generated():
    f64, c128 = ELEMENT_TYPES["f64"], ELEMENT_TYPES["complex<f64>"]
    assert not emits(operation_of("chlo.lgamma", [f64], f64))
    assert not emits(operation_of("stablehlo.divide", [c128, c128], c128))
    with pytest.raises(NimbleError):
        operation_of("stablehlo.not", [f64], f64)


@pytest.mark.parametrize("constant", [0.0, -0.0, 1.0, -1.0, np.nan])
@pytest.mark.parametrize("type", ["bf16", "f32", "f64"])
def test_extremes_of_a_constant(type: str, constant: float) -> None:
    bits = np.array(constant, ELEMENT_TYPES[type].dtype).tobytes()[::-1].hex().upper()
    values = values_of(ELEMENT_TYPES[type])
    tensor = f"tensor<{len(values)}x{type}>"
    cases = itertools.product(("maximum", "minimum"), ("%x, %constant", "%constant, %x"))
    lines = [f"%{n} = stablehlo.{name} {operands} : {tensor}" for n, (name, operands) in enumerate(cases)]
    results, types = ", ".join([f"%{n}" for n in range(len(lines))]), ", ".join([tensor] * len(lines))
    text = f"""func.func @main(%x: {tensor}) -> ({types}) {{
      %constant = stablehlo.constant dense<0x{bits}> : {tensor}
      {chr(10).join(lines)}
      return {results} : {types}
    }}"""
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert "generated" in executable.explain("plan")
    expected = nimblehlo.execute(text, [values], options=Options(compile="never"))
    assert all(map(same_bits, executable(values), expected))


@pytest.mark.parametrize("constant", [6.0, -0.5])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_extremes_of_arithmetic_and_a_constant(type: str, constant: float) -> None:
    """NaN is quiet after arithmetic, also where LLVM drops it: multiplying by one, adding -0."""
    values = values_of(ELEMENT_TYPES[type])
    tensor = f"tensor<{len(values)}x{type}>"
    arithmetic = ("multiply %x, %y", "add %x, %y", "multiply %x, %one", "add %x, %low", "maximum %x, %high")
    lines, results = [], []
    for number, operation in enumerate(arithmetic):
        lines.append(f"%v{number} = stablehlo.{operation} : {tensor}")
        for name, operands in (("maximum", f"%v{number}, %c"), ("minimum", f"%c, %v{number}")):
            results.append(f"%{name[:3]}{number}")
            lines.append(f"{results[-1]} = stablehlo.{name} {operands} : {tensor}")
    types = ", ".join([tensor] * len(results))
    text = f"""func.func @main(%x: {tensor}, %y: {tensor}) -> ({types}) {{
      %c = stablehlo.constant dense<{constant}> : {tensor}
      %one = stablehlo.constant dense<1.0> : {tensor}
      %low = stablehlo.constant dense<-0.0> : {tensor}
      %high = stablehlo.constant dense<0.0> : {tensor}
      {chr(10).join(lines)}
      return {", ".join(results)} : {types}
    }}"""
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    inputs = [values, np.roll(values, 3)]
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    assert all(map(same_bits, executable(*inputs), expected))
