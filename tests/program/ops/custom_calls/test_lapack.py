"""LAPACK's custom calls: as XLA:CPU with JAX's kernels gives them, for all routines and element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import nimblehlo
from nimblehlo import VerifyError
from nimblehlo.program.ops.custom_calls import lapack
from tests.program.ops.rejections import parse_and_verify, program
from tests.support.running import assert_close, run_xla

Array = np.ndarray[Any, Any]

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
SQUARE = [(2, 1, 4, 4), (40, 40)]
RECTANGULAR = [(5, 3), (2, 3, 5), (70, 20)]
EDGES = [(1, 1), (0, 3, 3), (1, 2, 2)]


def general(shape: tuple[int, ...], dtype: Any) -> Array:
    generator = np.random.default_rng(len(shape))
    values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)


def hermitian(shape: tuple[int, ...], dtype: Any) -> Array:
    factor = general(shape, dtype)
    return factor @ factor.swapaxes(-1, -2).conj() + np.eye(shape[-1], dtype=dtype)


def dominant(shape: tuple[int, ...], dtype: Any) -> Array:
    return general(shape, dtype) + 3 * np.eye(shape[-1], dtype=dtype)


def same_as_xla(function: Callable[..., Any], *inputs: Array) -> None:
    """What JAX lowers `function` to must give what XLA:CPU gives, up to the rounding of a few operations."""
    with jax.enable_x64(True):
        lowered = jax.jit(function).lower(*inputs)
        want = [np.asarray(value) for value in jax.tree.leaves(lowered.compile()(*inputs))]
        text = lowered.as_text()
    assert_close(nimblehlo.execute(text, inputs), want, precision_of(inputs[0].dtype))


def precision_of(dtype: Any) -> float:
    return 1e-12 if dtype in (np.float64, np.complex128) else 1e-5


FACTORIZATIONS: dict[str, tuple[Callable[[Array], Any], Callable[..., Array], list[tuple[int, ...]]]] = {
    "potrf": (lambda x: lax.linalg.cholesky(x, symmetrize_input=False), hermitian, SQUARE),
    "geqrf, orgqr": (lambda x: lax.linalg.qr(x, full_matrices=False), general, RECTANGULAR),
    "geqrf, orgqr, full": (lax.linalg.qr, general, RECTANGULAR),
    "syevd": (lambda x: lax.linalg.eigh(x, symmetrize_input=False), hermitian, SQUARE),
    "syevd, upper": (lambda x: lax.linalg.eigh(x, lower=False, symmetrize_input=False), hermitian, SQUARE),
    "gesdd, values": (lambda x: lax.linalg.svd(x, compute_uv=False), general, RECTANGULAR),
    "gesvd, values": (
        lambda x: lax.linalg.svd(x, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR),
        general,
        RECTANGULAR,
    ),
    "geqp3": (lambda x: lax.linalg.qr(x, pivoting=True), general, RECTANGULAR),
    "getrf": (lambda x: lax.linalg.lu(x)[:2], general, RECTANGULAR),
    "gehrd": (lax.linalg.hessenberg, general, SQUARE),
    "sytrd": (lax.linalg.tridiagonal, hermitian, SQUARE),
    "sytrd, upper": (lambda x: lax.linalg.tridiagonal(x, lower=False), hermitian, SQUARE),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_factorization(name: str, dtype: Any) -> None:
    function, make, shapes = FACTORIZATIONS[name]
    inputs = [make(shape, dtype) for shape in shapes]
    if dtype == np.float32:
        inputs += [make(shape, dtype) for shape in EDGES]
    same_as_xla(lambda *arrays: [function(array) for array in arrays], *inputs)


def adjoint(array: Array) -> Array:
    return array.swapaxes(-1, -2).conj()


def is_unitary(array: Array) -> bool:
    """Whether the columns are orthonormal."""
    columns = array.shape[-1]
    return np.allclose(
        adjoint(array) @ array, np.eye(columns), atol=100 * columns * np.finfo(array.dtype).eps
    )


def check_singular_vectors(a: Array, u: Array, s: Array, vh: Array) -> list[Array]:
    assert is_unitary(u)
    assert is_unitary(adjoint(vh))
    count = s.shape[-1]
    return [(u[..., :count] * s[..., None, :]) @ vh[..., :count, :] - a]


def check_eigenvectors(a: Array, w: Array, *vectors: Array) -> list[Array]:
    *left, right = vectors
    assert all(np.allclose(np.linalg.norm(each, axis=-2), 1, atol=1e-5) for each in vectors)
    residuals = [a @ right - right * w[..., None, :]]
    return residuals + [adjoint(each) @ a - w[..., :, None] * adjoint(each) for each in left]


def check_schur_vectors(a: Array, t: Array, z: Array) -> list[Array]:
    assert is_unitary(z)
    assert not np.tril(t, -2).any()
    return [z @ t @ adjoint(z) - a]


def sorted_values(values: Array) -> Array:
    """Eigenvalues by their real parts; those of a conjugate pair by their imaginary parts."""
    digits = 3
    order = np.lexsort((values.imag, values.real.round(digits)), axis=-1)
    return np.take_along_axis(values, order, -1)


def eigenvalues_of_schur_form(t: Array, *vectors: Array) -> Array:
    return sorted_values(np.linalg.eigvals(t.astype(np.complex128)))


NOT_UNIQUE: dict[
    str, tuple[Callable[[Array], Any], Callable[..., list[Array]] | None, Callable[..., Array]]
] = {
    "gesdd": (lax.linalg.svd, check_singular_vectors, lambda u, s, vh: s),
    "gesdd, thin": (
        lambda x: lax.linalg.svd(x, full_matrices=False),
        check_singular_vectors,
        lambda u, s, vh: s,
    ),
    "gesvd": (
        lambda x: lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.QR),
        check_singular_vectors,
        lambda u, s, vh: s,
    ),
    "geev": (lax.linalg.eig, check_eigenvectors, lambda w, *vectors: sorted_values(w)),
    "geev, right": (
        lambda x: lax.linalg.eig(x, compute_left_eigenvectors=False),
        check_eigenvectors,
        lambda w, *vectors: sorted_values(w),
    ),
    "geev, values": (
        lambda x: lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
        None,
        sorted_values,
    ),
    "gees": (lax.linalg.schur, check_schur_vectors, eigenvalues_of_schur_form),
    "gees, form": (
        lambda x: lax.linalg.schur(x, compute_schur_vectors=False),
        None,
        eigenvalues_of_schur_form,
    ),
}
"""The function, the residuals of its results, and the part of them that is unique.

Two versions of LAPACK may give vectors of other signs or phases, and eigenvalues in another order.
"""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NOT_UNIQUE)
def test_factors_that_are_not_unique(name: str, dtype: Any) -> None:
    function, residuals_of, unique_part = NOT_UNIQUE[name]
    shapes = RECTANGULAR if name.startswith(("gesdd", "gesvd")) else SQUARE
    for shape in [*shapes, *(EDGES if dtype == np.float32 else [])]:
        a = general(shape, dtype)
        with jax.enable_x64(True):
            lowered = jax.jit(lambda x: jax.tree.leaves(function(x))).lower(a)
            want = [np.asarray(value) for value in lowered.compile()(a)]
            text = lowered.as_text()
        got = nimblehlo.execute(text, [a])
        assert [(each.shape, each.dtype) for each in got] == [(each.shape, each.dtype) for each in want]
        size = np.abs(a).max(initial=1) * shape[-1]
        tolerance = 10 * shape[-1] * precision_of(dtype)
        assert np.allclose(unique_part(*got), unique_part(*want), rtol=0, atol=tolerance)
        if residuals_of is not None:
            for residual in residuals_of(a, *got):
                assert np.abs(residual).max(initial=0) <= size * precision_of(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_trsm(dtype: Any, left_side: bool, batch: tuple[int, ...]) -> None:
    options = [
        {
            "lower": lower,
            "unit_diagonal": unit_diagonal,
            "transpose_a": transpose_a,
            "conjugate_a": conjugate_a,
        }
        for lower in (False, True)
        for unit_diagonal in (False, True)
        for transpose_a, conjugate_a in ((False, False), (True, False), (True, True))
    ]

    def function(a: Any, b: Any) -> Any:
        return [lax.linalg.triangular_solve(a, b, left_side=left_side, **option) for option in options]

    b = general((*batch, 4, 2) if left_side else (*batch, 2, 4), dtype)
    same_as_xla(function, dominant((*batch, 4, 4), dtype), b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_ormqr(dtype: Any, left: bool, batch: tuple[int, ...]) -> None:
    def function(x: Any, c: Any) -> Any:
        factors, tau = jnp.linalg.qr(x, mode="raw")
        factors = factors.swapaxes(-1, -2)
        return [
            lax.linalg.ormqr(factors, tau, c, left=left, transpose=transpose) for transpose in (False, True)
        ]

    c = general((*batch, 4, 2) if left else (*batch, 2, 4), dtype)
    same_as_xla(function, general((*batch, 4, 3), dtype), c)


def test_columns_that_come_first_are_not_supported() -> None:
    lowered = jax.jit(lambda x: lax.linalg.qr(x, pivoting=True)).lower(general((3, 2), np.float32))
    text = lowered.as_text().replace("dense<0> : tensor<i32>", "dense<1> : tensor<i32>")
    with pytest.raises(nimblehlo.ExecutionError, match="nonzero pivots"):
        nimblehlo.execute(text, [general((3, 2), np.float32)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gtsv(dtype: Any) -> None:
    for batch in ((), (2, 3)):
        lower, upper = (general((*batch, 5), dtype) for _ in range(2))
        same_as_xla(lax.linalg.tridiagonal_solve, lower, 3 + lower, upper, general((*batch, 5, 2), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_failures_are_reported(dtype: Any) -> None:
    """One matrix of the batch has no factor, or no unique solution; JAX puts NaN in its place."""
    matrices = hermitian((3, 3, 3), dtype)
    matrices[1] = -matrices[1]
    same_as_xla(lambda x: lax.linalg.cholesky(x, symmetrize_input=False), matrices)
    zeros = np.zeros((2, 3), dtype)
    diagonal = np.array([[1, 2, 3], [0, 0, 0]], dtype)
    same_as_xla(lax.linalg.tridiagonal_solve, zeros, diagonal, zeros, general((2, 3, 1), dtype))


@pytest.mark.parametrize("minor_to_major", ["1, 0", "0, 1"])
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (3, 3)])
def test_layouts_say_what_lapack_sees(shape: tuple[int, int], minor_to_major: str) -> None:
    """LAPACK takes its buffers to be stored by columns; with another layout it sees another matrix."""
    rows, columns = shape
    matrix, least = f"tensor<{rows}x{columns}xf32>", min(shape)
    layout, vector = f"dense<[{minor_to_major}]> : tensor<2xindex>", "dense<0> : tensor<1xindex>"
    text = f"""func.func @main(%x: {matrix}) -> ({matrix}, tensor<{least}xi32>, tensor<i32>) {{
      %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%x) {{
        api_version = 4 : i32, backend_config = {{}}, operand_layouts = [{layout}],
        result_layouts = [{layout}, {vector}, dense<> : tensor<0xindex>]
      }} : ({matrix}) -> ({matrix}, tensor<{least}xi32>, tensor<i32>)
      return %0#0, %0#1, %0#2 : {matrix}, tensor<{least}xi32>, tensor<i32>
    }}"""
    jax.jit(lax.linalg.lu).lower(np.eye(2, dtype=np.float32))  # Registers the kernels with XLA.
    values = general(shape, np.float32)
    assert_close(nimblehlo.execute(text, [values]), run_xla(text, values), 1e-6)


def test_layouts_of_batches() -> None:
    """Batches are stored in one order and read in another, operand and results independently."""
    stored, read = "dense<[0, 2, 1]> : tensor<3xindex>", "dense<[1, 2, 0]> : tensor<3xindex>"
    matrices, info = "tensor<2x3x3xf64>", "tensor<2xi32>"
    text = f"""func.func @main(%x: {matrices}) -> ({matrices}, {info}) {{
      %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x) {{
        api_version = 4 : i32, backend_config = {{uplo = 76 : ui8}}, operand_layouts = [{stored}],
        result_layouts = [{read}, dense<0> : tensor<1xindex>]
      }} : ({matrices}) -> ({matrices}, {info})
      return %0#0, %0#1 : {matrices}, {info}
    }}"""
    values = hermitian((2, 3, 3), np.float64)
    with jax.enable_x64(True):
        jax.jit(lax.linalg.cholesky).lower(values)  # Registers the kernels with XLA.
        want = run_xla(text, values)
    got = nimblehlo.execute(text, [values])
    assert_close(got, want, 1e-12)


def test_reflectors_must_fit_their_matrix() -> None:
    text = """func.func @main(%x: tensor<2x3xf32>, %tau: tensor<3xf32>) -> tensor<2x3xf32> {
      %0 = stablehlo.custom_call @lapack_sorgqr_ffi(%x, %tau) {
        api_version = 4 : i32, backend_config = {}, operand_layouts = [
          dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>
        ], result_layouts = [dense<[0, 1]> : tensor<2xindex>]
      } : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    with pytest.raises(nimblehlo.ExecutionError):
        nimblehlo.execute(text, [general((2, 3), np.float32), np.zeros(3, np.float32)])


def test_each_routine_has_four_types() -> None:
    names = {
        "potrf",
        "geqrf",
        "orgqr",
        "ormqr",
        "geqp3",
        "syevd",
        "gesdd",
        "gesvd",
        "getrf",
        "trsm",
        "geev",
        "gees",
        "gehrd",
        "sytrd",
        "gtsv",
    }
    complex_names = names - {"orgqr", "ormqr", "syevd", "sytrd"} | {
        "ungqr",
        "unmqr",
        "heevd",
        "hetrd",
    }
    expected = {f"lapack_{prefix}{name}_ffi" for prefix in "sd" for name in names}
    expected |= {f"lapack_{prefix}{name}_ffi" for prefix in "cz" for name in complex_names}
    assert set(lapack.ROUTINES) == expected


S, Z, V = "tensor<3x3xf32>", "tensor<3x3xcomplex<f64>>", "tensor<3xf32>"


def call(target: str, operands: list[str], results: list[str], configuration: str = "") -> str:
    typed = f"api_version = 4 : i32, backend_config = {{{configuration}}}"
    attributes = f'call_target_name = "lapack_{target}_ffi", {typed}'
    return program("stablehlo.custom_call", operands, results, attributes)


UPLO = "uplo = 76 : ui8"
MODE = f"mode = 86 : ui8, {UPLO}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (call("spotrf", [S, S], [S, "tensor<i32>"], UPLO), "has 2 inputs, but must have 1"),
        (call("spotrf", [S], [S], UPLO), "has 1 result, but must have 2"),
        (call("spotrf", [Z], [Z, "tensor<i32>"], UPLO), r"inputs\[0\] has elements complex<f64>"),
        (call("spotrf", [V], [V, "tensor<i32>"], UPLO), "rank 2 or more"),
        (call("spotrf", ["!stablehlo.token"], [S, "tensor<i32>"], UPLO), "rank 2 or more"),
        (call("spotrf", ["tensor<3x4xf32>"], ["tensor<3x4xf32>", "tensor<i32>"], UPLO), r"inputs\[0\]"),
        (call("spotrf", [S], [S, "tensor<1xi32>"], UPLO), r"results\[1\] has batch sizes \[1\]"),
        (call("spotrf", [S], [S, "tensor<i64>"], UPLO), r"results\[1\] has elements i64"),
        (call("spotrf", [S], [S, "tensor<i32>"]), "parameter uplo is missing"),
        (
            call("spotrf", [S], [S, "tensor<i32>"], "uplo = 65 : ui8"),
            "uplo is 65, but must be the code of one of L, U",
        ),
        (call("spotrf", [S], [S, "tensor<i32>"], "uplo = -1 : i64"), "uplo is -1"),
        (call("sgeqrf", ["tensor<4x3xf32>"], ["tensor<4x3xf32>", "tensor<4xf32>"]), r"results\[1\]"),
        (call("sgesdd", [S], [S, V, S, S, "tensor<i32>"], "mode = 66 : ui8"), "mode is 66"),
        (
            call("zheevd", [Z], [Z, "tensor<3xcomplex<f64>>", "tensor<i32>"], f"mode = 86 : ui8, {UPLO}"),
            r"results\[1\]",
        ),
    ],
)
def test_rejected(text: str, reason: str) -> None:
    with pytest.raises(VerifyError, match=reason) as caught:
        parse_and_verify(text)
    assert caught.value.operation == "stablehlo.custom_call"
    assert str(caught.value.location).startswith("<text>:2")
