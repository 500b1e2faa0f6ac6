"""Factorizations of PyTorch that StableHLO has, and systems of triangular matrices."""

from __future__ import annotations

from .....types import ELEMENT_TYPES
from ....ir import Value
from ..emitter import I64, Emitter, element_type, is_complex, shape_of
from ..table import NodeEmitter, converts

_I32 = ELEMENT_TYPES["i32"]


def triangle(e: Emitter, x: Value, *, lower: bool, offset: int = 0) -> Value:
    """The elements of matrices up to a diagonal, by its distance from the main one; 0 elsewhere."""
    rank = len(shape_of(x))
    row, column = e.iota(shape_of(x), rank - 2, I64), e.iota(shape_of(x), rank - 1, I64)
    diagonal = e.add(row, e.like(row, offset)) if offset else row
    return e.select(e.compare("GE" if lower else "LE", diagonal, column), x, e.like(x, 0))


def identity_like(e: Emitter, x: Value) -> Value:
    """Matrices of the shape of others, with 1 on the diagonal."""
    rank = len(shape_of(x))
    row, column = e.iota(shape_of(x), rank - 2, I64), e.iota(shape_of(x), rank - 1, I64)
    return e.select(e.compare("EQ", row, column), e.like(x, 1), e.like(x, 0))


def adjoint(e: Emitter, x: Value) -> Value:
    """The conjugate transposes of matrices."""
    rank = len(shape_of(x))
    transposed = e.transpose(x, [*range(rank - 2), rank - 1, rank - 2])
    return e.unary("chlo.conj", transposed) if is_complex(element_type(x)) else transposed


def factor(e: Emitter, x: Value, *, lower: bool) -> Value:
    """The Cholesky factor of matrices, NaN for those that have none."""
    return triangle(
        e, e.one("stablehlo.cholesky", [x], shape_of(x), element_type(x), lower=lower), lower=lower
    )


@converts("aten.cholesky.default")
def cholesky(e: NodeEmitter, x: Value, upper: bool = False) -> Value:
    return factor(e, x, lower=not upper)


@converts("aten.linalg_cholesky_ex.default")
def cholesky_ex(e: NodeEmitter, x: Value, *, upper: bool = False, check_errors: bool = False) -> list[Value]:
    """The factor, and 1 for matrices that have none: PyTorch says the order of the minor that is at fault."""
    result = factor(e, x, lower=not upper)
    rank = len(shape_of(x))
    failed = e.reduce("stablehlo.or", e.is_nan(result), [rank - 2, rank - 1])
    return [result, e.convert(failed, _I32)]


def solve(e: Emitter, a: Value, b: Value, *, lower: bool, left: bool, unit: bool, transposed: str) -> Value:
    """The solution of triangular systems."""
    return e.one(
        "stablehlo.triangular_solve",
        [a, b],
        shape_of(b),
        element_type(b),
        left_side=left,
        lower=lower,
        unit_diagonal=unit,
        transpose_a=transposed,
    )


@converts("aten.linalg_solve_triangular.default")
def solve_triangular(
    e: NodeEmitter, a: Value, b: Value, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Value:
    batch = e.type.shape[:-2]
    a = e.broadcast(a, (*batch, *shape_of(a)[-2:]))
    b = e.broadcast(b, (*batch, *shape_of(b)[-2:]))
    return solve(e, a, b, lower=not upper, left=left, unit=unitriangular, transposed="NO_TRANSPOSE")


@converts("aten.cholesky_solve.default")
def cholesky_solve(e: NodeEmitter, b: Value, a: Value, upper: bool = False) -> Value:
    """The solution of A x = b from the Cholesky factor of A."""
    batch = e.type.shape[:-2]
    a = e.broadcast(a, (*batch, *shape_of(a)[-2:]))
    b = e.broadcast(b, (*batch, *shape_of(b)[-2:]))
    adjoint, plain = "ADJOINT", "NO_TRANSPOSE"
    steps = (adjoint, plain) if upper else (plain, adjoint)
    for transposed in steps:
        b = solve(e, a, b, lower=not upper, left=True, unit=False, transposed=transposed)
    return b


@converts("aten.cholesky_inverse.default")
def cholesky_inverse(e: NodeEmitter, a: Value, upper: bool = False) -> Value:
    return cholesky_solve(e, identity_like(e, a), a, upper)


@converts("aten.triangular_solve.default")
def triangular_solve(
    e: NodeEmitter,
    b: Value,
    a: Value,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> list[Value]:
    """The solution, and the operand A, broadcast to the batch."""
    batch = e.type.shape[:-2]
    a = e.broadcast(a, (*batch, *shape_of(a)[-2:]))
    b = e.broadcast(b, (*batch, *shape_of(b)[-2:]))
    kind = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    return [solve(e, a, b, lower=not upper, left=True, unit=unitriangular, transposed=kind), a]
