"""Factorizations of PyTorch, called without PyTorch: their factors multiply to the operand."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.program.frontend.torch.conversions import factorizations
from nimblehlo.types import Array
from tests.program.frontend.torch.calling import converted

RANDOM = np.random.default_rng(11)
SHAPES = [(4, 4), (5, 3), (3, 5), (2, 4, 4)]
DTYPES = [np.float32, np.complex128]


def matrices(shape: tuple[int, ...], dtype: type) -> Array:
    values = RANDOM.normal(size=shape)
    return (values + 1j * RANDOM.normal(size=shape) if dtype is np.complex128 else values).astype(dtype)


def close(actual: Array, expected: Array) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def empty(shape: tuple[int, ...], dtype: type) -> Array:
    return np.empty(shape, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_operand(shape: tuple[int, ...], dtype: type) -> None:
    x = matrices(shape, dtype)
    *batch, m, n = shape
    k = min(m, n)
    exchanges, lower, upper = converted(
        "aten.linalg_lu.default",
        [x],
        [empty((*batch, *sizes), dtype) for sizes in ((m, m), (m, k), (k, n))],
    )
    close(exchanges @ lower @ upper, x)
    np.testing.assert_array_equal(lower, np.tril(lower))
    np.testing.assert_array_equal(upper, np.triu(upper))
    for mode, width in (("reduced", k), ("complete", m)):
        results = [empty((*batch, m, width), dtype), empty((*batch, width, n), dtype)]
        q, r = converted("aten.linalg_qr.default", [x, mode], results)
        close(q @ r, x)
        close(adjoint(q) @ q, np.broadcast_to(np.eye(width), (*batch, width, width)))
        np.testing.assert_array_equal(r, np.triu(r))
    real = np.zeros(0, dtype).real.dtype.type
    results = [empty((*batch, m, m), dtype), empty((*batch, k), real), empty((*batch, n, n), dtype)]
    u, singular, vh = converted("aten._linalg_svd.default", [x, True], results)
    close((u[..., :k] * singular[..., None, :]) @ vh[..., :k, :], x)
    close(singular, np.linalg.svd(x, compute_uv=False))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_and_their_vectors(dtype: type) -> None:
    x = matrices((2, 4, 4), dtype)
    hermitian = x + adjoint(x)
    real = x.real.dtype.type
    values, vectors = converted(
        "aten._linalg_eigh.default", [np.tril(hermitian), "L"], [empty((2, 4), real), x]
    )
    close((vectors * values[..., None, :]) @ adjoint(vectors), hermitian)
    wide = np.result_type(dtype, np.complex64).type
    values, vectors = converted("aten.linalg_eig.default", [x], [empty((2, 4), wide), empty((2, 4, 4), wide)])
    close(x @ vectors, vectors * values[..., None, :])


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems_inverses_and_determinants(dtype: type) -> None:
    x, b = matrices((2, 4, 4), dtype), matrices((2, 4, 3), dtype)
    factors, pivots, info = x, empty((2, 4), np.int32), empty((2,), np.int32)
    solution, *_ = converted("aten._linalg_solve_ex.default", [x, b], [b, factors, pivots, info])
    close(x @ solution, b)
    row = adjoint(b)
    solution, *_ = converted(
        "aten._linalg_solve_ex.default", [x, row], [row, factors, pivots, info], left=False
    )
    close(solution @ x, row)
    inverse, _ = converted("aten.linalg_inv_ex.default", [x], [x, info])
    close(inverse @ x, np.broadcast_to(np.eye(4), x.shape))
    determinant, *_ = converted("aten._linalg_det.default", [x], [empty((2,), dtype), x, pivots])
    close(determinant, np.linalg.det(x))
    real = x.real.dtype.type
    sign, logarithm, *_ = converted(
        "aten._linalg_slogdet.default", [x], [empty((2,), dtype), empty((2,), real), x, pivots]
    )
    close(sign * np.exp(logarithm), np.linalg.det(x))


@pytest.mark.parametrize("is_contiguous", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_for_gradients_are_those_of_pytorch(dtype: type, is_contiguous: bool) -> None:
    """For determinants PyTorch factorizes the transposed matrix if it is real and stored row by row."""
    x, b = matrices((2, 4, 4), dtype), matrices((2, 4, 3), dtype)
    pivots, info, real = empty((2, 4), np.int32), empty((2,), np.int32), x.real.dtype.type
    determinants = {
        "_linalg_det": [empty((2,), dtype), x, pivots],
        "_linalg_slogdet": [empty((2,), dtype), empty((2,), real), x, pivots],
    }
    for name, types in determinants.items():
        *_, factors, exchanged = converted(f"aten.{name}.default", [x], types, is_contiguous=is_contiguous)
        is_transposed = is_contiguous and real is dtype
        arguments = [factors, exchanged, b]
        (solution,) = converted("aten.linalg_lu_solve.default", arguments, [b], adjoint=is_transposed)
        close(x @ solution, b)
    arguments = converted(
        "aten._linalg_solve_ex.default", [x, b], [b, x, pivots, info], is_contiguous=is_contiguous
    )[1:3]
    (solution,) = converted("aten.linalg_lu_solve.default", [*arguments, b], [b])
    close(x @ solution, b)


def test_pseudoinverses_leave_out_small_singular_values() -> None:
    x = matrices((5, 2), np.float32) @ matrices((2, 4), np.float32)
    (result,) = converted("aten.linalg_pinv.atol_rtol_tensor", [x], [x.T], rtol=np.array(1e-3, np.float32))
    close(result, np.linalg.pinv(x, rcond=1e-3))


def test_exponentials_of_matrices_of_all_sizes() -> None:
    """A rotation by an angle, which is small, or many turns."""
    angles = np.array([1e-4, 2.0, 40.0])
    x = angles[:, None, None] * np.array([[0.0, -1.0], [1.0, 0.0]])
    (result,) = converted("aten.linalg_matrix_exp.default", [x], [x])
    np.testing.assert_allclose(result[:, 0, 0], np.cos(angles), rtol=1e-10)
    np.testing.assert_allclose(result[:, 1, 0], np.sin(angles), rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_exponentials_of_matrices_of_narrow_floats_are_rounded_once(dtype: type) -> None:
    x = RANDOM.normal(size=(2, 4, 4)).astype(dtype)
    (wide,) = converted("aten.linalg_matrix_exp.default", [x.astype(np.float32)], [x.astype(np.float32)])
    (result,) = converted("aten.linalg_matrix_exp.default", [x], [x])
    np.testing.assert_array_equal(result, wide.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_of_matrices_that_are_not_finite(dtype: type) -> None:
    matrix = np.array([[1.0, 2.0], [0.0, 3.0]], dtype)
    x = np.stack([np.array([[each, 0.0], [0.0, 1.0]], dtype) for each in (np.inf, -np.inf, np.nan)])
    (result,) = converted(
        "aten.linalg_matrix_exp.default", [np.stack([*x, matrix])], [np.stack([*x, matrix])]
    )
    assert np.isnan(result[:3]).all()
    close(result[3] / np.e**3, np.array([[np.exp(-2), 1 - np.exp(-2)], [0, 1]], dtype))


def test_types_that_lapack_lacks_are_told() -> None:
    x = np.eye(2, dtype=np.float16)
    with pytest.raises(UnsupportedError, match="LAPACK has no routine for f16"):
        converted("aten.linalg_qr.default", [x], [x, x])


def test_pytorch_is_asked_for_its_factors_once_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factorizations, "_transposes_matrices", lambda: True)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not factorizations._solve_transposes()
    monkeypatch.setitem(sys.modules, "torch", sys)
    assert factorizations._solve_transposes()
