"""Linear algebra and Fourier transforms: `fft`, `cholesky`, `triangular_solve`.

Source: specification, sections "fft", "cholesky" and "triangular_solve".
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..types import COMPLEX, DYNAMIC, FLOAT, QUANTIZED_PER_TENSOR, ElementType, TensorType, Type
from .attribute_kinds import BOOL, DIMENSIONS, Enum
from .declaration import Array, Attribute, Op, Operand, Result, constraint
from .elementwise_base import same_baseline_element_type, same_baseline_type
from .fortran import Procedure
from .lapack_library import Argument, Library, factors, library_of, solutions
from .numerics import carrier, complex_type, real_type
from .rules import first, same_shape, shape_text, shapes_agree, sizes_agree

SMALL_TRANSFORM: Final = 1 << 14
"""Up to so many elements NumPy's transform serves: SciPy's is faster, but its import takes 0.2 s."""


class FftType(enum.StrEnum):
    """Direction and kind of a Fourier transform."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


FFT_TYPE: Final = Enum("fft_type", FftType)


class Transpose(enum.StrEnum):
    """What `triangular_solve` does to its coefficients."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


class Fft(
    Op,
    name="stablehlo.fft",
    assembly="$operand , type = $fft_type , length = $fft_length attr-dict : functional-type",
):
    """Fourier transforms over the last one to three dimensions."""

    operand = Operand(FLOAT | COMPLEX)
    fft_type = Attribute(FFT_TYPE)
    fft_length = Attribute(DIMENSIONS)
    result = Result(FLOAT | COMPLEX)

    @constraint
    def C1(self) -> str | None:
        """size(fft_length) <= rank(operand)"""
        if len(self.fft_length) <= self.operand.rank:
            return None
        return f"fft_length has {len(self.fft_length)} elements, but operand has rank {self.operand.rank}"

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
        """One transform size is not in the operand: that of IRFFT's last dimension."""
        return [TensorType(self._result_shape(self.operand.shape), self._result_element_type())]

    def reference(self, operand: Array) -> Array:
        if operand.size <= SMALL_TRANSFORM:
            return self._by(np.fft, operand)
        return self.transform(operand)

    def transform(self, operand: Array, threads: int = 1, overwrite: bool = False) -> Array:
        """As `reference`, by SciPy, which gives the same bits whatever the number of threads.

        Args:
            operand: as declared.
            threads: how many to use.
            overwrite: whether `operand` may hold anything afterwards, the result if that is best.
        """
        import scipy.fft

        return self._by(scipy.fft, operand, workers=threads, overwrite_x=overwrite)

    def _by(self, library: Any, operand: Array, **options: Any) -> Array:
        if operand.size == 0:
            return np.zeros(self._result_shape(operand.shape), self.result.dtype)
        options["axes"] = tuple(range(-len(self.fft_length), 0))
        if self.fft_type == FftType.FFT:
            if len(self.fft_length) == 1 and _is_real(operand):
                return _whole(library.rfftn(operand.real, **options), operand.shape[-1])
            return np.asarray(library.fftn(operand, **options))
        if self.fft_type == FftType.IFFT:
            return np.asarray(library.ifftn(operand, **options))
        if self.fft_type == FftType.RFFT:
            return np.asarray(library.rfftn(operand, **options))
        return np.asarray(library.irfftn(operand, s=self.fft_length, **options))

    def _result_element_type(self) -> ElementType:
        element_type: ElementType = self.operand.element_type
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


def _is_real(operand: Array) -> bool:
    """Whether all imaginary parts are +0: a transform of the real parts alone takes half the work."""
    codes = operand.imag.view(f"u{operand.itemsize // 2}")
    return not (codes[(0,) * (codes.ndim - 1)].any() or codes.any())


def _whole(half: Array, size: int) -> Array:
    """All `size` values of a real signal's transform from the first half, whose conjugates the others are."""
    return np.concatenate([half, np.conj(half[..., (size - 1) // 2 : 0 : -1])], axis=-1)


def _half(size: int) -> int:
    """How many of `size` values of a real signal's transform tell all of them."""
    return size if size in (0, DYNAMIC) else size // 2 + 1


class Cholesky(Op, name="stablehlo.cholesky", assembly="$a ( , lower = $lower )? attr-dict : same-type"):
    """Cholesky decomposition of a batch of matrices.

    What the specification leaves open is as in XLA: the opposite triangle of the result is zero, only the
    triangle that `lower` names is read, and a matrix that is not positive-definite gives NaN everywhere.
    """

    a = Operand(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)
    lower = Attribute(BOOL, False)
    result = Result(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)

    @constraint
    def C1(self) -> str | None:
        """baseline_type(a) = baseline_type(result)"""
        return same_baseline_type(a=self.a, result=self.result)

    @constraint
    def C2(self) -> str | None:
        """2 <= rank(a)"""
        return None if self.a.rank >= 2 else f"a has rank {self.a.rank}"

    @constraint
    def C3(self) -> str | None:
        """dim(a, -2) = dim(a, -1)"""
        return _is_square(self.a)

    def reference(self, a: Array) -> Array:
        return self._of(a.shape)(a)

    def bind(self) -> Callable[..., Array]:
        return self.reference if DYNAMIC in self.a.shape else self._of(self.a.shape)

    def _of(self, shape: tuple[int, ...]) -> Callable[[Array], Array]:
        """What gives the factors of matrices of that shape; NaN in place of a factor that does not exist."""
        if 0 in shape:
            return lambda a: a
        working, order, batch = carrier(self.a.element_type), shape[-1], shape[:-2]
        library, results = library_of(working), [(shape, working), (batch, np.int32)]
        factor = Procedure(
            lambda: library.call("potrf", factors(order, self.lower), math.prod(batch), results)
        )
        zeros = ~np.tri(order, dtype=bool) if self.lower else np.tri(order, k=-1, dtype=bool)

        def run(a: Array) -> Array:
            result, info = factor(a.astype(working, copy=False))
            np.copyto(result, 0, where=zeros)
            broken = (info != 0) | np.isnan(result.diagonal(0, -2, -1)).any(-1)
            if broken.any():
                result[broken] = np.nan
            return np.asarray(result.astype(a.dtype, copy=False))

        return run


class TriangularSolve(Op, name="stablehlo.triangular_solve"):
    """Solves batches of systems of linear equations with triangular coefficients."""

    a = Operand(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)
    b = Operand(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)
    left_side = Attribute(BOOL)
    lower = Attribute(BOOL)
    unit_diagonal = Attribute(BOOL)
    transpose_a = Attribute(Enum("transpose", Transpose))
    result = Result(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)

    @constraint
    def I6(self) -> str | None:
        """transpose_a is one of NO_TRANSPOSE, TRANSPOSE, ADJOINT"""
        return "transpose_a is TRANSPOSE_INVALID" if self.transpose_a == Transpose.TRANSPOSE_INVALID else None

    @constraint
    def C1(self) -> str | None:
        """baseline_element_type(a) = baseline_element_type(b)"""
        return same_baseline_element_type(a=self.a, b=self.b)

    @constraint
    def C2(self) -> str | None:
        """2 <= rank(a) = rank(b) = R"""
        if 2 <= self.a.rank == self.b.rank:
            return None
        return f"a has rank {self.a.rank}, b has rank {self.b.rank}"

    @constraint
    def C3(self) -> str | None:
        """the batch dimensions of a and b agree; dim(a, -2) = dim(a, -1) = dim(b, left_side ? -2 : -1)"""
        return first(self._batches_agree(), _is_square(self.a), self._sides_agree())

    def _batches_agree(self) -> str | None:
        if shapes_agree(self.a.shape[:-2], self.b.shape[:-2]):
            return None
        return f"a has batch sizes {shape_text(self.a.shape[:-2])}, b has {shape_text(self.b.shape[:-2])}"

    def _sides_agree(self) -> str | None:
        dimension = -2 if self.left_side else -1
        if sizes_agree(self.a.shape[-1], self.b.shape[dimension]):
            return None
        size = self.b.shape[dimension]
        return f"a has size {self.a.shape[-1]}, but b has size {size} in dimension {dimension}"

    @constraint
    def C4(self) -> str | None:
        """baseline_type(b) = baseline_type(result)"""
        return same_baseline_type(b=self.b, result=self.result)

    def reference(self, a: Array, b: Array) -> Array:
        return self._of(b.shape)(a, b)

    def bind(self) -> Callable[..., Array]:
        return self.reference if DYNAMIC in self.b.shape else self._of(self.b.shape)

    def _of(self, shape: tuple[int, ...]) -> Callable[[Array, Array], Array]:
        """What solves systems of which `b` has that shape."""
        if 0 in shape:
            return lambda a, b: b
        working, dtype = carrier(self.a.element_type), self.result.dtype
        library, batch = library_of(working), math.prod(shape[:-2])
        solve = Procedure(
            lambda: library.call("trsm", self._arguments(library, shape), batch, [(shape, working)])
        )

        def run(a: Array, b: Array) -> Array:
            (solved,) = solve(a.astype(working, copy=False), b.astype(working, copy=False))
            return np.asarray(solved.astype(dtype, copy=False))

        return run

    def _arguments(self, library: Library, shape: tuple[int, ...]) -> list[Argument]:
        return solutions(
            library,
            (shape[-2], shape[-1]),
            left_side=self.left_side,
            lower=self.lower,
            transpose=_OPERATIONS[self.transpose_a],
            unit_diagonal=self.unit_diagonal,
        )


_OPERATIONS: Final = {Transpose.NO_TRANSPOSE: "N", Transpose.TRANSPOSE: "T", Transpose.ADJOINT: "C"}


def _is_square(type: TensorType) -> str | None:
    if sizes_agree(type.shape[-2], type.shape[-1]):
        return None
    return f"a has the last sizes {type.shape[-2]} and {type.shape[-1]}"
