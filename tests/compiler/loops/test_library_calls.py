"""Linear algebra within native loops: the same bits as by the references, which call the same routines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from tests.support.running import run_every_way

from .test_while_function import counted, reason_of

RNG = np.random.default_rng(11)


def layout(shape: tuple[int, ...], is_matrix: bool) -> str:
    """The layout that JAX asks for: matrices column by column."""
    order = list(range(len(shape)))[::-1]
    if is_matrix:
        order[:2] = order[1::-1]
    return f"dense<{order}> : tensor<{len(shape)}xindex>"


def type_of(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def call(name: str, operands: str, config: str, inputs: list[Any], results: list[Any]) -> str:
    """A custom call with its parameters where JAX writes them."""
    sides = (inputs, results)
    layouts = [", ".join([layout(shape, is_matrix) for shape, _, is_matrix in side]) for side in sides]
    types = [", ".join([type_of(shape, element) for shape, element, _ in side]) for side in sides]
    return f"""stablehlo.custom_call @lapack_{name}_ffi({operands}) {{api_version = 4 : i32,
        backend_config = {{}}, mhlo.backend_config = {{{config}}}, operand_layouts = [{layouts[0]}],
        result_layouts = [{layouts[1]}]}} : ({types[0]}) -> ({types[1]})"""


@pytest.mark.parametrize(("prefix", "element", "dtype"), [("s", "f32", np.float32), ("d", "f64", np.float64)])
@pytest.mark.parametrize("batch", [(), (5,)])
def test_solutions_by_factors(prefix: str, element: str, dtype: Any, batch: tuple[int, ...]) -> None:
    """Two routines that differ in their parameters alone are two."""
    square, tall, line = (*batch, 4, 4), (*batch, 4, 2), (*batch, 4)
    a, b = (square, element, True), (tall, element, True)
    pivots, info = (line, "i32", False), (batch, "i32", False)
    unit, other = "diag = 85 : ui8, uplo = 76 : ui8", "diag = 78 : ui8, uplo = 85 : ui8"
    sides = "side = 76 : ui8, trans_x = 78 : ui8"
    body = f"""%lu:3 = {call(f"{prefix}getrf", "%a", "", [a], [a, pivots, info])}
      %half = {call(f"{prefix}trsm", "%lu#0, %x", f"{unit}, {sides}", [a, b], [b])}
      %y = {call(f"{prefix}trsm", "%lu#0, %half", f"{other}, {sides}", [a, b], [b])}
      %s = "stablehlo.triangular_solve"(%lu#0, %y) {{left_side = true, lower = true, unit_diagonal = true,
        transpose_a = #stablehlo<transpose TRANSPOSE>}}
        : ({type_of(square, element)}, {type_of(tall, element)}) -> {type_of(tall, element)}
      %f:2 = {call(f"{prefix}potrf", "%c", "uplo = 76 : ui8", [a], [a, info])}
      %g = stablehlo.cholesky %c, lower = true : {type_of(square, element)}
      %fg = stablehlo.subtract %f#0, %g : {type_of(square, element)}
      %d = stablehlo.add %fg, %c : {type_of(square, element)}
      %i0 = stablehlo.add %f#1, %lu#2 : {type_of(batch, "i32")}"""
    carried = {
        "a": ("a0", type_of(square, element)),
        "c": ("c0", type_of(square, element)),
        "x": ("x0", type_of(tall, element)),
        "p": ("p0", type_of(line, "i32")),
        "n": ("n0", type_of(batch, "i32")),
    }
    text = counted(30, body, carried, "%a, %d, %s, %lu#1, %i0")
    assert reason_of(text) is None
    # Matrices with large diagonals keep the solutions of solutions finite.
    matrices = RNG.standard_normal(square) + 4 * np.eye(4)
    inputs = [matrices, matrices @ np.swapaxes(matrices, -1, -2), RNG.standard_normal(tall)]
    integers = [np.zeros(line, np.int32), np.zeros(batch, np.int32)]
    results = run_every_way(text, *[array.astype(dtype) for array in inputs], *integers)
    assert np.array_equal(np.sort(results[3])[..., -1:], np.full((*batch, 1), 4))
    assert np.isfinite(results[2]).all()


@pytest.mark.parametrize(("prefix", "element", "dtype"), [("s", "f32", np.float32), ("d", "f64", np.float64)])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_routines_with_workspaces(prefix: str, element: str, dtype: Any, batch: tuple[int, ...]) -> None:
    tall, line, square = (*batch, 6, 3), (*batch, 3), (*batch, 3, 3)
    a, tau, s = (tall, element, True), (line, element, False), (square, element, True)
    vectors = "mode = 86 : ui8, uplo = 76 : ui8"
    body = f"""%qr:2 = {call(f"{prefix}geqrf", "%a", "", [a], [a, tau])}
      %q = {call(f"{prefix}orgqr", "%qr#0, %qr#1", "", [a, tau], [a])}
      %c = {call(f"{prefix}ormqr", "%qr#0, %qr#1, %b", "left = true, transpose = true", [a, tau, a], [a])}
      %e:3 = {call(f"{prefix}syevd", "%s", vectors, [s], [s, tau, (batch, "i32", False)])}
      %t = stablehlo.add %e#0, %s : {type_of(square, element)}"""
    carried = {
        "a": ("a0", type_of(tall, element)),
        "b": ("b0", type_of(tall, element)),
        "s": ("s0", type_of(square, element)),
        "v": ("v0", type_of(line, element)),
    }
    text = counted(10, body, carried, "%c, %q, %t, %e#1")
    assert reason_of(text) is None
    inputs = [RNG.standard_normal(tall), RNG.standard_normal(tall), RNG.standard_normal(square)]
    results = run_every_way(text, *[array.astype(dtype) for array in inputs], np.zeros(line, dtype))
    assert all(np.isfinite(array).all() for array in results)


@pytest.mark.parametrize(
    ("order", "batch", "is_native"), [(80, "", True), (200, "", False), (16, "250x", False)]
)
def test_problems_that_threads_share_keep_their_plan(order: int, batch: str, is_native: bool) -> None:
    type = f"tensor<{batch}{order}x{order}xf32>"
    # A loop of few operations would be faster as steps, whose threads share large arrays.
    many = "".join(f"\n%m{k + 1} = stablehlo.xor %m{k}, %i : tensor<i32>" for k in range(40))
    body = f"""%l = stablehlo.cholesky %a, lower = true : {type}
      %b = stablehlo.add %l, %c : {type}{many}"""
    carried = {"a": ("a0", type), "c": ("c0", type), "m0": ("m", "tensor<i32>")}
    text = counted(20, body, carried, "%b, %c, %m40")
    assert ("is not generated" in str(reason_of(text))) != is_native, reason_of(text)
    if is_native:
        matrix = np.asarray(RNG.standard_normal((order, order)) + 2 * order * np.eye(order), np.float32)
        run_every_way(text, matrix @ matrix.T, matrix @ matrix.T, np.int32(1))


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f64", np.float64)])
@pytest.mark.parametrize("is_real", [True, False])
def test_small_transforms(element: str, dtype: Any, is_real: bool) -> None:
    """There and back in each way; numbers whose imaginary components are all +0 have fewer operations."""
    real, half, whole = (
        f"tensor<3x{sizes}>" for sizes in (f"16x{element}", f"9xcomplex<{element}>", f"16xcomplex<{element}>")
    )
    body = f"""%a = stablehlo.fft %x, type = RFFT, length = [3, 16] : ({real}) -> {half}
      %b = stablehlo.fft %a, type = IRFFT, length = [3, 16] : ({half}) -> {real}
      %c = stablehlo.fft %z, type = FFT, length = [16] : ({whole}) -> {whole}
      %d = stablehlo.fft %c, type = IFFT, length = [16] : ({whole}) -> {whole}"""
    text = counted(40, body, {"x": ("x0", real), "z": ("z0", whole), "s": ("s0", whole)}, "%b, %d, %c")
    assert reason_of(text) is None and "launches" not in nimblehlo.compile(text).explain("plan")
    x, y = RNG.standard_normal((2, 3, 16)).astype(dtype)
    z = x + np.asarray(0 if is_real else 1j) * y
    complex_type = np.result_type(dtype, np.complex64)
    results = run_every_way(text, x, z.astype(complex_type), np.zeros_like(z, complex_type))
    np.testing.assert_allclose(results[0], x, rtol=0, atol=1e-4)
