"""Generated transcendental functions give the bits of their references.

tools/generated_functions.py compares on all values of f32; here is a sample.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from nimblehlo.compiler.loops.elementwise.emitted_operations import emits
from nimblehlo.compiler.loops.elementwise.rules import emit
from nimblehlo.compiler.loops.mathematics import error_functions, exponential, function_of, reals, roots
from nimblehlo.kernels.launch import processor
from nimblehlo.program.ops.elementwise.arithmetic import Rsqrt
from nimblehlo.program.ops.framework.declaration import Op, declarations, lookup
from nimblehlo.program.ops.numerics.result_accuracy import is_fast, round_correctly
from nimblehlo.types import ELEMENT_TYPES, FLOAT
from tests.compiler.loops.elementwise.test_elementwise import operation_of
from tests.compiler.loops.loops import looped
from tests.support.running import same_bits

BINARY = ("stablehlo.atan2", "stablehlo.power")
UNARY = [one.name for one in declarations() if one.emit.function and one.name not in BINARY]
F32 = ELEMENT_TYPES["f32"]
NARROW = [type for type in ELEMENT_TYPES.values() if type.category == FLOAT and type.width < 32]
_NUMBERS = """
    0.0 1e-45 1e-40 1.1754944e-38 1e-20 5.9604645e-8 0.25 0.49999997 0.5 0.50000006 0.75 0.99999994 1.0
    1.0000001 1.5 2.0 3.0 4.0 9.0 10.0 10.06 11.0 17.0 88.7 88.73 89.4 103.9 104.0 110.0 111.0 16777215.0
    16777216.0 1.8014399e16 9.671407e24 5.1922969e33 1e38 3.4028235e38 inf nan
"""
EDGES = np.array(_NUMBERS.split(), np.float32)
EDGES = np.concatenate([EDGES, -EDGES])


def check(name, type, *arrays):
    """Compare on arrays, by fast functions too; a difference in one bit is one."""
    operation = operation_of(name, [type] * len(arrays), type)
    check_operation(operation, type, *arrays)
    if is_fast(operation, type):
        round_correctly([operation])
        check_operation(operation, type, *arrays)


def check_operation(operation, type, *arrays):
    """Compare what an operation does."""
    assert emits(operation)
    got = looped(lambda builder, *values: emit(builder, operation, values), [type] * len(arrays), type)(
        *arrays
    )
    with np.errstate(all="ignore"):
        want = Op.of(operation).plain_function(type)(*arrays)
    if not same_bits(got, want):
        bits = f"u{got.dtype.itemsize}"
        nan = np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32))
        (places,) = np.nonzero((got.view(bits) != want.view(bits)) & ~nan)
        k = places[0]
        raise AssertionError(f"{places.size} differ: {[a[k] for a in arrays]} gave {got[k]}, not {want[k]}")


def multiples_of_half_pi():
    """f32 values nearest to multiples of pi / 2, great ones too: where sines and cosines almost vanish."""
    whole = np.concatenate(
        [np.arange(1, 3000), np.float64(2) ** np.arange(12, 60), [3.0**k for k in range(8, 38)]]
    )
    return (whole * (np.pi / 2)).astype(np.float32)


@pytest.mark.parametrize("name", UNARY)
def test_unary_of_f32(name):
    sampled = np.arange(1, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    spread = np.random.default_rng(5).uniform(-12, 12, 50_000).astype(np.float32)
    check(name, F32, np.concatenate([EDGES, sampled, spread, multiples_of_half_pi()]))


@pytest.mark.sampled
@pytest.mark.parametrize("type", NARROW, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_of_every_narrow_value(name, type):
    check(name, type, np.arange(1 << type.width, dtype=f"u{type.dtype.itemsize}").view(type.dtype))


def test_functions_of_f16_that_are_computed_in_f32():
    named = [name for name in UNARY if lookup(name).emit.half_function]
    assert "stablehlo.tanh" in named and "stablehlo.rsqrt" in named
    for name in named:
        check(name, ELEMENT_TYPES["f16"], np.arange(1 << 16, dtype=np.uint16).view(np.float16))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("type", [*NARROW, F32], ids=str)
def test_binary(name, type):
    with np.errstate(all="ignore"):
        edges = EDGES.astype(type.dtype)
    codes = np.random.default_rng(6).integers(0, 1 << type.width, 200_000, np.uint64)
    bits = codes.astype(f"u{type.dtype.itemsize}").view(type.dtype)
    lhs, rhs = (column.ravel() for column in np.meshgrid(edges, edges))
    check(name, type, np.concatenate([lhs, bits[::2]]), np.concatenate([rhs, bits[1::2]]))


@pytest.mark.parametrize("way", ["by a table in memory", "by a table in registers", "without a table"])
def test_exponentials_with_and_without_a_table(way, monkeypatch):
    if way == "by a table in registers" and not processor.has_two_register_permute():
        pytest.skip("this processor has no instruction for it")
    monkeypatch.setattr(exponential, "has_fast_gather", lambda: way == "by a table in memory")
    monkeypatch.setattr(exponential, "has_two_register_permute", lambda: way == "by a table in registers")
    sampled = np.arange(1, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.random.default_rng(7).uniform(-105, 90, 100_000).astype(np.float32)
    values = np.concatenate([EDGES, sampled, near])
    steps = (np.arange(-1300, 1300) / 128).astype(np.float32)
    steps = np.concatenate([steps, (np.arange(-1600, 1600) * (np.log(2) / 32)).astype(np.float32)])
    values = np.concatenate([values, steps, np.nextafter(steps, np.float32(0)), near / 100])
    for name in ("exponential", "exponential_minus_one", "logistic", "tanh"):
        check(f"stablehlo.{name}", F32, values)
    check("chlo.cosh", F32, values)
    check("chlo.sinh", F32, values)
    check("stablehlo.power", F32, np.abs(values), np.roll(values, 1))


@pytest.mark.parametrize("by_estimate", [False, True])
def test_inverse_roots_with_and_without_an_estimate(by_estimate, monkeypatch):
    if by_estimate and not processor.has_rsqrt14():
        pytest.skip("this processor has no instruction for it")
    monkeypatch.setattr(roots, "has_rsqrt14", lambda: by_estimate)
    sampled = np.arange(1, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    # Their inverse roots lie nearest to the middle between two values: 2^-51.7 from it, 2^-49.0, ...
    nearest = np.array([12196067 * 2, 9039928 * 2, 12200505, 9067654], np.float32)
    check("stablehlo.rsqrt", F32, np.concatenate([EDGES, sampled, nearest, nearest / 4**20]))
    check("stablehlo.rsqrt", ELEMENT_TYPES["f16"], np.arange(1 << 16, dtype=np.uint16).view(np.float16))
    f64 = ELEMENT_TYPES["f64"]
    function = looped(lambda builder, x: (function_of(Rsqrt.emit.function)(builder, *x),), [f64], f64)
    values = np.concatenate([np.random.default_rng(8).uniform(1, 4, 20_000).astype(np.float32), nearest])
    for value, root in zip(values.tolist(), function(values.astype(np.float64)).tolist(), strict=True):
        assert abs(Fraction(root) ** 2 * Fraction(value) - 1) / 2 < 2.0**-51.7


@pytest.mark.parametrize("by_table", [False, True])
@pytest.mark.parametrize("name", ["chlo.erf", "chlo.erfc"])
def test_error_functions_with_and_without_a_table(name, by_table, monkeypatch):
    for module in (error_functions, exponential):
        monkeypatch.setattr(module, "has_fast_gather", lambda: by_table)
    sampled = np.arange(1, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    spread = np.random.default_rng(9).uniform(-11, 11, 100_000).astype(np.float32)
    steps = (np.arange(-2700, 2700) / 256).astype(np.float32)
    before, after = (np.nextafter(steps, np.float32(side)) for side in (-np.inf, np.inf))
    check(name, F32, np.concatenate([EDGES, sampled, spread, steps, before, after]))


@pytest.mark.parametrize("name", ["stablehlo.exponential", "stablehlo.logistic"])
def test_short_exponentials_without_an_instruction_that_scales(name, monkeypatch):
    monkeypatch.setattr(reals, "has_scalef", lambda: False)
    type = ELEMENT_TYPES["bf16"]
    check(name, type, np.arange(1 << 16, dtype=np.uint16).view(type.dtype))


@pytest.mark.parametrize("has_instruction", [False, True])
@pytest.mark.parametrize("has_slow_subnormals", [False, True])
def test_products_with_powers_of_two_are_rounded_once(has_instruction, has_slow_subnormals, monkeypatch):
    if has_instruction and not reals.has_scalef():
        pytest.skip("this processor has no instruction that scales")
    monkeypatch.setattr(reals, "has_scalef", lambda: has_instruction)
    monkeypatch.setattr(reals, "has_slow_subnormals", lambda: has_slow_subnormals)

    def code(builder, *elements):
        x, k = (reals.Real(builder, number) for (number,) in elements)
        return (reals.scaled(x, (k + k.layout.magic).bits()).value,)

    exponents = np.arange(-160, 131)
    random = np.random.default_rng(3).uniform(0.5, 2, 997)
    ties = 1 + np.exp2(-np.arange(1, 24.0))  # halves of the smallest number among others
    x = np.concatenate([random, ties, 2 - np.exp2(-np.arange(1, 24.0)), [0.5, 1.0, 1 / 64]])
    x, k = (part.ravel() for part in np.meshgrid(x.astype(np.float32), exponents.astype(np.float32)))
    got = looped(code, [F32, F32], F32)(x, k)
    with np.errstate(all="ignore"):
        want = np.ldexp(x, k.astype(np.int32))
    assert same_bits(got, want)
    with np.errstate(invalid="ignore"):
        not_a_number = looped(code, [F32, F32], F32)(*np.full((2, 4), [np.nan, -np.nan] * 2, np.float32))
    assert np.isnan(not_a_number).all()


@pytest.mark.parametrize("steps", [16, 1024])
def test_powers_of_the_table_are_rounded_once(steps):
    with localcontext(prec=60):
        for k, entry in enumerate(exponential._powers(steps)):
            power = float(Decimal(2) ** (Decimal(k) / steps))
            assert entry + (k << 52) // steps == np.float64(power).view(np.int64)


@pytest.mark.parametrize("steps", [16, 1024])
def test_rounding_errors_of_the_table_of_powers(steps):
    with localcontext(prec=60):
        for k, entry in enumerate(exponential._rounding_errors(steps)):
            power = Decimal(2) ** (Decimal(k) / steps)
            lost = float((power - Decimal(float(power))) / power)
            assert abs(np.uint64(entry).view(np.float64) - lost) <= 1e-12 * abs(lost)


def test_tangents_of_the_table_are_rounded_once():
    with localcontext(prec=60):
        for k, entry in enumerate(exponential._tangents()[:600]):
            power = (Decimal(k) / 32).exp()
            tangent = float((power - 1) / (power + 1)) if k < 584 else 1.0
            assert entry == np.float64(tangent).view(np.int64)


@pytest.mark.parametrize("name", ["chlo.digamma", "chlo.erf", "chlo.erfc", "chlo.lgamma"])
def test_errors_before_rounding(name, monkeypatch):
    """Far fewer results than are computed here would differ after it."""
    pytest.importorskip("mpmath")
    from tools.generated_functions import error

    monkeypatch.setattr(error_functions, "has_fast_gather", lambda: True)
    assert error(name) < 3.0


def test_entries_of_the_tables_of_error_functions_are_rounded_once():
    mpmath = pytest.importorskip("mpmath")
    true = {"erf": mpmath.erf, "erfc": mpmath.erfc, "slopes": lambda c: mpmath.diff(mpmath.erf, c)}
    with mpmath.workprec(400):
        for name, function in true.items():
            entries = error_functions._values(name, 1307)
            assert len(entries) == 2048
            for k in range(0, 1307, 18):
                assert entries[k] == np.float64(function(mpmath.mpf(k) / 128)).view(np.int64), (name, k)


def test_whole_powers_between_two_values():
    base, exponent = np.meshgrid(np.arange(-3000, 3001), np.arange(-12, 13))
    base, exponent = base.ravel().astype(np.float32), exponent.ravel().astype(np.float32)
    for scale in (1, 2**-3, 2**-10):
        with np.errstate(all="ignore"):
            check("stablehlo.power", F32, base * np.float32(scale), exponent)
            check("stablehlo.power", F32, np.square(base * np.float32(scale)), exponent / 2)


def test_powers_over_the_whole_range():
    generator = np.random.default_rng(8)
    base = np.exp(generator.uniform(-87, 87, 200_000))
    exponent = generator.uniform(-1, 1, base.size) * 100 / np.maximum(np.abs(np.log(base)), 1e-3)
    check("stablehlo.power", F32, base.astype(np.float32), exponent.astype(np.float32))
    near_one = (1 + generator.uniform(-1e-3, 1e-3, base.size)).astype(np.float32)
    check("stablehlo.power", F32, near_one, generator.uniform(-1e5, 1e5, base.size).astype(np.float32))
    whole = np.round(generator.uniform(-8, 8, base.size)).astype(np.float32)
    check("stablehlo.power", F32, -np.round(generator.uniform(0, 99, base.size)).astype(np.float32), whole)


@pytest.mark.parametrize("name", ["stablehlo.exponential", "stablehlo.log"])
def test_complex_functions(name):
    generator = np.random.default_rng(10)
    angles = generator.uniform(0, 7, 100_000)
    parts = np.frombuffer(generator.bytes(800_000), np.float32).reshape(2, -1)
    with np.errstate(all="ignore"):
        near_one = (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)
        wide = (generator.uniform(-200, 200, 100_000) + 1j * angles * 10).astype(np.complex64)
        any_bits = (parts[0] + 1j * parts[1]).astype(np.complex64)
    check(name, ELEMENT_TYPES["complex<f32>"], np.concatenate([near_one, wide, any_bits]))


def test_other_element_types_are_left_to_the_reference():
    for operation, name in (("chlo.digamma", "f64"), ("stablehlo.log", "complex<f64>")):
        type = ELEMENT_TYPES[name]
        assert not emits(operation_of(operation, [type], type))
