"""Decompositions, solvers, Fourier transforms."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import complex_normal, model, normal


def _definite(size: int, dtype: type = np.float32) -> np.ndarray:
    factor = normal(size, size, dtype=np.float64)
    return (factor @ factor.T + size * np.eye(size)).astype(dtype)


def _symmetric(size: int) -> np.ndarray:
    factor = normal(size, size, seed=3, dtype=np.float64)
    return (factor + factor.T + np.diag(4.0 * np.arange(size))).astype(np.float32)


def _hermitian(size: int) -> np.ndarray:
    factor = complex_normal(size, size, seed=5)
    return (factor + factor.conj().T + np.diag(4.0 * np.arange(size))).astype(np.complex64)


@model(np.stack([_definite(5), 2 * _definite(5)]), bound=5e-6)
def cholesky(a):
    return jnp.linalg.cholesky(a)


@model(_definite(6, np.float64), bound=1e-12, x64=True)
def cholesky_double(a):
    return lax.linalg.cholesky(a, symmetrize_input=False)


@model(_hermitian(4) + 12 * np.eye(4, dtype=np.complex64), bound=5e-6)
def cholesky_complex(a):
    return jnp.linalg.cholesky(a)


@model(normal(6, 4), bound=5e-6)
def qr(a):
    return jnp.linalg.qr(a)


@model(normal(2, 3, 5), bound=5e-6)
def qr_complete(a):
    return jnp.linalg.qr(a, mode="complete")


@model(_symmetric(5), bound=1e-5)
def eigh(a):
    values, vectors = jnp.linalg.eigh(a)
    return values, vectors * jnp.sign(vectors.sum(axis=0))


@model(_hermitian(4), bound=1e-5)
def eigh_complex(a):
    return jnp.linalg.eigvalsh(a)


@model(normal(5, 4), bound=1e-5)
def svd(a):
    return jnp.linalg.svd(a, full_matrices=False)


@model(complex_normal(3, 5), bound=1e-5)
def svd_complex_values(a):
    return jnp.linalg.svd(a, compute_uv=False)


@model(normal(5, 5) + 5 * np.eye(5, dtype=np.float32), normal(5, 2, seed=1), bound=1e-5)
def solve(a, b):
    return jnp.linalg.solve(a, b)


@model(normal(2, 4, 4) + np.stack([4 * np.eye(4), np.diag([-4, 4, 4, 4])]).astype(np.float32), bound=1e-5)
def inverse_and_determinant(a):
    return jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.slogdet(a)


@model(normal(4, 4) + np.diag([1.0, 5.0, 10.0, 15.0]).astype(np.float32), bound=1e-5)
def eig(a):
    values, vectors = jnp.linalg.eig(a)
    total = vectors.sum(axis=0)
    return values, vectors * (jnp.conj(total) / jnp.abs(total))


@model(complex_normal(4, 4) + np.diag([1.0, 5.0, 10.0, 15.0]).astype(np.complex64), bound=1e-5)
def eig_complex(a):
    return jnp.linalg.eigvals(a)


@model(normal(5, 5), bound=5e-6)
def lu(a):
    return jax.scipy.linalg.lu(a)


@model(normal(3, 4, 4, dtype=np.float64), bound=1e-12, x64=True)
def lu_factor_batched(a):
    return jax.scipy.linalg.lu_factor(a)


@model(_definite(4), normal(4, 3), bound=1e-5)
def cholesky_solve(a, b):
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b)


@model(normal(2, 4, 4) + 4 * np.eye(4, dtype=np.float32), normal(2, 4, 3, seed=1), bound=5e-6)
def triangular_solve_variants(a, b):
    def solved(**options):
        return lax.linalg.triangular_solve(a, b, left_side=True, **options)

    return (
        solved(lower=True),
        solved(lower=False, transpose_a=True),
        solved(lower=True, unit_diagonal=True),
        lax.linalg.triangular_solve(a, jnp.swapaxes(b, 1, 2), lower=True),
    )


@model(complex_normal(3, 3) + 3 * np.eye(3, dtype=np.complex64), complex_normal(3, 2), bound=5e-6)
def triangular_solve_adjoint(a, b):
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True)


@model(normal(4, 4, scale=0.5), bound=1e-5)
def matrix_exponential(a):
    return jax.scipy.linalg.expm(a)


@model(_definite(4), bound=2e-5)
def cholesky_gradient(a):
    return jax.grad(lambda m: jnp.log(jnp.diagonal(jnp.linalg.cholesky(m))).sum())(a)


@model(normal(4, 4) + 4 * np.eye(4, dtype=np.float32), normal(4, seed=1), bound=2e-5)
def solve_gradient(a, b):
    return jax.grad(lambda m, v: jnp.linalg.solve(m, v).sum(), argnums=(0, 1))(a, b)


@model(complex_normal(3, 8), bound=1e-6)
def fft(x):
    return jnp.fft.fft(x), jnp.fft.ifft(x, axis=0)


@model(normal(2, 6, 10), bound=1e-6)
def rfft(x):
    return jnp.fft.rfft(x), jnp.fft.rfft2(x), jnp.fft.rfftn(x)


@model(complex_normal(4, 5), bound=1e-6)
def irfft(x):
    return jnp.fft.irfft(x), jnp.fft.irfft(x, n=7), jnp.fft.irfft2(x)


@model(complex_normal(3, 4, 5, dtype=np.complex128), bound=1e-13, x64=True)
def fft_three_dimensions_double(x):
    return jnp.fft.fftn(x), jnp.fft.ifftn(x)


@model(normal(16), bound=2e-6)
def fft_gradient(x):
    return jax.grad(lambda y: (jnp.abs(jnp.fft.rfft(y)) ** 2).sum())(x)
