"""Finds the kernel that serves an operation, and prepares it from the operation's view.

The declaration of an operation names its matcher: the module of this folder and the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....program.ops.framework.declaration import Op
from ....program.ops.framework.facts import named_code
from ....types import QUANTIZED, TensorType
from ...implementation import Runnable
from .kernel import KernelImplementation, KernelMatch

if TYPE_CHECKING:
    from ....program.ops.custom_calls.custom_call import CustomCall
    from ....program.ops.fft.fft import Fft, FftOfReal
    from ....program.ops.linalg.linalg import Cholesky, TriangularSolve
    from ....program.ops.random.random import RngBitGenerator
    from ....program.ops.sorting.top_k import TopK

Matcher = Callable[[Any, int | None], KernelMatch]
"""Finds the kernel of an operation, by its view and the maximum number of threads (None: all)."""


def kernel_for(view: Op, threads: int | None) -> KernelMatch:
    """The kernel that serves an operation whose sizes are all known.

    Args:
        view: the operation.
        threads: maximum number of threads; None: all.
    """
    if not view.kernel:
        return "no kernel for this operation"
    values = (*view.operation.operands, *view.operation.results)
    if any(value.type.category & QUANTIZED for value in values):
        from .quantized_sums import quantized_sum

        return quantized_sum(view)
    types = [value.type for value in view.operation.operands]
    if not all(type.size for type in types if isinstance(type, TensorType)):
        return "there are no elements"
    matcher: Matcher = named_code(__package__, view.kernel)
    return matcher(view, threads)


def top_k(view: TopK, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.sorting.top_k`."""
    from ....kernels.sorting import top_k

    operand: TensorType = view.operand
    if operand.shape[-1] >= top_k.MAX_POSITIONS:
        return "indices need more than 32 bits"
    if not top_k.supports(operand.dtype) or view.indices.plain_element_type.name != "i32":
        return f"no kernel on {operand.element_type}"
    return KernelImplementation(
        lambda: top_k.prepare(operand.shape, operand.dtype, view.k, threads=threads), "top-k selection"
    )


def fft(view: Fft | FftOfReal, threads: int | None) -> KernelMatch:
    """Match a Fourier transform with the reference's kernel, on threads."""
    from ....program.ops.fft.fft import SMALL_TRANSFORM

    shape = view.operand.shape
    if view.operand.size <= SMALL_TRANSFORM:
        return "a small transform takes one thread"
    return KernelImplementation(lambda: view.bind_fft(shape, threads), "multithreaded FFT", True)


def linear_algebra(view: Cholesky | TriangularSolve, threads: int | None) -> KernelMatch:
    """Match a factorization or a triangular system with the reference's kernel, on threads."""
    from ....program.ops.numerics.decompositions import uses_kernels

    reason = "multithreaded blocked factorization" if uses_kernels(view.operation) else "LAPACK"
    return KernelImplementation(lambda: view.on_threads(threads), reason, is_compiled_ahead=True)


def custom_call(view: CustomCall, threads: int | None) -> KernelMatch:
    """Match a custom call with the reference's kernel, on threads."""
    if not view.has_threads:
        return "no kernel for this operation"
    return KernelImplementation(lambda: view.on_threads(threads), "a multithreaded routine", True)


def rng_bit_generator(view: RngBitGenerator, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.random.random_words`: for any number of words."""

    def prepare() -> Runnable:
        from ....kernels.random import random_words
        from ....program.ops.random.random import Generators

        return functools.partial(view.generate, Generators(random_words.three_fry, random_words.philox))

    return KernelImplementation(prepare, "counters in SIMD lanes", is_compiled_ahead=True)
