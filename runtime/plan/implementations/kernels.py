"""Finds the kernel that serves an operation, and prepares it from the operation's view."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...ops.framework.declaration import Op
from ...ops.framework.op_registry import ARG_REDUCE, ARG_SORT, COMPONENT_SCATTER
from ...types import QUANTIZED, TensorType
from ..implementation import Runnable
from .kernel import Kernel, KernelMatch

if TYPE_CHECKING:
    from ...ops.chlo.elementwise import TopK
    from ...ops.contraction.fft import Fft, FftOfReal
    from ...ops.contraction.linalg import Cholesky, TriangularSolve
    from ...ops.custom_calls.custom_call import CustomCall
    from ...ops.shape.random import RngBitGenerator

Matcher = Callable[[Any, int | None], KernelMatch]
"""Finds the kernel of an operation, by its view and the maximum number of threads (None: all)."""


def kernel_for(view: Op, threads: int | None) -> KernelMatch:
    """The kernel that serves an operation whose sizes are all known.

    Args:
        view: the operation.
        threads: maximum number of threads; None: all.
    """
    by_target: Matcher | None = _custom_call if view.name == "stablehlo.custom_call" else None
    matcher = by_target or MATCHERS.get(view.name)
    if matcher is None:
        return "no kernel for this operation"
    values = (*view.operation.operands, *view.operation.results)
    if any(value.type.category & QUANTIZED for value in values):
        from .quantized_sums import quantized_sum

        return quantized_sum(view)
    types = [value.type for value in view.operation.operands]
    if not all(type.size for type in types if isinstance(type, TensorType)):
        return "there are no elements"
    return matcher(view, threads)


def _top_k(view: TopK, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.sorting.top_k`."""
    from ...kernels.sorting import top_k

    operand: TensorType = view.operand
    if operand.shape[-1] >= top_k.MAX_POSITIONS:
        return "indices need more than 32 bits"
    if not top_k.supports(operand.dtype) or view.indices.plain_element_type.name != "i32":
        return f"no kernel on {operand.element_type}"
    return Kernel(
        lambda: top_k.prepare(operand.shape, operand.dtype, view.k, threads=threads), "top-k selection"
    )


def _fft(view: Fft | FftOfReal, threads: int | None) -> KernelMatch:
    """Match a Fourier transform with the reference's kernel, on threads."""
    from ...ops.contraction.fft import SMALL_TRANSFORM

    shape = view.operand.shape
    if view.operand.size <= SMALL_TRANSFORM:
        return "a small transform takes one thread"
    return Kernel(lambda: view.bind_fft(shape, threads), "multithreaded FFT", True)


def _linear_algebra(view: Cholesky | TriangularSolve, threads: int | None) -> KernelMatch:
    """Match a factorization or a triangular system with the reference's kernel, on threads."""
    from ...ops.numerics.decompositions import uses_kernels

    reason = "multithreaded blocked factorization" if uses_kernels(view.operation) else "LAPACK"
    return Kernel(lambda: view.on_threads(threads), reason, is_compiled_ahead=True)


def _custom_call(view: CustomCall, threads: int | None) -> KernelMatch:
    """Match a custom call with the reference's kernel, on threads."""
    function = view.on_threads(threads)
    if function is None:
        return "no kernel for this operation"
    return Kernel(lambda: function, "a multithreaded routine", is_compiled_ahead=True)


def _rng_bit_generator(view: RngBitGenerator, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.random.random_words`: for any number of words."""

    def prepare() -> Runnable:
        from ...kernels.random import random_words
        from ...ops.shape.random import Generators

        return functools.partial(view.generate, Generators(random_words.three_fry, random_words.philox))

    return Kernel(prepare, "counters in SIMD lanes", is_compiled_ahead=True)


def _imported(module: str, name: str) -> Matcher:
    """A function of a module of this package, which its first call imports."""

    def match(view: Op, threads: int | None) -> KernelMatch:
        imported = importlib.import_module(f".{module}", __package__)
        matcher: Matcher = getattr(imported, name)
        return matcher(view, threads)

    return match


MATCHERS: Final[Mapping[str, Matcher]] = {
    "chlo.top_k": _top_k,
    "nimblehlo.fft_of_real": _fft,
    ARG_REDUCE: _imported("body_kernels", "arg_reduce_kernel"),
    ARG_SORT: _imported("body_kernels", "arg_sort_kernel"),
    COMPONENT_SCATTER: _imported("body_kernels", "scatter_kernel"),
    "stablehlo.cholesky": _linear_algebra,
    "stablehlo.convolution": _imported("contraction_kernels", "convolution"),
    "stablehlo.dot": _imported("contraction_kernels", "contraction"),
    "stablehlo.dot_general": _imported("contraction_kernels", "contraction"),
    "stablehlo.fft": _fft,
    "stablehlo.reduce": _imported("body_kernels", "reduce_kernel"),
    "stablehlo.reduce_window": _imported("body_kernels", "reduce_window_kernel"),
    "stablehlo.rng_bit_generator": _rng_bit_generator,
    "stablehlo.scatter": _imported("body_kernels", "scatter_kernel"),
    "stablehlo.select_and_scatter": _imported("body_kernels", "select_and_scatter_kernel"),
    "stablehlo.sort": _imported("body_kernels", "sort_kernel"),
    "stablehlo.triangular_solve": _linear_algebra,
}
"""The matcher of each operation that has kernels, by its name."""
