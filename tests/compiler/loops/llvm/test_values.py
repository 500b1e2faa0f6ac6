"""Elements in memory and in register form: every element type, every code of the narrow ones."""

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.llvm import values
from nimblehlo.kernels.simd import narrow_floats
from nimblehlo.program.ops.numerics import element_types
from nimblehlo.types import BOOLEAN, ELEMENT_TYPES, FLOAT, storage_range
from tests.compiler.loops.loops import looped
from tests.support.running import same_bits

F32, F64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["f64"]
NARROW = [type for type in ELEMENT_TYPES.values() if type.category == FLOAT and type.width < 32]


def same_but_for_nan(got, want):
    """Whether codes agree, or both are NaN."""
    pattern = f"u{want.dtype.itemsize}"
    nan = np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32))
    return bool(np.all((got.view(pattern) == want.view(pattern)) | nan))


def every_code(type):
    return np.arange(1 << type.width, dtype=f"u{type.dtype.itemsize}").view(type.dtype)


def random_bits(dtype, count=50_000):
    raw = np.random.default_rng(7).bytes(count * np.dtype(dtype).itemsize)
    return np.frombuffer(raw, dtype)


def ties_of(type):
    """f32 values half-way between neighbours of a type, and those beside them."""
    codes = np.sort(every_code(type).astype(np.float32))
    finite = codes[np.isfinite(codes)]
    with np.errstate(over="ignore"):
        middle = finite[:-1] + (finite[1:] - finite[:-1]) / 2
        last = np.float32(finite[-1]) + (finite[-1] - finite[-2]) / 2
    middle = np.concatenate([middle, [last, -last]]).astype(np.float32)
    return np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), finite])


@pytest.mark.parametrize("type", ELEMENT_TYPES.values(), ids=str)
def test_elements_are_kept(type):
    codes = random_bits(np.uint8, 64_000)
    if type.width < 8:
        codes = codes & np.uint8((1 << type.width) - 1)
    array = codes.view(type.dtype)
    kept = looped(lambda builder, value: value, [type], type)(array)
    assert kept.tobytes() == array.tobytes()


@pytest.mark.parametrize("type", NARROW, ids=str)
def test_narrow_floats_are_held_in_f32(type):
    codes = every_code(type)
    assert same_bits(looped(lambda builder, value: value, [type], F32)(codes), codes.astype(np.float32))


@pytest.mark.parametrize("count", [1, 3, 17, 1000])
def test_nans_of_f16_keep_their_bits_in_f32(count):
    codes = np.concatenate([np.arange(0x7C01, 0x8000), np.arange(0xFC01, 0x10000)]).astype(np.uint16)
    codes = codes[np.arange(count) * 7 % codes.size]
    bits = codes.astype(np.uint32)
    bits = (bits & 0x8000) << 16 | 0x7F800000 | (bits & 0x3FF) << 13
    f16, emit = ELEMENT_TYPES["f16"], lambda builder, value: value
    assert (looped(emit, [f16], F32)(codes.view(np.float16)).view(np.uint32) == bits).all()
    assert (looped(emit, [F32], f16)(bits.view(np.float32)).view(np.uint16) == codes).all()


@pytest.mark.parametrize("source", [F32, F64], ids=str)
def test_f16_has_the_same_bits_without_instructions(source, monkeypatch):
    f16, codes = ELEMENT_TYPES["f16"], np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    numbers = np.concatenate([random_bits(source.dtype), ties_of(f16).astype(source.dtype)])

    def converted():
        rounded = looped(lambda builder, value: (values.rounded(builder, f16, value[0]),), [source], f16)
        widened = looped(lambda builder, value: value, [f16], F32)
        return rounded(numbers).tobytes(), widened(codes).tobytes()

    by_instructions = converted()
    monkeypatch.setattr(narrow_floats, "converts_halves", lambda: False)
    assert converted() == by_instructions


@pytest.mark.parametrize("operation", ["round_nearest_afz", "sign", "tanh", "cbrt"])
@pytest.mark.parametrize("source", ["i32", "ui64", "f64"])
def test_signs_that_pass_through_two_roundings(source, operation):
    """LLVM must not round the f64 from which a f16 comes once more, for its sign: that takes a library."""
    text = f"""func.func @main(%a: tensor<1x{source}>) -> tensor<1000xf16> {{
      %b = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<1x{source}>) -> tensor<1000x{source}>
      %c = stablehlo.convert %b : (tensor<1000x{source}>) -> tensor<1000xf16>
      %r = stablehlo.{operation} %c : tensor<1000xf16>
      return %r : tensor<1000xf16> }}"""
    operand = np.array([7], ELEMENT_TYPES[source].dtype)
    (want,) = nimblehlo.execute(text, [operand], options=Options(compile="never"))
    (got,) = nimblehlo.execute(text, [operand], options=Options(compile="eager"))
    assert same_bits(got, want)


@pytest.mark.parametrize("type", NARROW, ids=str)
def test_rounding_of_f32(type):
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38], np.float32)
    array = np.concatenate([random_bits(np.float32), ties_of(type), edges])
    got = looped(lambda builder, x: (values.rounded(builder, type, x[0]),), [F32], type)(array)
    with np.errstate(all="ignore"):
        assert same_but_for_nan(got, element_types.rounding(np.dtype(np.float32), type)(array))


@pytest.mark.parametrize("type", [*NARROW, F32, F64], ids=str)
def test_rounding_of_f64_rounds_once(type):
    ties = ties_of(type if type.width < 32 else ELEMENT_TYPES["bf16"]).astype(np.float64)
    near = [np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), np.float64([1e300, 1e-320, np.inf])]
    array = np.concatenate([random_bits(np.float64), ties, *near])
    got = looped(lambda builder, x: (values.rounded(builder, type, x[0]),), [F64], type)(array)
    with np.errstate(all="ignore"):
        want = element_types.rounding(np.dtype(np.float64), type)(array)
    assert same_but_for_nan(got, want) if type.width < 32 else same_bits(got, want)


def scalars_of(type):
    """Edge values of a type."""
    if type.category == BOOLEAN:
        return [False, True]
    if type.category & FLOAT:
        return [0.0, -0.0, 1.0, -0.75, 448.0, np.inf, -np.inf, np.nan, 1e-45, 0.1]
    if type.dtype.kind == "c":
        return [0, complex(-0.0, 0.1), complex(np.inf, np.nan), complex(1e-45, -3)]
    return [0, 1, *storage_range(type)]


@pytest.mark.parametrize("type", ELEMENT_TYPES.values(), ids=str)
def test_constants(type):
    for scalar in scalars_of(type):
        with np.errstate(all="ignore"):
            want = np.array([scalar]).astype(type.dtype)
        emit = lambda builder, _, scalar=want[0]: values.constant(type, scalar)  # noqa: E731
        got = looped(emit, [type], type)(np.zeros(1, type.dtype))
        assert same_bits(got, want), scalar
