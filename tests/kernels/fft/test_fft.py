"""Fourier transforms: near those in a wider type; the same bits whatever threads, neighbours and strides."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from nimblehlo import compile as compile_program
from nimblehlo.kernels.fft import fft
from nimblehlo.kernels.simd.block_sizes import NONTEMPORAL_BYTES

Array = np.ndarray[Any, Any]

KINDS = ["FFT", "IFFT", "RFFT", "IRFFT"]
SIZES = [*range(1, 34), 49, 62, 64, 77, 96, 121, 125, 128, 243, 250, 361, 512, 720, 961, 1024, 2187, 4096]
SHAPES = [((3, 8), 2), ((40, 9, 64), 2), ((3, 4, 5, 6), 3), ((2, 33, 7), 2), ((5, 1, 1), 3), ((70, 31, 2), 2)]
BOUNDS = {4: 1e-6, 8: 2e-15}


def numbers(shape: tuple[int, ...], item: int, is_real: bool) -> Array:
    generator = np.random.default_rng(sum(shape))
    values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return values.real.astype(f"f{item}") if is_real else values.astype(f"c{2 * item}")


def operand(kind: str, shape: tuple[int, ...], item: int) -> Array:
    """Values for a transform whose real side has that shape."""
    if kind == "IRFFT":
        shape = (*shape[:-1], shape[-1] // 2 + 1)
    return numbers(shape, item, kind == "RFFT")


def expected(kind: str, values: Array, sizes: tuple[int, ...]) -> Array:
    """By NumPy, in the widest type that there is."""
    wide = values.astype(np.longdouble if values.dtype.kind == "f" else np.clongdouble)
    axes = tuple(range(-len(sizes), 0))
    function = getattr(np.fft, kind.lower() + "n")
    return np.asarray(function(wide, s=sizes, axes=axes))


def error(actual: Array, wanted: Array) -> float:
    return float(np.abs(actual - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_lines(kind: str, item: int) -> None:
    for size in SIZES:
        for count in (1, 5, 21):
            values = operand(kind, (count, size), item)
            got = fft.Transform(kind, (size,), item)(values)
            want = expected(kind, values, (size,))
            assert got.shape == want.shape and got.dtype.itemsize == item * (1 if kind == "IRFFT" else 2)
            assert error(got, want) < BOUNDS[item], size


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_large_results_have_the_bits_of_small_ones(kind: str, item: int) -> None:
    """Large results bypass the caches where vectors are aligned, as they are in the results of programs."""
    size, rows = 1024, 1061
    values = operand(kind, (rows, size), item)
    result_size = size if kind != "RFFT" else size // 2 + 1
    assert rows * result_size * item * (1 if kind == "IRFFT" else 2) >= NONTEMPORAL_BYTES
    real, pairs = f"f{8 * item}", f"complex<f{8 * item}>"
    types = (
        f"tensor<{rows}x{values.shape[1]}x{real if kind == 'RFFT' else pairs}>",
        f"tensor<{rows}x{result_size}x{real if kind == 'IRFFT' else pairs}>",
    )
    executable = compile_program(f"""
        func.func @main(%a: {types[0]}) -> {types[1]} {{
          %0 = "stablehlo.fft"(%a) {{fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: {size}>}}
            : ({types[0]}) -> {types[1]}
          return %0 : {types[1]}
        }}""")
    (got,) = executable(values)
    transform = fft.Transform(kind, (size,), item)
    want = np.concatenate([transform(values[row : row + 16]) for row in range(0, rows, 16)])
    assert np.asarray(got).tobytes() == want.tobytes()


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "dimensions"), SHAPES)
def test_several_dimensions(kind: str, item: int, shape: tuple[int, ...], dimensions: int) -> None:
    values, sizes = operand(kind, shape, item), shape[-dimensions:]
    before = values.copy()
    got = fft.Transform(kind, sizes, item)(values)
    assert error(got, expected(kind, values, sizes)) < BOUNDS[item]
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "dimensions"), [((1030, 96), 1), ((7, 64, 60), 2), ((3, 1000), 1)])
def test_threads_and_neighbours_change_no_bit(
    kind: str, item: int, shape: tuple[int, ...], dimensions: int
) -> None:
    values, sizes = operand(kind, shape, item), shape[-dimensions:]
    values.reshape(-1)[:3] = [np.inf, np.nan, -0.0]
    results = [fft.Transform(kind, sizes, item, threads)(values) for threads in (1, 2, 3, 8, None)]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    for first, last in ((1, 2), (1, len(values)), (2, 3)):
        np.testing.assert_array_equal(
            fft.Transform(kind, sizes, item)(values[first:last]), results[0][first:last]
        )


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("size", [1, 2, 6, 9, 64, 100])
def test_real_lines_as_complex_numbers(item: int, size: int) -> None:
    """All of a transform of floats: its first half is RFFT's; complex numbers with parts +0 give the same."""
    for count in (3, 40):
        real = numbers((count, size), item, True)
        whole = fft.Transform("FFT", (size,), item)
        np.testing.assert_array_equal(whole(real), whole(real + 0j * real))
        half = fft.Transform("RFFT", (size,), item)(real)
        np.testing.assert_array_equal(whole(real)[:, : size // 2 + 1], half)
        wanted = expected("FFT", real, (size,))
        assert error(whole(real), wanted) < BOUNDS[item]
        other = real + 0j * real
        other.imag[-1, -1] = 1e-3
        assert error(whole(other), expected("FFT", other, (size,))) < BOUNDS[item]


@pytest.mark.parametrize("item", [4, 8])
def test_what_a_real_signal_cannot_have_is_not_read(item: int) -> None:
    """The imaginary parts of the first value, and of the middle one where the size is even."""
    for size in (8, 9):
        values = operand("IRFFT", (2, size), item)
        other = values.copy()
        other.imag[:, 0] = 7
        if size % 2 == 0:
            other.imag[:, -1] = np.nan
        inverse = fft.Transform("IRFFT", (size,), item)
        np.testing.assert_array_equal(inverse(values), inverse(other))


def test_operands_that_are_views() -> None:
    values = numbers((6, 20, 8), 4, False)
    for view in (values.swapaxes(0, 1), values[:, ::3], values[::-1], values[..., ::2]):
        transform = fft.Transform("FFT", view.shape[-2:], 4)
        np.testing.assert_array_equal(transform(view), transform(view.copy()))


def test_sizes_that_are_served() -> None:
    assert fft.supports((1, 1024, 31 * 31)) and fft.supports((8192,))
    assert not any(fft.supports((size,)) for size in (0, 37, 2 * 37, 8193, 1 << 14))


@pytest.mark.parametrize("size", [7, 64, 1000, 8192])
def test_impulses(size: int) -> None:
    """A line with a single 1 gives roots of unity, each within a few units in the last place."""
    values = np.zeros((2, size), np.complex128)
    values[0, 1] = values[1, size // 3] = 1
    got = fft.Transform("FFT", (size,), 8)(values)
    turns = np.outer([1, size // 3], np.arange(size)) % size
    angles = 2 * np.pi * turns.astype(np.longdouble) / size
    np.testing.assert_allclose(got.real, np.cos(angles).astype(float), atol=1e-15)
    np.testing.assert_allclose(got.imag, -np.sin(angles).astype(float), atol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 12, 17, 31, 960])
def test_roots_are_rounded_once(size: int) -> None:
    """The roots of unity are the exact ones rounded to f64, whatever the machine's own functions give."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(200):
        for index, (re, im) in enumerate(fft._roots(size)):
            turn = mpmath.mpf(2 * index) / size
            assert (re, im) == (float(mpmath.cospi(turn)), -float(mpmath.sinpi(turn)))


@pytest.mark.parametrize(("size", "bound"), [(17, 6.6e-8), (31, 7.5e-8)])
def test_sums_of_prime_radices_are_short(size: int, bound: float) -> None:
    """One product after another, the errors would be 7.0e-8 and 8.6e-8 of the results' norm."""
    lines = np.random.default_rng(0).standard_normal((2000, size)).astype(np.float32)
    exact = np.fft.rfft(lines.astype(np.float64))
    error = fft.Transform("RFFT", [size], 4)(lines) - exact
    assert np.linalg.norm(error) / np.linalg.norm(exact) < bound


def solved(kind: str, sizes: tuple[int, ...], values: Array) -> Array:
    """The transform as native code calls it, by addresses."""
    transform = fft.Transform(kind, sizes, values.dtype.itemsize // (1 + (values.dtype.kind == "c")), 1)
    call = fft.TransformCall(transform, values.shape, values.dtype.kind == "c")
    (result,) = call(values)
    result[...] = np.nan
    assert call.solver is not None
    solve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(call.solver)
    operands, results = np.array([values.ctypes.data]), np.array([result.ctypes.data])
    solve(id(call), operands.ctypes.data, results.ctypes.data)
    return np.asarray(result)


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "dimensions"),
    [((1, 64), 1), ((40, 15), 1), ((7,), 1), ((3, 30), 1), ((4, 9, 64), 2), ((2, 3, 4, 5), 3),
     ((30, 31, 2), 2), ((5, 1, 1), 3)],
)
def test_calls_by_addresses_have_the_same_bits(
    kind: str, item: int, shape: tuple[int, ...], dimensions: int
) -> None:
    values, sizes = operand(kind, shape, item), shape[-dimensions:]
    real = values.real + 0j if kind == "FFT" else values
    for one in (values, real.astype(values.dtype)):
        before, want = one.copy(), fft.Transform(kind, sizes, item)(one)
        assert solved(kind, sizes, one).tobytes() == want.tobytes()
        assert one.tobytes() == before.tobytes()


def test_calls_by_addresses_whose_workspace_is_large() -> None:
    """Few fibers are transformed one by one, with a fraction of the workspace."""
    calls = [fft.TransformCall(fft.Transform("FFT", (size,), 4), (rows, size), True) for rows, size in
             ((1, 1024), (1, 4096), (100, 64), (100, 1024))]  # fmt: skip
    assert [call.solver is not None for call in calls] == [True, False, True, False]
