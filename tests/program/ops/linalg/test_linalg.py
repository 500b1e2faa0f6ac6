"""Fourier transforms by their definition; factors and solutions by what they must satisfy."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.program.ops.fft import fft as fourier
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.linalg import linalg
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, array, declaration, tensor
from tests.support.running import assert_close, run_every_way, run_xla

Array = np.ndarray[Any, Any]

TYPES = {
    "f32": (np.float32, 2e-6),
    "f64": (np.float64, 1e-14),
    "complex<f32>": (np.complex64, 2e-6),
    "complex<f64>": (np.complex128, 1e-14),
    "bf16": (ml_dtypes.bfloat16, 2e-2),
    "f16": (np.float16, 2e-3),
}
COMPLEX_TYPES = {"complex<f32>": "f32", "complex<f64>": "f64"}
FLAGS = (False, True)


def numbers(shape: tuple[int, ...], element_type: str, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape)
    if element_type.startswith("complex"):
        return (values + 1j * generator.normal(size=shape)).astype(TYPES[element_type][0])
    return values.astype(TYPES[element_type][0])


def error(actual: Array, expected: Array) -> float:
    """The largest difference, relative to the largest expected magnitude."""
    wide = np.complex128
    difference = np.abs(actual.astype(wide) - expected.astype(wide))
    return float(difference.max(initial=0.0) / max(np.abs(expected.astype(wide)).max(initial=0.0), 1e-300))


def fft(fft_type: str, lengths: tuple[int, ...], operand: str, result: str) -> str:
    attributes = f"fft_type = #stablehlo<fft_type {fft_type}>, fft_length = {array(*lengths)}"
    return program("stablehlo.fft", [operand], [result], attributes)


def transform(values: Array, dimensions: int, sign: int) -> Array:
    """The sum over all indices of values times roots of unity, over the last dimensions."""
    result = values.astype(np.complex128)
    for axis in range(-dimensions, 0):
        size = result.shape[axis]
        turns = np.outer(np.arange(size), np.arange(size)) % size
        roots = np.exp(sign * 2j * np.pi * turns / size)
        result = np.moveaxis(np.moveaxis(result, axis, -1) @ roots, -1, axis)
    return result


SHAPES = [((5,), 1), ((3, 8), 1), ((2, 3, 4), 2), ((2, 3, 4, 5), 3), ((1,), 1), ((40, 9, 64), 2)]


@pytest.mark.parametrize("element_type", COMPLEX_TYPES)
@pytest.mark.parametrize(("shape", "dimensions"), SHAPES)
def test_fft(element_type: str, shape: tuple[int, ...], dimensions: int) -> None:
    values, tolerance = numbers(shape, element_type), TYPES[element_type][1]
    text = tensor(shape, element_type)
    (forward,) = evaluate(fft("FFT", shape[-dimensions:], text, text), values)
    assert error(forward, transform(values, dimensions, -1)) < tolerance
    (backward,) = evaluate(fft("IFFT", shape[-dimensions:], text, text), values)
    count = np.prod(shape[-dimensions:])
    assert error(backward, transform(values, dimensions, 1) / count) < tolerance


@pytest.mark.parametrize("element_type", COMPLEX_TYPES)
@pytest.mark.parametrize(("shape", "dimensions"), SHAPES)
def test_real_fft(element_type: str, shape: tuple[int, ...], dimensions: int) -> None:
    real_type = COMPLEX_TYPES[element_type]
    values, tolerance = numbers(shape, real_type), TYPES[real_type][1]
    half = (*shape[:-1], shape[-1] // 2 + 1)
    texts = tensor(shape, real_type), tensor(half, element_type)
    (forward,) = evaluate(fft("RFFT", shape[-dimensions:], *texts), values)
    assert error(forward, transform(values, dimensions, -1)[..., : half[-1]]) < tolerance
    (backward,) = evaluate(fft("IRFFT", shape[-dimensions:], *texts[::-1]), forward)
    assert error(backward, values) < tolerance


@pytest.mark.parametrize(
    ("fft_type", "shape", "lengths", "result"),
    [
        ("FFT", (2, 0, 3), (0, 3), (2, 0, 3)),
        ("IFFT", (0,), (0,), (0,)),
        ("RFFT", (2, 0), (0,), (2, 0)),
        ("RFFT", (3, 0, 7), (0, 7), (3, 0, 4)),
        ("IRFFT", (2, 0), (0,), (2, 0)),
        ("IRFFT", (3, 0, 4), (7,), (3, 0, 7)),
    ],
)
def test_fft_of_no_elements(fft_type: str, shape: Any, lengths: Any, result: Any) -> None:
    source = "f64" if fft_type == "RFFT" else "complex<f64>"
    target = "f64" if fft_type == "IRFFT" else "complex<f64>"
    (values,) = evaluate(
        fft(fft_type, lengths, tensor(shape, source), tensor(result, target)), numbers(shape, source)
    )
    assert values.shape == result


@pytest.mark.parametrize(
    ("fft_type", "operand", "result", "lengths"),
    [
        ("FFT", ((37, 500), "complex<f32>"), ((37, 500), "complex<f32>"), (500,)),
        ("IFFT", ((3, 79, 81), "complex<f64>"), ((3, 79, 81), "complex<f64>"), (79, 81)),
        ("RFFT", ((37, 501), "f32"), ((37, 251), "complex<f32>"), (501,)),
        ("IRFFT", ((130, 128), "complex<f64>"), ((130, 255), "f64"), (255,)),
        ("FFT", ((20000,), "complex<f32>"), ((20000,), "complex<f32>"), (20000,)),
    ],
)
@pytest.mark.parametrize("of_argument", [False, True])
def test_large_fft(fft_type: str, operand: Any, result: Any, lengths: Any, of_argument: bool) -> None:
    """Several threads give the same bits, and only what nobody needs is overwritten."""
    x = numbers(*operand)
    if x.ndim > 1:
        x[0].reshape(-1)[:3] = [np.inf, np.nan, -0.0]
    source, given, expected = "%x" if of_argument else "%y", tensor(*operand), tensor(*result)
    text = f"""func.func @main(%x: {given}) -> {expected} {{
      %y = stablehlo.add %x, %x : {given}
      %0 = "stablehlo.fft"({source}) <{{fft_length = {array(*lengths)},
        fft_type = #stablehlo<fft_type {fft_type}>}}> : ({given}) -> {expected}
      return %0 : {expected}
    }}"""
    run_every_way(text, x)


def test_fft_with_unknown_sizes() -> None:
    text = fft("IRFFT", (6,), tensor(("?", 4), "complex<f32>"), tensor(("?", 6)))
    (values,) = evaluate(text, numbers((3, 4), "complex<f32>"))
    assert values.shape == (3, 6)


def cholesky(operand: str, lower: bool, result: str | None = None) -> str:
    return program("stablehlo.cholesky", [operand], [result or operand], f"lower = {str(lower).lower()}")


def definite(shape: tuple[int, ...], element_type: str) -> Array:
    wide = "complex<f64>" if element_type.startswith("complex") else "f64"
    factor = numbers(shape, wide)
    matrix = factor @ factor.swapaxes(-1, -2).conj() + shape[-1] * np.eye(shape[-1])
    return matrix.astype(TYPES[element_type][0])


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("lower", FLAGS)
@pytest.mark.parametrize("shape", [(4, 4), (1, 1), (3, 2, 5, 5), (0, 3, 3), (2, 0, 0)])
def test_cholesky(element_type: str, lower: bool, shape: tuple[int, ...]) -> None:
    a = definite(shape, element_type)
    kept = np.tril if lower else np.triu
    read = np.where(kept(np.ones(shape[-2:], bool)), a, np.array(99, a.dtype))
    (factor,) = evaluate(cholesky(tensor(shape, element_type), lower), read)
    wide = factor.astype(np.complex128)
    assert (kept(wide) == wide).all()
    transposed = wide.swapaxes(-1, -2).conj()
    assert error(wide @ transposed if lower else transposed @ wide, a) < TYPES[element_type][1] * 5


@pytest.mark.parametrize("lower", FLAGS)
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_cholesky_of_what_is_not_definite(lower: bool, value: float) -> None:
    """The specification leaves it open; XLA gives NaN for the whole matrix, and does not touch the others."""
    a = definite((3, 3, 3), "f32")
    a[1, 1, 1] = value
    matrices = tensor(a.shape)
    (factor,) = evaluate(cholesky(matrices, lower), a)
    assert np.isnan(factor).all(axis=(1, 2)).tolist() == [False, True, False]
    text = f"""func.func @main(%a: {matrices}) -> {matrices} {{
      %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : {matrices}
      return %0 : {matrices}
    }}"""
    assert_close([factor], run_xla(text, a), 1e-6)


def triangular_solve(
    a: str,
    b: str,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose_a: str,
    result: str | None = None,
) -> str:
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    attributes = ", ".join(f"{name} = {str(flag).lower()}" for name, flag in flags.items())
    attributes += f", transpose_a = #stablehlo<transpose {transpose_a}>"
    return program("stablehlo.triangular_solve", [a, b], [result or b], attributes)


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("batch", [(), (2,), (3, 4)])
@pytest.mark.parametrize(
    ("left_side", "lower", "unit_diagonal", "transpose_a"),
    list(itertools.product(FLAGS, FLAGS, FLAGS, ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])),
)
def test_triangular_solve(
    element_type: str,
    batch: tuple[int, ...],
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose_a: str,
) -> None:
    order, columns = 4, 3
    a = (numbers((*batch, order, order), element_type) / 4).astype(TYPES[element_type][0])
    a[..., np.arange(order), np.arange(order)] += np.array(2, a.dtype)
    b = numbers((*batch, order, columns) if left_side else (*batch, columns, order), element_type, seed=1)
    coefficients = np.tril(a.astype(np.complex128)) if lower else np.triu(a.astype(np.complex128))
    unread = ~(np.tri(order, dtype=bool) if lower else np.tri(order, dtype=bool).T)
    if unit_diagonal:
        coefficients[..., np.arange(order), np.arange(order)] = 1
        unread |= np.eye(order, dtype=bool)
    given = np.where(unread, np.array(np.nan, a.dtype), a)
    text = triangular_solve(
        tensor(a.shape, element_type),
        tensor(b.shape, element_type),
        left_side,
        lower,
        unit_diagonal,
        transpose_a,
    )
    (x,) = evaluate(text, given, b)
    if transpose_a != "NO_TRANSPOSE":
        coefficients = coefficients.swapaxes(-1, -2)
    if transpose_a == "ADJOINT":
        coefficients = coefficients.conj()
    wide = x.astype(np.complex128)
    product = coefficients @ wide if left_side else wide @ coefficients
    assert error(product, b) < TYPES[element_type][1] * 8


@pytest.mark.parametrize("shapes", [((0, 3, 3), (0, 3, 2)), ((2, 3, 3), (2, 3, 0)), ((2, 0, 0), (2, 0, 5))])
def test_triangular_solve_of_no_elements(shapes: Any) -> None:
    a, b = shapes
    text = triangular_solve(tensor(a), tensor(b), True, True, False, "NO_TRANSPOSE")
    (x,) = evaluate(text, numbers(a, "f32"), numbers(b, "f32"))
    assert x.shape == b


def test_quantized_types_are_accepted() -> None:
    matrix = tensor((2, 2), PER_TENSOR)
    parse_and_verify(cholesky(matrix, True))
    parse_and_verify(triangular_solve(matrix, matrix, True, True, False, "NO_TRANSPOSE"))


SQUARE, COMPLEX = tensor((3, 3)), "complex<f32>"
FFT, CHOLESKY, SOLVE = declaration("fft"), declaration("cholesky"), declaration("triangular_solve")
REJECTED: dict[type[Op], dict[str, str]] = {
    FFT: {
        "C1": fft("FFT", (4, 4), tensor((4,), COMPLEX), tensor((4,), COMPLEX)),
        "C2": fft("IRFFT", (4,), tensor((4,), COMPLEX), tensor((4,), "f64")),
        "C3": fft("FFT", (1, 1, 1, 1), tensor((1, 1, 1, 1), COMPLEX), tensor((1, 1, 1, 1), COMPLEX)),
        "C4": fft("RFFT", (6,), tensor((2, 8)), tensor((2, 5), COMPLEX)),
        "C5": fft("RFFT", (8,), tensor((2, 8)), tensor((2, 4), COMPLEX)),
    },
    CHOLESKY: {
        "C1": cholesky(SQUARE, True, tensor((3, 3), "f64")),
        "C2": cholesky(tensor((3,)), True),
        "C3": cholesky(tensor((3, 4)), True),
    },
    SOLVE: {
        "I6": triangular_solve(SQUARE, SQUARE, True, True, False, "TRANSPOSE_INVALID"),
        "C1": triangular_solve(SQUARE, tensor((3, 3), "f64"), True, True, False, "NO_TRANSPOSE"),
        "C2": triangular_solve(SQUARE, tensor((1, 3, 3)), True, True, False, "NO_TRANSPOSE"),
        "C3": triangular_solve(SQUARE, tensor((2, 3)), True, True, False, "NO_TRANSPOSE"),
        "C4": triangular_solve(SQUARE, SQUARE, True, True, False, "NO_TRANSPOSE", tensor((3, 4))),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, fourier, linalg)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("C2", fft("FFT", (4,), tensor((4,)), tensor((4,), COMPLEX))),
        ("C2", fft("RFFT", (4,), tensor((4,), "f16"), tensor((3,), COMPLEX))),
        ("C4", fft("IRFFT", (6,), tensor((2, 5), COMPLEX), tensor((2, 8)))),
        ("C5", fft("IRFFT", (8,), tensor((2, 4), COMPLEX), tensor((2, 8)))),
        ("C5", fft("FFT", (8,), tensor((2, 8), COMPLEX), tensor((3, 8), COMPLEX))),
    ],
)
def test_fft_rejected(label: str, text: str) -> None:
    assert_rejected(FFT, label, text)


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((2, 3, 3), (1, 3, 3)), ((3, 3), (3, 2))])
def test_triangular_solve_rejected(shapes: Any) -> None:
    a, b = shapes
    assert_rejected(SOLVE, "C3", triangular_solve(tensor(a), tensor(b), False, True, False, "NO_TRANSPOSE"))


@pytest.mark.parametrize(
    "text",
    [
        fft("FFT", (4,), tensor((4,), COMPLEX), tensor((4,), COMPLEX)),
        cholesky(SQUARE, True),
        triangular_solve(SQUARE, SQUARE, True, True, False, "NO_TRANSPOSE"),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)
