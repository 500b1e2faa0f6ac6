"""Products of stacks of matrices of f32, f64, complex<f32> and complex<f64>.

`kernels/matmul/matmul.pyx` multiplies matrices in blocks of K_BLOCK terms, and `kernels/matmul/gemv.pyx`
multiplies by vectors. The order of additions depends only on the number of terms; references and kernels call
the same functions. In a build by a compiler without vector extensions BLAS multiplies, in its own order:
blocks of K_BLOCK terms of matrix products, and all terms of products with a vector.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Final

import numpy as np

from ...types import Array
from ..numerics.broadcast_shapes import broadcast_shapes

Product = Callable[..., Array]

K_BLOCK: Final = 256
"""Number of terms in a block of a sum."""
_ON_ONE_THREAD: Final = 1 << 19
"""Maximum number of multiplications for which BLAS uses only the calling thread."""
_IN_CHUNKS: Final = 1 << 21
"""Maximum number of multiplications of a product that is computed in chunks on the calling thread. BLAS's
threads would save microseconds, but they wait for milliseconds while other processes use the processors."""
_MIN_CHUNK: Final = 8
"""Minimum number of rows or columns in a chunk."""


@functools.cache
def _native_matmul() -> Product | None:
    """The multiply function of `kernels.matmul.matmul`; None in a build without it."""
    from ...kernels.matmul import matmul as native

    return native.multiply if native.is_available() else None


def _native_gemv() -> Product | None:
    """The multiply function of `kernels.matmul.gemv`; None in a build without it."""
    from ...kernels.matmul import gemv

    return gemv.multiply if _native_matmul() is not None else None


def blas_matmul(a: Array, b: Array) -> Array:
    """The product of stacks of matrices by BLAS, in chunks where that is faster (`_IN_CHUNKS`)."""
    rows, k, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    chunks = _chunk_count(rows, k, columns)
    if chunks == 1:
        product: Array = np.matmul(a, b)
        return product
    product = np.empty((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns), a.dtype)
    cuts = [max(rows, columns) * chunk // chunks for chunk in range(chunks + 1)]
    for start, end in itertools.pairwise(cuts):
        if rows >= columns:
            np.matmul(a[..., start:end, :], b, out=product[..., start:end, :])
        else:
            np.matmul(a, b[..., start:end], out=product[..., start:end])
    return product


def _chunk_count(rows: int, k: int, columns: int) -> int:
    """The number of chunks into which the rows of a product, or its columns if more, are divided."""
    work = rows * k * columns
    if work <= _ON_ONE_THREAD or work > _IN_CHUNKS or min(rows, columns) == 1:
        return 1
    chunks = -(-work // _ON_ONE_THREAD)
    return chunks if max(rows, columns) >= chunks * _MIN_CHUNK else 1


def blocked_matmul(a: Array, b: Array, threads: int | None = None) -> Array:
    """The product of stacks of matrices: sums of K_BLOCK terms each, which are added in order.

    Args:
        a, b: [..., row, term] and [..., term, column] of one of the types.
        threads: maximum number of threads to use; None: all.
    """
    multiply = _native_matmul()
    if multiply is None:
        return _blocked_blas_matmul(a, b)
    return multiply(*_equally_stacked(a, b), threads)


def _blocked_blas_matmul(a: Array, b: Array) -> Array:
    if a.shape[-1] <= K_BLOCK:
        return blas_matmul(a, b)
    total = blas_matmul(a[..., :K_BLOCK], b[..., :K_BLOCK, :])
    for start in range(K_BLOCK, a.shape[-1], K_BLOCK):
        total += blas_matmul(a[..., start : start + K_BLOCK], b[..., start : start + K_BLOCK, :])
    return total


def matmul(a: Array, b: Array, threads: int | None = None) -> Array:
    """The product of stacks of matrices: in blocks, or in interleaved chains if one is a vector."""
    if 1 in (a.shape[-2], b.shape[-1]):
        multiply = _native_gemv()
        return blas_matmul(a, b) if multiply is None else multiply(*_equally_stacked(a, b), threads)
    return blocked_matmul(a, b, threads)


def complex_product(a: Array, b: Array, threads: int | None = None) -> Array:
    """The product of stacks of complex matrices of one element type.

    Args:
        a, b: [..., row, term] and [..., term, column].
        threads: maximum number of threads to use; None: all.
    """
    from ...kernels.matmul import matmul as native

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
    if multiply is None and is_vector:
        return np.matmul if _chunk_count(rows, k, columns) == 1 else blas_matmul
    if multiply is not None:
        return multiply if threads is None else functools.partial(multiply, threads=threads)
    return np.matmul if _chunk_count(rows, k, columns) == 1 and k <= K_BLOCK else _blocked_blas_matmul


def k_block_of(rows: int, columns: int) -> tuple[int, int] | None:
    """The number of terms in a block of the sum, and the bytes of its interleaved chains, 0 without chains.

    None if the order is BLAS's.
    """
    if _native_matmul() is None:
        return None
    if 1 not in (rows, columns):
        return K_BLOCK, 0
    from ...kernels.matmul import gemv

    return gemv.K_BLOCK, gemv.CHAIN_BYTES


def has_native_matmul() -> bool:
    """Whether the build has `kernels.matmul`, which has threads and epilogues, and reads matrices of bf16."""
    return _native_matmul() is not None
