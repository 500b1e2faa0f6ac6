"""Tables in registers, estimates and scaling: right for any number of lanes, one instruction for a vector."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest
from llvmlite import ir

from nimblehlo.compiler.loops.llvm import vector_variants
from nimblehlo.compiler.loops.llvm.codegen import CodeGenerator
from nimblehlo.compiler.loops.llvm.values import I64
from nimblehlo.kernels.launch.processor import (
    has_conversions_of_i64,
    has_fast_memory_operands,
    has_range,
    has_rsqrt14,
    has_scalef,
    has_two_register_permute,
)
from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.loops.loops import looped, module_of

TABLE = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, vector_variants.ENTRIES)
TYPE = ELEMENT_TYPES["i64"]
F64 = ELEMENT_TYPES["f64"]
F32, I32 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["i32"]
_GENERATOR = CodeGenerator()

wide = pytest.mark.skipif(
    not (has_two_register_permute() and has_rsqrt14()),
    reason="this processor has no instructions for it",
)
ranging = pytest.mark.skipif(not has_range(), reason="this processor has no range instruction")
scaling = pytest.mark.skipif(not has_scalef(), reason="this processor has no instruction that scales")
narrow = pytest.mark.skipif(
    not has_fast_memory_operands(), reason="this processor keeps constants in registers"
)


def emit(builder: ir.IRBuilder, index: tuple[Any, ...]) -> tuple[Any, ...]:
    type = ir.ArrayType(I64, len(TABLE))
    table = ir.GlobalVariable(builder.module, type, "numbers")
    table.linkage, table.global_constant, table.align = "internal", True, 64
    table.initializer = ir.Constant(type, [I64(int(number)) for number in TABLE])
    return (vector_variants.entry(builder, table, index[0]),)


@wide
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_only_the_lowest_bits_of_an_index_count(count: int) -> None:
    index = np.random.default_rng(count).integers(-(2**63), 2**63 - 1, count)
    assert (looped(emit, [TYPE], TYPE)(index) == TABLE[index & (vector_variants.ENTRIES - 1)]).all()


@wide
def test_a_loop_of_vectors_picks_all_lanes_at_once() -> None:
    text = str(module_of(lambda *arguments: [emit(*arguments)], [TYPE], [TYPE]))
    module = _GENERATOR.optimised(text)
    loop = str(module.get_function("loop"))
    assert "@llvm.x86.avx512.vpermi2var.q.512(" in loop
    assert "@entry" not in loop


def emit_inverse_root(builder: ir.IRBuilder, value: tuple[Any, ...]) -> tuple[Any, ...]:
    return (vector_variants.inverse_root(builder, value[0]),)


@wide
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_estimates_of_inverse_roots(count: int) -> None:
    value = np.exp(np.random.default_rng(count).uniform(-700, 700, count))
    estimate = looped(emit_inverse_root, [F64], F64)(value)
    assert (np.abs(estimate * np.sqrt(value) - 1) <= 2.0**-14).all()


@wide
@pytest.mark.parametrize("count", [1, 16])
def test_estimates_of_what_has_no_finite_inverse_root(count: int) -> None:
    for value, wanted in ((0.0, np.inf), (-0.0, -np.inf), (np.inf, 0.0), (-1.0, np.nan), (np.nan, np.nan)):
        estimate = looped(emit_inverse_root, [F64], F64)(np.full(count, value))
        np.testing.assert_array_equal(estimate, np.full(count, wanted))


@wide
def test_a_loop_of_vectors_estimates_all_lanes_at_once() -> None:
    text = str(module_of(lambda *arguments: [emit_inverse_root(*arguments)], [F64], [F64]))
    loop = str(_GENERATOR.optimised(text).get_function("loop"))
    assert "@llvm.x86.avx512.rsqrt14.pd.512(" in loop
    assert "@inverse_root" not in loop


@wide
def test_both_functions_in_one_module() -> None:
    index = np.arange(-50, 51)

    def emit_both(builder: ir.IRBuilder, index: tuple[Any, ...]) -> tuple[Any, ...]:
        (found,) = emit(builder, index)
        root = vector_variants.inverse_root(builder, builder.sitofp(index[0], ir.DoubleType()))
        is_positive = builder.fcmp_ordered(">", root, ir.Constant(root.type, 0.0))
        return (builder.select(is_positive, found, I64(0)),)

    wanted = np.where(index >= 0, TABLE[index & (vector_variants.ENTRIES - 1)], 0)
    assert (looped(emit_both, [TYPE], TYPE)(index) == wanted).all()


@wide
def test_modules_without_tables_stay_as_they_are() -> None:
    module = _GENERATOR.optimised(str(module_of(lambda _, value: [value], [TYPE], [TYPE])))
    assert "entry_of" not in str(module)
    assert "inverse_root" not in str(module)


EXTREMES = {
    ">": lambda a, b: b if b > a or (a == b == 0 and np.signbit(a)) else a,
    "<": lambda a, b: b if b < a or (a == b == 0 and np.signbit(b)) else a,
}


def emit_extreme(relation: str) -> Any:
    return lambda builder, lhs, rhs: (vector_variants.extreme(builder, relation, lhs[0], rhs[0]),)


@ranging
@pytest.mark.parametrize("relation", EXTREMES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_extremes_of_zeros_and_nans(relation: str, name: str, count: int) -> None:
    type = ELEMENT_TYPES[name]
    signaling = np.array(0x7FA00000, np.uint32).view(np.float32) if name == "f32" else np.nan
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, signaling, 1e-45, -1e-45, 1.0, -1.0, 3e38]
    with np.errstate(over="ignore", invalid="ignore"):
        lhs, rhs = np.random.default_rng(count).choice(np.array(special, type.dtype), (2, count))
        if count == 1001:
            lhs[:144], rhs[:144] = np.repeat(special, 12), np.tile(special, 12)
        pairs = zip(lhs, rhs, strict=True)
        want = [a + b if np.isnan(a + b) and a != -b else EXTREMES[relation](a, b) for a, b in pairs]
    got = looped(emit_extreme(relation), [type, type], type)(lhs, rhs)
    np.testing.assert_array_equal(got, want)
    is_number = ~np.isnan(got)
    assert (np.signbit(got) == np.signbit(want))[is_number].all()


@ranging
def test_a_loop_of_vectors_selects_all_lanes_at_once() -> None:
    f32 = ELEMENT_TYPES["f32"]
    text = str(module_of(lambda *arguments: [emit_extreme(">")(*arguments)], [f32, f32], [f32]))
    loop = str(_GENERATOR.optimised(text).get_function("loop"))
    assert "@llvm.x86.avx512.mask.range.ps." in loop
    assert "@greater" not in loop


def emit_remainder(builder: ir.IRBuilder, lhs: tuple[Any, ...], rhs: tuple[Any, ...]) -> Any:
    return (vector_variants.remainder(builder, lhs[0], rhs[0]),)


def operands_of_remainders(count: int, dtype: Any) -> tuple[Any, Any]:
    """Multiples of divisors and their neighbors; random bits; zeros, NaN, largest and smallest numbers."""
    random, info = np.random.default_rng(count), np.finfo(dtype)
    bits = random.integers(0, 2 ** (8 * info.dtype.itemsize) - 1, (2, 1000), dtype=np.uint64)
    random_lhs, random_rhs = bits.astype(f"u{info.dtype.itemsize}").view(dtype)
    divisors = random.uniform(-3, 3, 1000).astype(dtype)
    multiples = divisors * np.trunc(2.0 ** random.uniform(0, info.nmant + 3, 1000)).astype(dtype)
    neighbors = [np.nextafter(multiples, dtype(side)) for side in (np.inf, -np.inf)]
    special = [0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan, 2.0**info.nmant, 4.0 * 2.0**info.nmant]
    special = np.array([*special, info.max, info.smallest_subnormal, info.tiny], dtype)
    all_lhs, all_rhs = [values.ravel() for values in np.meshgrid(special, special)]
    lhs = np.concatenate([multiples, *neighbors, random_lhs, all_lhs])
    rhs = np.concatenate([divisors, divisors, divisors, random_rhs, all_rhs])
    first = random.integers(0, len(special) ** 2)
    return np.roll(lhs, first)[:count], np.roll(rhs, first)[:count]


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 6000])
def test_remainders_are_exact(name: str, count: int) -> None:
    type = ELEMENT_TYPES[name]
    with np.errstate(all="ignore"):
        lhs, rhs = operands_of_remainders(count, type.dtype.type)
        want = np.fmod(lhs, rhs)
    got = looped(emit_remainder, [type, type], type)(lhs, rhs)
    np.testing.assert_array_equal(got, want)
    is_number = ~np.isnan(want)
    assert (np.signbit(got) == np.signbit(want))[is_number].all()


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_a_loop_of_vectors_divides_all_lanes_at_once(name: str) -> None:
    type = ELEMENT_TYPES[name]
    module = module_of(lambda *operands: [emit_remainder(*operands)], [type, type], [type])
    loop = str(_GENERATOR.optimised(str(module)).get_function("loop"))
    assert re.search(rf"fdiv <\d+ x {'float' if name == 'f32' else 'double'}>", loop)
    assert "@remainder" not in loop


def operands_of_quotients(count: int, is_signed: bool) -> tuple[Any, Any]:
    """Multiples of divisors and their neighbors; numbers of all lengths; the largest and smallest ones."""
    random = np.random.default_rng(count)
    edges = [2**bit + around for bit in (1, 31, 32, 52, 53, 54, 62, 63, 64) for around in (-2, -1, 0, 1)]
    special = np.array([edge for edge in [0, 1, *edges] if 0 <= edge < 2**64], np.uint64)
    all_lhs, all_rhs = [values.ravel() for values in np.meshgrid(special, special)]
    bits, lengths = random.integers(0, 2**64 - 1, (2, 20_000), np.uint64), random.integers(0, 64, (2, 20_000))
    random_lhs, random_rhs = bits >> lengths.astype(np.uint64)
    multiples = random_lhs // np.maximum(random_rhs, 1) * random_rhs
    sides = [multiples + np.uint64(around % 2**64) for around in (-1, 0, 1)]
    lhs = np.concatenate([all_lhs, random_lhs, *sides])
    rhs = np.concatenate([all_rhs, random_rhs, random_rhs, random_rhs, random_rhs])
    lhs, rhs = [np.roll(values, -int(random.integers(0, lhs.size)))[:count] for values in (lhs, rhs)]
    if not is_signed:
        return lhs, np.maximum(rhs, 1)
    lhs, rhs = lhs.view(np.int64), rhs.view(np.int64)
    lhs, rhs = lhs * random.choice([-1, 1], lhs.size), rhs * random.choice([-1, 1], rhs.size)
    is_undefined = (rhs == 0) | ((rhs == -1) & (lhs == -(2**63)))
    return lhs, np.where(is_undefined, 1, rhs)


@pytest.mark.skipif(not has_conversions_of_i64(), reason="no conversions of vectors of i64")
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 90_000])
def test_quotients_are_exact(is_signed: bool, count: int) -> None:
    def emit_quotient(builder: ir.IRBuilder, lhs: tuple[Any, ...], rhs: tuple[Any, ...]) -> Any:
        return (vector_variants.quotient(builder, lhs[0], rhs[0], is_signed),)

    type = TYPE if is_signed else ELEMENT_TYPES["ui64"]
    lhs, rhs = operands_of_quotients(count, is_signed)
    want = lhs // rhs
    if is_signed:
        want += ((lhs < 0) != (rhs < 0)) & (want * rhs != lhs)
    np.testing.assert_array_equal(looped(emit_quotient, [type, type], type)(lhs, rhs), want)
    loop = str(
        _GENERATOR.optimised(
            str(module_of(lambda *operands: [emit_quotient(*operands)], [type, type], [type]))
        ).get_function("loop")
    )
    assert re.search(r"fdiv <\d+ x double>", loop)
    assert "quotient" not in loop


def emit_times_power(builder: ir.IRBuilder, value: tuple[Any, ...], exponent: tuple[Any, ...]) -> Any:
    return (vector_variants.times_power(builder, value[0], exponent[0]),)


@scaling
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_products_with_powers_of_two(count: int) -> None:
    random = np.random.default_rng(count)
    value, exponent = random.uniform(0.5, 2, count), random.integers(-160, 130, count)
    value, exponent = value.astype(np.float32), exponent.astype(np.float32)
    exponent[::5] = np.nan
    got = looped(emit_times_power, [F32, F32], F32)(value, exponent)
    with np.errstate(all="ignore"):
        want = np.ldexp(value, np.where(np.isnan(exponent), 0, exponent).astype(np.int32))
    np.testing.assert_array_equal(got, np.where(np.isnan(exponent), np.nan, want))


def emit_nearest_integer(builder: ir.IRBuilder, value: tuple[Any, ...]) -> Any:
    return (vector_variants.nearest_integer(builder, value[0]),)


@scaling
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_nearest_integers(count: int) -> None:
    value = (np.random.default_rng(count).integers(-(2**24), 2**24, count) / 4).astype(np.float32)
    assert (looped(emit_nearest_integer, [F32], I32)(value) == np.rint(value)).all()


@scaling
def test_a_loop_of_vectors_scales_and_rounds_all_lanes_at_once() -> None:
    def emit(builder: ir.IRBuilder, value: tuple[Any, ...], exponent: tuple[Any, ...]) -> list[Any]:
        product = emit_times_power(builder, value, exponent)
        return [emit_nearest_integer(builder, product)]

    loop = str(_GENERATOR.optimised(str(module_of(emit, [F32, F32], [I32]))).get_function("loop"))
    assert "@llvm.x86.avx512.mask.scalef.ps." in loop
    assert "ps2dq" in loop
    assert "@times_power" not in loop and "@nearest_integer" not in loop


def emit_fma(builder: ir.IRBuilder, operands: Any) -> tuple[Any, ...]:
    value, factor = (operand[0] for operand in operands)
    return (vector_variants.fma(builder, vector_variants.fma(builder, value, factor, 0.1), factor, -3.0),)


@narrow
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_sums_with_numbers_in_memory_are_rounded_once(count: int) -> None:
    value, factor = np.random.default_rng(count).normal(size=(2, count))
    # With 400 bits all is exact before it is rounded.
    with mpmath.workprec(400):
        once = [float(mpmath.mpf(a) * b + mpmath.mpf(0.1)) for a, b in zip(value, factor, strict=True)]
        twice = [float(mpmath.mpf(a) * b - 3) for a, b in zip(once, factor, strict=True)]
    result = looped(lambda builder, *operands: emit_fma(builder, operands), [F64, F64], F64)(value, factor)
    np.testing.assert_array_equal(result, twice)


@narrow
def test_a_loop_of_vectors_reads_what_it_adds() -> None:
    text = str(module_of(lambda builder, *operands: [emit_fma(builder, operands)], [F64, F64], [F64]))
    loop = str(_GENERATOR.optimised(text).get_function("loop"))
    assert "@llvm.fma.v4f64(" in loop
    assert "load <4 x double>, ptr @number_" in loop
    assert "@fma" not in loop.replace("@llvm.fma", "")


def test_functions_without_variants_are_called_for_each_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    one_lane = {name: {1: lanes[1]} for name, lanes in vector_variants._library().items()}
    monkeypatch.setattr(vector_variants, "_library", lambda: one_lane)

    def emit_sine(builder: ir.IRBuilder, index: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        value = builder.uitofp(index[0], ir.DoubleType())
        return [(builder.fptosi(vector_variants.call_library(builder, "sine", [value]), I64),)]

    module = str(_GENERATOR.optimised(str(module_of(emit_sine, [TYPE], [TYPE]))))
    assert "nimblehlo_f64_sine" in module
    assert "lanes" not in module
