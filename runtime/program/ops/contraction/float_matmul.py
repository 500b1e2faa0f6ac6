"""Products of stacks of matrices of f32, f64, complex<f32> and complex<f64>.

`kernels/matmul/matmul.pyx` multiplies matrices in blocks of K_BLOCK terms, and `kernels/matmul/gemv.pyx`
multiplies by vectors. The order of additions depends only on the number of terms; references and kernels call
the same functions. In a build by a compiler without vector extensions BLAS multiplies, in its own order:
blocks of K_BLOCK terms of matrix products, and all terms of products with a vector.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np

from ....types import Array
from ..numerics.broadcast_shapes import broadcast_shapes

Product = Callable[..., Array]

K_BLOCK: Final = 256
"""Number of terms in a block of a sum."""


@functools.cache
def _native_matmul() -> Product | None:
    """The multiply function of `kernels.matmul.matmul`; None in a build without it."""
    from ....kernels.matmul import matmul as native

    return native.multiply if native.is_available() else None


def _native_gemv() -> Product | None:
    """The multiply function of `kernels.matmul.gemv`; None in a build without it."""
    from ....kernels.matmul import gemv

    return gemv.multiply if _native_matmul() is not None else None


def _blocked_blas_matmul(a: Array, b: Array) -> Array:
    total: Array = np.matmul(a[..., :K_BLOCK], b[..., :K_BLOCK, :])
    for start in range(K_BLOCK, a.shape[-1], K_BLOCK):
        total += np.matmul(a[..., start : start + K_BLOCK], b[..., start : start + K_BLOCK, :])
    return total


def matmul(a: Array, b: Array, threads: int | None = None) -> Array:
    """The product of stacks of matrices: in blocks of K_BLOCK terms; by a vector in interleaved chains.

    Args:
        a, b: [..., row, term] and [..., term, column] of one element type.
        threads: maximum number of threads to use; None: all.
    """
    is_vector = 1 in (a.shape[-2], b.shape[-1])
    multiply = _native_gemv() if is_vector else _native_matmul()
    if multiply is not None:
        return multiply(*_equally_stacked(a, b), threads)
    return np.asarray(np.matmul(a, b)) if is_vector else _blocked_blas_matmul(a, b)


def complex_product(a: Array, b: Array, threads: int | None = None) -> Array:
    """The product of stacks of complex matrices of one element type.

    Args:
        a, b: [..., row, term] and [..., term, column].
        threads: maximum number of threads to use; None: all.
    """
    from ....kernels.matmul import matmul as native

    return native.multiply_complex(*_equally_stacked(a, b), threads)


def _equally_stacked(a: Array, b: Array) -> tuple[Array, Array]:
    """The operands with equal batching sizes."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))


def fastest_matmul(rows: int, k: int, columns: int, threads: int | None = None) -> Product:
    """The fastest function that computes `matmul` for matrices of these sizes in stacks of equal shape.

    Args:
        rows, k, columns: the sizes.
        threads: maximum number of threads that it may use where it knows of them; None: all.
    """
    is_vector = 1 in (rows, columns)
    multiply = _native_gemv() if is_vector else _native_matmul()
    if multiply is None:
        return np.matmul if is_vector or k <= K_BLOCK else _blocked_blas_matmul
    return multiply if threads is None else functools.partial(multiply, threads=threads)


def k_block_of(rows: int, columns: int) -> tuple[int, int] | None:
    """The number of terms in a block of the sum, and the bytes of its interleaved chains, 0 without chains.

    None if the order is BLAS's.
    """
    if _native_matmul() is None:
        return None
    if 1 not in (rows, columns):
        return K_BLOCK, 0
    from ....kernels.matmul import gemv

    return gemv.K_BLOCK, gemv.CHAIN_BYTES


def has_native_matmul() -> bool:
    """Whether the build has `kernels.matmul`, which has threads and epilogues, and reads matrices of bf16."""
    return _native_matmul() is not None
