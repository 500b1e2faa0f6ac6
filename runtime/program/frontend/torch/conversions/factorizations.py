"""Factorizations of PyTorch by routines of LAPACK: LU, QR, singular values, eigenvalues.

Source: PyTorch, ``torch.linalg``; LAPACK Users' Guide; the custom calls that JAX emits for these routines.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence

from .....types import ELEMENT_TYPES, ElementType, TensorType
from ....ir import Value
from ..emitter import I32, I64, LAPACK_LETTERS, Emitter, element_type, is_complex, real_type, shape_of
from ..table import NodeEmitter, converts, unsupported
from .linear_algebra import adjoint, identity_like, solve, triangle


def checked(x: Value) -> tuple[tuple[int, ...], int, int, ElementType]:
    """Batch dimensions, rows, columns and element type of matrices that LAPACK takes."""
    type = element_type(x)
    if type.name not in LAPACK_LETTERS:
        raise unsupported(f"LAPACK has no routine for {type}")
    *batch, rows, columns = shape_of(x)
    return tuple(batch), rows, columns, type


def _complex(type: ElementType) -> ElementType:
    """The complex type of a float type; a complex type itself."""
    return type if is_complex(type) else ELEMENT_TYPES[f"complex<{type.name}>"]


def _columns(e: Emitter, x: Value, start: int, limit: int) -> Value:
    return e.slice(x, len(shape_of(x)) - 1, start, limit)


def _rows(e: Emitter, x: Value, start: int, limit: int) -> Value:
    return e.slice(x, len(shape_of(x)) - 2, start, limit)


def _padded(e: Emitter, x: Value, rows: int, columns: int) -> Value:
    """Matrices with zeros in new last rows and columns."""
    rank = len(shape_of(x))
    high = [0] * (rank - 2) + [rows - shape_of(x)[-2], columns - shape_of(x)[-1]]
    return e.pad(x, e.full(0, (), element_type(x)), [0] * rank, high) if any(high) else x


def _diagonal(e: Emitter, x: Value) -> Value:
    """The main diagonals of square matrices."""
    rank = len(shape_of(x))
    row, column = e.iota(shape_of(x), rank - 2), e.iota(shape_of(x), rank - 1)
    return e.reduce("stablehlo.add", e.select(e.compare("EQ", row, column), x, e.like(x, 0)), [rank - 1])


# LU


def lu(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """The factors L and U in one matrix, the row with which each row was exchanged (from 1), and the column,
    from 1, of the first pivot that is 0 (0: none)."""
    batch, rows, columns, type = checked(x)
    pivots = TensorType((*batch, min(rows, columns)), I32)
    types = [TensorType(shape_of(x), type), pivots, TensorType(batch, I32)]
    factors, exchanged, info = e.routine("getrf", [x], types)
    return factors, exchanged, info


def permutation(e: Emitter, pivots: Value, rows: int) -> Value:
    """The row of the operand that each row of the product of L and U is, from the exchanges of rows."""
    *batch, count = shape_of(pivots)
    shape, dim = (*batch, rows), len(batch)
    exchanged = e.convert(pivots, I64)

    def along(inner: Emitter, x: Value, index: Value) -> Value:
        """The element at an index along the last dimension, broadcast to all rows."""
        is_there = inner.compare("EQ", inner.iota(shape_of(x), dim), inner.broadcast(index, shape_of(x)))
        chosen = inner.select(is_there, x, inner.like(x, 0))
        element = inner.reduce("stablehlo.add", chosen, [dim], keep=True)
        return inner.broadcast_in_dim(element, shape, range(dim + 1))

    def body(inner: Emitter, values: Sequence[Value]) -> Sequence[Value]:
        step, current = values
        position, one = inner.iota(shape, dim), inner.full(1, shape, I64)
        here = inner.broadcast(step, shape)
        other = inner.subtract(along(inner, exchanged, step), one)
        is_here, is_other = (inner.compare("EQ", position, each) for each in (here, other))
        of_other = inner.reduce(
            "stablehlo.add", inner.select(is_other, current, inner.like(current, 0)), [dim], keep=True
        )
        of_other = inner.broadcast_in_dim(of_other, shape, range(dim + 1))
        swapped = inner.select(is_other, along(inner, current, step), current)
        return [inner.add(step, inner.full(1, (), I64)), inner.select(is_here, of_other, swapped)]

    def condition(inner: Emitter, values: Sequence[Value]) -> Value:
        return inner.compare("LT", values[0], inner.full(count, (), I64))

    return e.while_loop([e.full(0, (), I64), e.iota(shape, dim)], condition, body)[1]


def _exchange_matrix(e: Emitter, pivots: Value, rows: int, type: ElementType) -> Value:
    """The matrix P with A = P L U."""
    order = permutation(e, pivots, rows)
    *batch, _ = shape_of(order)
    shape = (*batch, rows, rows)
    row_of = e.broadcast_in_dim(order, shape, [*range(len(batch)), len(batch) + 1])
    return e.convert(e.compare("EQ", e.iota(shape, len(batch)), row_of), type)


def _unpacked(e: Emitter, factors: Value) -> tuple[Value, Value]:
    """The factors L, whose diagonal is 1, and U."""
    _, rows, columns, _ = checked(factors)
    k = min(rows, columns)
    left, right = _columns(e, factors, 0, k), _rows(e, factors, 0, k)
    strict = triangle(e, left, lower=True, offset=-1)
    return e.add(strict, identity_like(e, left)), triangle(e, right, lower=False)


@converts("aten.linalg_lu_factor_ex.default")
def lu_factor(e: NodeEmitter, x: Value, *, pivot: bool = True, check_errors: bool = False) -> list[Value]:
    _with_pivots(pivot)
    return list(lu(e, x))


def _with_pivots(pivot: bool) -> None:
    if not pivot:
        raise unsupported("LAPACK has no LU factorization without pivots")


@converts("aten.linalg_lu.default")
def linalg_lu(e: NodeEmitter, x: Value, *, pivot: bool = True) -> list[Value]:
    _with_pivots(pivot)
    factors, pivots, _ = lu(e, x)
    return [_exchange_matrix(e, pivots, shape_of(x)[-2], element_type(x)), *_unpacked(e, factors)]


@converts("aten.lu_unpack.default")
def lu_unpack(
    e: NodeEmitter, factors: Value, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> list[Value]:
    empty = e.full(0, (0,), element_type(factors))
    rows, type = shape_of(factors)[-2], element_type(factors)
    exchanges = _exchange_matrix(e, pivots, rows, type) if unpack_pivots else empty
    return [exchanges, *(_unpacked(e, factors) if unpack_data else (empty, empty))]


def solve_lu(e: Emitter, factors: Value, pivots: Value, b: Value, *, adjoint_of: bool = False) -> Value:
    """The solution X of A X = B, or of A^H X = B, from the LU factors of A."""
    *batch, n, _ = shape_of(b)
    factors = e.broadcast(factors, (*batch, n, n))
    pivots = e.broadcast(pivots, (*batch, n))
    exchanges = _exchange_matrix(e, pivots, n, element_type(b))
    batching = (list(range(len(batch))),) * 2
    last, first = len(batch) + 1, len(batch)

    def step(b: Value, *, lower: bool, transposed: str) -> Value:
        return solve(e, factors, b, lower=lower, left=True, unit=lower, transposed=transposed)

    if adjoint_of:
        b = step(step(b, lower=False, transposed="ADJOINT"), lower=True, transposed="ADJOINT")
        return e.dot(exchanges, b, ([last], [first]), batching)
    b = e.dot(exchanges, b, ([first], [first]), batching)
    return step(step(b, lower=True, transposed="NO_TRANSPOSE"), lower=False, transposed="NO_TRANSPOSE")


@converts("aten.linalg_lu_solve.default")
def lu_solve(
    e: NodeEmitter, factors: Value, pivots: Value, b: Value, *, left: bool = True, adjoint: bool = False
) -> Value:
    batch = e.type.shape[:-2]
    b = e.broadcast(b, (*batch, *shape_of(b)[-2:]))
    return _solved(e, factors, pivots, b, left=left, adjoint_of=adjoint)


def _solved(e: Emitter, factors: Value, pivots: Value, b: Value, *, left: bool, adjoint_of: bool) -> Value:
    if left:
        return solve_lu(e, factors, pivots, b, adjoint_of=adjoint_of)
    # X A = B is A^H X^H = B^H.
    return adjoint(e, solve_lu(e, factors, pivots, adjoint(e, b), adjoint_of=not adjoint_of))


def _is_stored_by_rows(e: NodeEmitter, x: Value) -> bool:
    """Whether a matrix is real and in row-major order, so that the transposed one is in LAPACK's order."""
    return e.is_contiguous and not is_complex(element_type(x))


def _solve_transposes() -> bool:
    """Whether PyTorch solves with the factors of the transposed matrix where LAPACK takes that as it is.

    PyTorch 2.9 does, 2.13 and later do not; the graph of the gradients relies on what the version does.
    """
    return "torch" in sys.modules and _transposes_matrices()


@functools.cache
def _transposes_matrices() -> bool:
    """What PyTorch does with a triangular matrix, whatever its defaults for new tensors are."""
    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily(), torch.no_grad():
        upper = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float32, device="cpu")
        factors = torch.ops.aten._linalg_solve_ex.default(upper, upper)[1]
        return bool(factors[1, 0] != 0)


@converts("aten._linalg_solve_ex.default")
def solve_ex(
    e: NodeEmitter, a: Value, b: Value, *, left: bool = True, check_errors: bool = False
) -> list[Value]:
    is_transposed = _is_stored_by_rows(e, a) and _solve_transposes()
    factors, pivots, info = lu(e, adjoint(e, a) if is_transposed else a)
    is_vector = len(e.type.shape) == len(shape_of(a)) - 1 and shape_of(b)[-1:] == shape_of(a)[-1:]
    shape = (*e.type.shape, 1) if is_vector else e.type.shape
    matrices = e.broadcast(e.reshape(b, (*shape_of(b), 1)) if is_vector else b, shape)
    solution = _solved(e, factors, pivots, matrices, left=left or is_vector, adjoint_of=is_transposed)
    return [e.reshape(solution, e.type.shape), factors, pivots, info]


@converts("aten.linalg_inv_ex.default")
def inv_ex(e: NodeEmitter, x: Value, *, check_errors: bool = False) -> list[Value]:
    factors, pivots, info = lu(e, x)
    return [solve_lu(e, factors, pivots, identity_like(e, x)), info]


def _exchange_sign(e: Emitter, pivots: Value, type: ElementType) -> Value:
    """-1 for an odd number of exchanged rows, 1 for an even one."""
    last = len(shape_of(pivots)) - 1
    own = e.add(e.iota(shape_of(pivots), last, I32), e.like(pivots, 1))
    exchanged = e.compare("NE", pivots, own)
    signs = e.select(exchanged, e.full(-1, shape_of(pivots), type), e.full(1, shape_of(pivots), type))
    return e.reduce("stablehlo.multiply", signs, [last])


def _determinant_lu(e: NodeEmitter, x: Value) -> tuple[Value, Value]:
    """The factors and the exchanges that PyTorch's determinants return: of the transposed matrix or not.

    The graph of the gradients gets them, and knows from the operand's strides what they are of.

    Source: PyTorch, ``use_A_T`` in ``BatchLinearAlgebra.cpp`` and ``FunctionsManual.cpp``.
    """
    factors, pivots, _ = lu(e, adjoint(e, x) if _is_stored_by_rows(e, x) else x)
    return factors, pivots


@converts("aten._linalg_det.default")
def det(e: NodeEmitter, x: Value) -> list[Value]:
    factors, pivots = _determinant_lu(e, x)
    product = e.reduce("stablehlo.multiply", _diagonal(e, factors), [len(shape_of(x)) - 2])
    return [e.multiply(product, _exchange_sign(e, pivots, element_type(x))), factors, pivots]


@converts("aten._linalg_slogdet.default")
def slogdet(e: NodeEmitter, x: Value) -> list[Value]:
    factors, pivots = _determinant_lu(e, x)
    diagonal, last = _diagonal(e, factors), [len(shape_of(x)) - 2]
    signs = e.reduce("stablehlo.multiply", e.unary("stablehlo.sign", diagonal), last)
    magnitudes = e.one("stablehlo.abs", [diagonal], shape_of(diagonal), real_type(element_type(x)))
    logarithm = e.reduce("stablehlo.add", e.unary("stablehlo.log", magnitudes), last)
    return [e.multiply(signs, _exchange_sign(e, pivots, element_type(x))), logarithm, factors, pivots]


# QR


def householder(e: Emitter, x: Value) -> tuple[Value, Value]:
    """The factor R above the reflectors of Q, and their coefficients."""
    batch, rows, columns, type = checked(x)
    types = [TensorType(shape_of(x), type), TensorType((*batch, min(rows, columns)), type)]
    reflectors, coefficients = e.routine("geqrf", [x], types)
    return reflectors, coefficients


def reflector_product(e: Emitter, reflectors: Value, coefficients: Value) -> Value:
    """The first columns of the product of reflectors."""
    if not shape_of(coefficients)[-1]:
        return identity_like(e, reflectors)
    type = TensorType(shape_of(reflectors), element_type(reflectors))
    return e.routine("orgqr", [reflectors, coefficients], [type])[0]


@converts("aten.geqrf.default")
def geqrf(e: NodeEmitter, x: Value) -> list[Value]:
    return list(householder(e, x))


@converts("aten.linalg_householder_product.default")
def householder_product(e: NodeEmitter, reflectors: Value, coefficients: Value) -> Value:
    return reflector_product(e, reflectors, coefficients)


@converts("aten.ormqr.default")
def ormqr(
    e: NodeEmitter, x: Value, coefficients: Value, c: Value, left: bool = True, transpose: bool = False
) -> Value:
    """The product of a matrix and a product of reflectors."""
    return e.routine("ormqr", [x, coefficients, c], [e.type], left=left, transpose=transpose)[0]


@converts("aten.linalg_qr.default")
def qr(e: NodeEmitter, x: Value, mode: str = "reduced") -> list[Value]:
    _, rows, columns, type = checked(x)
    k = min(rows, columns)
    reflectors, coefficients = householder(e, x)
    height = rows if mode == "complete" else k
    upper = triangle(e, _rows(e, reflectors, 0, height), lower=False)
    if mode == "r":
        return [e.full(0, (0,), type), upper]
    width = rows if mode == "complete" else k
    # The routine makes as many columns of Q as its operand has.
    padded = _columns(e, reflectors, 0, width) if width <= columns else _padded(e, reflectors, rows, width)
    return [reflector_product(e, padded, coefficients), upper]


# Singular values and eigenvalues


def svd(e: Emitter, x: Value, *, full: bool, vectors: bool = True) -> tuple[Value, Value, Value]:
    """The matrices U and V^H, and the singular values, in the order U, S, V^H."""
    batch, rows, columns, type = checked(x)
    k = min(rows, columns)
    if not vectors:
        shapes = [(1, 1), (1, 1)]
    else:
        shapes = [(rows, rows), (columns, columns)] if full else [(rows, k), (k, columns)]
    matrices = [TensorType((*batch, *shape), type) for shape in shapes]
    values = TensorType((*batch, k), real_type(type))
    types = [TensorType(shape_of(x), type), values, *matrices, TensorType(batch, I32)]
    mode = "N" if not vectors else "A" if full else "S"
    _, singular, u, vh, _ = e.routine("gesdd", [x], types, mode=mode)
    return u, singular, vh


@converts("aten._linalg_svd.default")
def linalg_svd(
    e: NodeEmitter,
    x: Value,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> list[Value]:
    u, singular, vh = svd(e, x, full=full_matrices, vectors=compute_uv)
    if not compute_uv:
        u = vh = e.full(0, (0,), element_type(x))
    return [u, singular, vh]


def eigh(e: Emitter, x: Value, *, triangle: str, vectors: bool) -> tuple[Value, Value]:
    """The eigenvalues of Hermitian matrices, ascending, and the matrices of their vectors."""
    batch, n, _, type = checked(x)
    types = [
        TensorType(shape_of(x), type),
        TensorType((*batch, n), real_type(type)),
        TensorType(batch, I32),
    ]
    matrix, values, _ = e.routine("syevd", [x], types, mode="V" if vectors else "N", uplo=triangle)
    return values, matrix


@converts("aten._linalg_eigh.default")
def linalg_eigh(e: NodeEmitter, x: Value, UPLO: str = "L", compute_v: bool = True) -> list[Value]:
    values, vectors = eigh(e, x, triangle=UPLO.upper(), vectors=compute_v)
    return [values, vectors if compute_v else e.full(0, (0,), element_type(x))]


def eig(e: Emitter, x: Value, *, vectors: bool) -> tuple[Value, Value]:
    """The eigenvalues of matrices, and the matrices of their right vectors."""
    batch, n, _, type = checked(x)
    complex_type = _complex(type)
    matrices = [TensorType(shape_of(x), complex_type)] * 2
    values = [TensorType((*batch, n), type)] * (1 if is_complex(type) else 2)
    types = [*values, *matrices, TensorType(batch, I32)]
    mode = "V" if vectors else "N"
    results = e.routine("geev", [x], types, compute_left="N", compute_right=mode)
    eigenvalues = results[0]
    if not is_complex(type):
        eigenvalues = e.one("stablehlo.complex", results[:2], (*batch, n), complex_type)
    return eigenvalues, results[-2]


@converts("aten.linalg_eig.default")
def linalg_eig(e: NodeEmitter, x: Value) -> list[Value]:
    return list(eig(e, x, vectors=True))


@converts("aten._linalg_eigvals.default", "aten.linalg_eigvals.default")
def eigvals(e: NodeEmitter, x: Value) -> Value:
    return eig(e, x, vectors=False)[0]
