"""Fourier transforms: `fft`.

Source: specification, section "fft".
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....errors import counted
from ....types import COMPLEX, DYNAMIC, FLOAT, Array, DType, ElementType, TensorType, Type
from ..framework import constraints, costs
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, Enum
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.rules import same_shape, shape_text, shapes_agree, sizes_agree
from ..numerics.decompositions import PreparedCall, native_call_by_kernel
from ..numerics.element_types import complex_type, real_type

SMALL_TRANSFORM: Final = 1 << 14
"""Maximum number of elements that one thread transforms. If `kernels.fft` does not support the sizes, NumPy
transforms them: SciPy is faster, but its import takes 0.2 s."""


class FftType(enum.StrEnum):
    """Direction and kind of a Fourier transform."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


FFT_TYPE: Final = Enum("fft_type", FftType)


class Fft(
    Op,
    name="stablehlo.fft",
    assembly="$operand , type = $fft_type , length = $fft_length attr-dict : functional-type",
):
    """Fourier transforms over the last one to three dimensions."""

    kernel = "kernels.fft"
    block_rule = "arrays.library_calls.LIBRARY_CALL"
    work = costs.Work.TRANSFORM
    rounding = Rounding.SUM

    operand = Operand(FLOAT | COMPLEX)
    fft_type = Attribute(FFT_TYPE)
    fft_length = Attribute(DIMENSIONS)
    result = Result(FLOAT | COMPLEX)

    @constraint
    def C1(self) -> str | None:
        """size(fft_length) <= rank(operand)"""
        if len(self.fft_length) <= self.operand.rank:
            return None
        return (
            f"fft_length has {counted(len(self.fft_length), 'element')}, "
            f"but operand has rank {self.operand.rank}"
        )

    @constraint
    def C2(self) -> str | None:
        """element types: FFT, IFFT: the same complex type; RFFT: real to complex; IRFFT: complex to real"""
        real = self.fft_type == FftType.RFFT
        source, target = self.operand.element_type, self.result.element_type
        if source.category != (FLOAT if real else COMPLEX) or source.width < 32:
            return f"operand of {self.fft_type} has elements {source}"
        expected = self._result_element_type()
        return (
            None
            if target is expected
            else f"result has elements {target}, but {self.fft_type} gives {expected}"
        )

    @constraint
    def C3(self) -> str | None:
        """1 <= size(fft_length) <= 3"""
        if 1 <= len(self.fft_length) <= 3:
            return None
        return f"fft_length has {len(self.fft_length)} elements, but must have 1 to 3"

    @constraint
    def C4(self) -> str | None:
        """shape(real)[-size(fft_length):] = fft_length for the real one of operand and result"""
        count = len(self.fft_length)
        for name, type in (("operand", self.operand), ("result", self.result)):
            if type.category == FLOAT and not shapes_agree(type.shape[-count:], self.fft_length):
                sizes = shape_text(type.shape[-count:])
                return f"the last sizes of {name} are {sizes}, but fft_length is {list(self.fft_length)}"
        return None

    @constraint
    def C5(self) -> str | None:
        """shape(result) = shape(operand), but dim(complex, -1) = (n = dim(real, -1)) = 0 ? 0 : n / 2 + 1"""
        expected = list(self.operand.shape)
        if self.fft_type == FftType.RFFT:
            expected[-1] = _half(expected[-1])
        elif self.fft_type == FftType.IRFFT:
            if not sizes_agree(expected[-1], _half(self.result.shape[-1])):
                return f"operand has last size {expected[-1]}, but result has {self.result.shape[-1]}"
            expected[-1] = self.result.shape[-1]
        return same_shape("result", self.result, "the shape that follows from operand", expected)

    def infer(self) -> list[Type]:
        """The size of IRFFT's last dimension is the last one of `fft_length`."""
        return [TensorType(self._result_shape(self.operand.shape), self._result_element_type())]

    def reference(self, operand: Array) -> Array:
        """The transform by the native function whose order of additions docs/numerics.md states: the
        specification leaves the algorithm open, and each rounds differently.
        """
        return self.bind_fft(operand.shape, 1)(operand)

    def bind(self) -> Callable[[Array], Array]:
        return self.reference if DYNAMIC in self.operand.shape else self.bind_fft(self.operand.shape, 1)

    def bind_fft(self, shape: tuple[int, ...], threads: int | None) -> Callable[[Array], Array]:
        """The function that transforms operands of a shape; its bits do not depend on the number of threads.

        Args:
            shape: all sizes known.
            threads: maximum number of threads to use; None: all.
        """
        if 0 in shape:
            return lambda operand: np.zeros(self._result_shape(operand.shape), self.result.dtype)
        return bind_fft(self.fft_type, shape, self.fft_length, self.operand.dtype, threads)

    def native_call(self) -> Callable[[], PreparedCall] | None:
        """A function that prepares the native call which replaces the reference; None without one."""
        return native_transform(self.fft_type, self.operand, self.fft_length)

    def _result_element_type(self) -> ElementType:
        element_type = self.operand.plain_element_type
        if self.fft_type == FftType.RFFT:
            return complex_type(element_type)
        return real_type(element_type) if self.fft_type == FftType.IRFFT else element_type

    def _result_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The result's shape for an operand of that shape."""
        if self.fft_type == FftType.RFFT:
            return (*shape[:-1], _half(shape[-1]))
        if self.fft_type == FftType.IRFFT:
            return (*shape[:-1], self.fft_length[-1])
        return tuple(shape)


FFT_OF_REAL: Final = "nimblehlo.fft_of_real"


class FftOfReal(Op, name=FFT_OF_REAL):
    """The transform FFT of floats over the last dimension, with all of its values.

    It occurs in specialized programs alone.
    """

    kernel = "kernels.fft"
    block_rule = "arrays.library_calls.LIBRARY_CALL"

    is_internal = True

    operand = Operand(FLOAT)
    result = Result(COMPLEX)

    C1 = constraints.same_shape("operand", "result")

    def reference(self, operand: Array) -> Array:
        return self.bind_fft(operand.shape, 1)(operand)

    def bind(self) -> Callable[[Array], Array]:
        return self.bind_fft(self.operand.shape, 1)

    def bind_fft(self, shape: tuple[int, ...], threads: int | None) -> Callable[[Array], Array]:
        """See `Fft.bind_fft`."""
        return bind_fft(FftType.FFT, shape, shape[-1:], self.operand.dtype, threads)

    def native_call(self) -> Callable[[], PreparedCall] | None:
        """See `Fft.native_call`."""
        return native_transform(FftType.FFT, self.operand, self.operand.shape[-1:])


def bind_fft(
    fft_type: FftType, shape: tuple[int, ...], fft_length: Sequence[int], dtype: DType, threads: int | None
) -> Callable[[Array], Array]:
    """A function that transforms arrays of the given shape and element type. No size may be 0."""
    from ....kernels.fft import fft

    sizes = _real_sizes(fft_type, shape, fft_length)
    if fft.supports(sizes):
        return fft.Transform(str(fft_type), sizes, np.finfo(dtype).dtype.itemsize, threads)
    if math.prod(shape) <= SMALL_TRANSFORM:
        return lambda operand: _transform_with(np.fft, fft_type, sizes, operand)
    return lambda operand: _by_scipy(fft_type, sizes, operand, threads)


def _real_sizes(fft_type: FftType, shape: tuple[int, ...], fft_length: Sequence[int]) -> list[int]:
    """The sizes of the transformed dimensions, of the result where that is real; `shape` is the operand's."""
    return [*shape[-len(fft_length) : -1], (fft_length if fft_type == FftType.IRFFT else shape)[-1]]


def native_transform(
    fft_type: FftType, operand: TensorType, fft_length: Sequence[int]
) -> Callable[[], PreparedCall] | None:
    """A function that prepares the native call of a small transform; None without one."""
    from ....kernels.fft import fft

    shape = operand.shape
    if DYNAMIC in shape or not 0 < operand.size <= SMALL_TRANSFORM:
        return None
    sizes, dtype = _real_sizes(fft_type, shape, fft_length), operand.dtype
    if not fft.supports(sizes):
        return None

    def make() -> PreparedCall:
        transform = fft.Transform(str(fft_type), sizes, np.finfo(dtype).dtype.itemsize, 1)
        return fft.TransformCall(transform, shape, dtype.kind == "c")

    return native_call_by_kernel(make)


def _by_scipy(fft_type: FftType, sizes: Sequence[int], operand: Array, threads: int | None) -> Array:
    import scipy.fft

    from ....kernels.fft import fft

    return _transform_with(scipy.fft, fft_type, sizes, operand, workers=fft.thread_count(threads))


def _transform_with(
    library: Any, fft_type: FftType, sizes: Sequence[int], operand: Array, **options: Any
) -> Array:
    """The transform by a library's functions."""
    options["axes"] = tuple(range(-len(sizes), 0))
    if fft_type == FftType.FFT:
        if len(sizes) == 1 and _is_real(operand):
            return _full_spectrum(library.rfftn(operand.real, **options), operand.shape[-1])
        return np.asarray(library.fftn(operand, **options))
    if fft_type == FftType.IFFT:
        return np.asarray(library.ifftn(operand, **options))
    if fft_type == FftType.RFFT:
        return np.asarray(library.rfftn(operand, **options))
    return np.asarray(library.irfftn(operand, s=sizes, **options))


def _is_real(operand: Array) -> bool:
    """Whether all imaginary parts are +0, so that a transform of the real parts, with half the operations,
    suffices.
    """
    if operand.dtype.kind != "c":
        return True
    codes = operand.imag.view(f"u{operand.itemsize // 2}")
    return not (codes[(0,) * (codes.ndim - 1)].any() or codes.any())


def _full_spectrum(half: Array, size: int) -> Array:
    """All `size` values of a real signal's transform, from the first half: the others are its conjugates."""
    return np.concatenate([half, np.conj(half[..., (size - 1) // 2 : 0 : -1])], axis=-1)


def _half(size: int) -> int:
    """The number of independent values in a real signal's transform of `size` values."""
    return size if size in (0, DYNAMIC) else size // 2 + 1
