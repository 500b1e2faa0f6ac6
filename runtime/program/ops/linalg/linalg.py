"""Linear algebra: `cholesky`, `triangular_solve`.

Source: specification, sections "cholesky" and "triangular_solve".
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....types import COMPLEX, DYNAMIC, FLOAT, QUANTIZED_PER_TENSOR, Array, TensorType
from ..framework import constraints, costs
from ..framework.attribute_kinds import BOOL, Enum
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.rules import first, shape_text, shapes_agree, sizes_agree
from ..numerics.decompositions import PreparedCall, native_call_by_kernel, uses_kernels
from ..numerics.element_types import carrier
from ..numerics.fortran import Call, Procedure
from ..numerics.lapack_library import (
    Argument,
    Library,
    library_of,
    native_call_of,
    potrf_arguments,
    trsm_arguments,
)


class Transpose(enum.StrEnum):
    """The operation that `triangular_solve` applies to its coefficients."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


class Cholesky(Op, name="stablehlo.cholesky", assembly="$a ( , lower = $lower )? attr-dict : same-type"):
    """Cholesky decomposition of a batch of matrices.

    What the specification leaves open is as in XLA: the opposite triangle of the result is zero, only the
    triangle that `lower` names is read, and a matrix that is not positive-definite gives NaN everywhere.
    """

    shaped_like = (("result", "a"),)
    kernel = "kernels.linear_algebra"
    block_rule = "arrays.library_calls.LIBRARY_CALL"
    work = costs.Work.CUBE

    a = Operand(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)
    lower = Attribute(BOOL, False)
    result = Result(FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_baseline_type("a", "result")

    @constraint
    def C2(self) -> str | None:
        """2 <= rank(a)"""
        return None if self.a.rank >= 2 else f"a has rank {self.a.rank}"

    @constraint
    def C3(self) -> str | None:
        """dim(a, -2) = dim(a, -1)"""
        return _is_square(self.a)

    def reference(self, a: Array) -> Array:
        """The factors by the kernel or the library that docs/numerics.md names: the specification defines
        them by their product, not the operations that compute and round them.
        """
        return self.bind_to_shape(a.shape)(a)

    def bind(self) -> Callable[..., Array]:
        return self.on_threads(1)

    def on_threads(self, threads: int | None) -> Callable[..., Array]:
        return self.reference if DYNAMIC in self.a.shape else self.bind_to_shape(self.a.shape, threads)

    def bind_to_shape(self, shape: tuple[int, ...], threads: int | None = 1) -> Callable[[Array], Array]:
        """The function that factors matrices of a shape; NaN in place of a factor that does not exist."""
        if 0 in shape:
            return lambda a: a
        working, order, batch = carrier(self.a.plain_element_type), shape[-1], shape[:-2]
        if uses_kernels(self.operation):
            factor_all = self._prepared(shape, threads)

            def run_kernel(a: Array) -> Array:
                (result,) = factor_all(a.astype(working, copy=False))
                return np.asarray(result.astype(a.dtype, copy=False))

            return run_kernel
        library, results = library_of(working), [(shape, working), (batch, np.int32)]
        count, arguments = math.prod(batch), potrf_arguments(order, self.lower)
        factor = Procedure(lambda: library.call("potrf", arguments, count, results, threads))
        zeros = ~np.tri(order, dtype=bool) if self.lower else np.tri(order, k=-1, dtype=bool)

        def run(a: Array) -> Array:
            result, info = factor(a.astype(working, copy=False))
            np.copyto(result, 0, where=zeros)
            broken = (info != 0) | np.isnan(result.diagonal(0, -2, -1)).any(-1)
            if broken.any():
                result[broken] = np.nan
            return np.asarray(result.astype(a.dtype, copy=False))

        return run

    def native_call(self) -> Callable[[], PreparedCall] | None:
        """A function that prepares the native call which replaces the reference; None without one."""
        working, shape = carrier(self.a.plain_element_type), self.a.shape
        if working != self.result.dtype or DYNAMIC in shape or 0 in shape or not uses_kernels(self.operation):
            return None
        return native_call_by_kernel(lambda: self._prepared(shape))

    def _prepared(self, shape: tuple[int, ...], threads: int | None = 1) -> PreparedCall:
        from ....kernels.linalg import linalg

        return linalg.cholesky(carrier(self.a.plain_element_type), shape, self.lower, True, threads)


class TriangularSolve(Op, name="stablehlo.triangular_solve"):
    """Solves batches of systems of linear equations with triangular coefficients."""

    shaped_like = (("result", "b"),)
    kernel = "kernels.linear_algebra"
    block_rule = "arrays.library_calls.LIBRARY_CALL"
    work = costs.Work.SQUARE

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

    C1 = constraints.same_baseline_element_type("a", "b")

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

    C4 = constraints.same_baseline_type("b", "result")

    def reference(self, a: Array, b: Array) -> Array:
        """The solution by the kernel or the library that docs/numerics.md names: the specification defines it
        by the equation that it solves, not the operations that compute and round it.
        """
        return self.bind_to_shape(b.shape)(a, b)

    def bind(self) -> Callable[..., Array]:
        return self.on_threads(1)

    def on_threads(self, threads: int | None) -> Callable[..., Array]:
        return self.reference if DYNAMIC in self.b.shape else self.bind_to_shape(self.b.shape, threads)

    def bind_to_shape(
        self, shape: tuple[int, ...], threads: int | None = 1
    ) -> Callable[[Array, Array], Array]:
        """The function that solves systems whose `b` has a shape."""
        if 0 in shape:
            return lambda a, b: b
        working, dtype = carrier(self.a.plain_element_type), self.result.dtype
        solve: Callable[..., tuple[Any, ...]] = Procedure(lambda: self._call(shape, threads))
        if uses_kernels(self.operation):
            solve = self._prepared(shape, threads)

        def run(a: Array, b: Array) -> Array:
            (solved,) = solve(a.astype(working, copy=False), b.astype(working, copy=False))
            return np.asarray(solved.astype(dtype, copy=False))

        return run

    def native_call(self) -> Callable[[], PreparedCall | Call] | None:
        """A function that prepares the native call which replaces the reference; None without one."""
        working, shape = carrier(self.a.plain_element_type), self.b.shape
        if working != self.result.dtype or DYNAMIC in shape or 0 in shape:
            return None
        if uses_kernels(self.operation):
            return native_call_by_kernel(lambda: self._prepared(shape))
        arguments = self._arguments(library_of(working), shape)
        return native_call_of(lambda: self._call(shape), arguments, 1, working.itemsize)

    def _prepared(self, shape: tuple[int, ...], threads: int | None = 1) -> PreparedCall:
        from ....kernels.linalg import linalg

        return linalg.triangular_solve(
            carrier(self.a.plain_element_type),
            shape,
            self.left_side,
            self.lower,
            _OPERATIONS[self.transpose_a],
            self.unit_diagonal,
            threads,
        )

    def _call(self, shape: tuple[int, ...], threads: int | None = 1) -> Call:
        working = carrier(self.a.plain_element_type)
        library, batch = library_of(working), math.prod(shape[:-2])
        return library.call("trsm", self._arguments(library, shape), batch, [(shape, working)], threads)

    def _arguments(self, library: Library, shape: tuple[int, ...]) -> list[Argument]:
        return trsm_arguments(
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
