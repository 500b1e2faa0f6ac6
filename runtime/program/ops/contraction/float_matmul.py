"""Products of stacks of matrices of f32, f64, complex<f32> and complex<f64>.

`kernels/matmul/matmul.pyx` multiplies matrices in blocks of K_BLOCK terms, and `kernels/matmul/gemv.pyx`
multiplies by vectors. The order of additions depends only on the number of terms; references call these
functions on one thread, and kernels on several. In a build by a compiler without vector extensions BLAS
multiplies, in its own order: blocks of as many terms of matrix products, and all terms of products with a
vector.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import Array
from ..numerics.broadcast_shapes import broadcast_shapes

Product = Callable[..., Array]


class SummationOrder(NamedTuple):
    """The order in which the products of a sum are added.

    Attributes:
        k_block: products of a block; the sums of blocks are added in order. Of complex numbers, products of
            their components: an element of lhs has its real component multiplied first.
        chain_bytes: bytes of the interleaved chains of a block; 0: its products are added in order.
        is_fused: whether fused multiply-adds add the products. If not, the components of each product of
            complex numbers are rounded, and there is one block.
        half_tile: products of each of two chains, whose sums are added to that of the block, one pair after
            the other; 0: a block is one chain.
    """

    k_block: int
    chain_bytes: int = 0
    is_fused: bool = True
    half_tile: int = 0


def _k_block() -> int:
    """The number of terms in a block of a sum."""
    from ....kernels.matmul import matmul as native

    return native.K_BLOCK


@functools.cache
def _native_matmul() -> Any:
    """The module `kernels.matmul.matmul`; None in a build without its functions."""
    from ....kernels.matmul import matmul as native

    return native if native.is_available() else None


def _native_gemv() -> Any:
    """The module `kernels.matmul.gemv`; None in a build without its functions."""
    from ....kernels.matmul import gemv

    return gemv if _native_matmul() is not None else None


def _blocked_blas_matmul(a: Array, b: Array) -> Array:
    size = _k_block()
    total: Array = np.matmul(a[..., :size], b[..., :size, :])
    for start in range(size, a.shape[-1], size):
        total += np.matmul(a[..., start : start + size], b[..., start : start + size, :])
    return total


def matmul(a: Array, b: Array, threads: int | None = 1) -> Array:
    """The product of stacks of matrices: in blocks of terms; by a vector in interleaved chains.

    Args:
        a, b: [..., row, term] and [..., term, column] of one element type.
        threads: maximum number of threads to use; None: all.
    """
    is_vector = 1 in (a.shape[-2], b.shape[-1])
    native = _native_gemv() if is_vector else _native_matmul()
    if native is not None:
        return np.asarray(native.multiply(*_equally_stacked(a, b), threads))
    return np.asarray(np.matmul(a, b)) if is_vector else _blocked_blas_matmul(a, b)


def two_chain_matmul(a: Array, b: Array, threads: int | None = 1) -> Array:
    """The product of stacks of matrices of f32 in the order of two chains
    (`kernels/matmul/low_precision_matmul.h`).

    Args:
        a, b: [..., row, term] and [..., term, column], with the same batching sizes.
        threads: maximum number of threads to use; None: all.
    """
    from ....kernels.matmul import matmul as native

    return native.multiply_in_two_chains(a, b, threads)


class ConstantMatmul:
    """`two_chain_matmul` with one right matrix, which is converted and packed in the first call.

    Args:
        enter: converts the right matrix to f32.
    """

    def __init__(self, enter: Callable[[Array], Array]) -> None:
        self.enter = enter
        self.prepared: tuple[Array, Product] | None = None

    def __call__(self, a: Array, b: Array, threads: int | None) -> Array:
        """The product of [1, row, term] and [1, term, column]; `b` is the same in all calls."""
        from ....kernels.matmul import matmul as native

        prepared = self.prepared
        if prepared is None:
            prepared = self.prepared = self.enter(b[0]), native.ConstantProduct(threads, adds_two_chains=True)
        matrix, multiply = prepared
        return np.asarray(multiply(a[0], matrix))[np.newaxis]


def complex_product(a: Array, b: Array, threads: int | None = 1) -> Array:
    """The product of stacks of complex matrices of one element type.

    Args:
        a, b: [..., row, term] and [..., term, column].
        threads: maximum number of threads to use; None: all.
    """
    from ....kernels.matmul import matmul as native

    return native.multiply_complex(*_equally_stacked(a, b), threads)


def limited_to(threads: int | None, product: Product) -> Product:
    """A product of this module on at most `threads` threads; None: all."""
    return product if threads == 1 else functools.partial(product, threads=threads)


def _equally_stacked(a: Array, b: Array) -> tuple[Array, Array]:
    """The operands with equal batching sizes."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))


def fastest_matmul(rows: int, k: int, columns: int, threads: int | None = 1) -> Product:
    """The fastest function that computes `matmul` for matrices of these sizes in stacks of equal shape.

    Args:
        rows, k, columns: the sizes.
        threads: maximum number of threads that it may use where it knows of them; None: all.
    """
    is_vector = 1 in (rows, columns)
    native = _native_gemv() if is_vector else _native_matmul()
    if native is None:
        return np.matmul if is_vector or k <= _k_block() else _blocked_blas_matmul
    multiply: Product = native.multiply_on_one_thread if threads == 1 else native.multiply
    return multiply if threads in (None, 1) else functools.partial(multiply, threads=threads)


def fastest_for_sizes(product: Product, rows: int, k: int, columns: int) -> Product:
    """`fastest_matmul` on as many threads if a product is `matmul`, also `limited_to` some; else itself."""
    if product is matmul:
        return fastest_matmul(rows, k, columns)
    if isinstance(product, functools.partial) and product.func is matmul:
        return fastest_matmul(rows, k, columns, **product.keywords)
    return product


def summation_order(rows: int, columns: int) -> SummationOrder | None:
    """The order of `matmul`, by the sizes of its matrices; None if it is BLAS's."""
    if _native_matmul() is None:
        return None
    if 1 not in (rows, columns):
        return SummationOrder(_k_block())
    from ....kernels.matmul import gemv

    return SummationOrder(gemv.K_BLOCK, gemv.CHAIN_BYTES)


def two_chain_order() -> SummationOrder:
    """The order of `two_chain_matmul`."""
    from ....kernels.matmul import matmul as native

    return SummationOrder(native.K_BLOCK, half_tile=native.CHAIN)


def complex_summation_order(products: int) -> SummationOrder | None:
    """The order of `complex_product`, by how many products of numbers it adds up; None if it is BLAS's."""
    native = _native_matmul()
    if native is None:
        return None
    if products > native.MAX_SMALL_COMPLEX:
        return SummationOrder(native.K_BLOCK)
    return SummationOrder(2 * native.MAX_SMALL_COMPLEX, is_fused=False)


def max_rows_in_place() -> int:
    """The number of rows up to which a right matrix whose columns are contiguous is read in place."""
    from ....kernels.matmul import matmul as native

    return native.DIRECT_ROWS


def has_native_matmul() -> bool:
    """Whether the build has `kernels.matmul`, which has threads and epilogues, and reads matrices of bf16."""
    return _native_matmul() is not None
