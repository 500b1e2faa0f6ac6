"""Matrix products of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ir import Value
from ..emitter import I1, Emitter, Number, element_type, positive, shape_of, wider
from ..table import NodeEmitter, converts, unsupported
from .indexing import take_rows
from .scatters import scatter_rows


def product(e: Emitter, x: Value, y: Value) -> Value:
    """The product of matrices, or of batches of matrices."""
    batch = tuple(range(len(shape_of(x)) - 2))
    first, second = len(batch) + 1, len(batch)
    return e.dot(x, y, ([first], [second]), (batch, batch))


@converts("aten.mm.default", "aten.bmm.default")
def mm(e: NodeEmitter, x: Value, y: Value) -> Value:
    return product(e, x, y)


@converts("aten.mv.default", "aten.dot.default")
def mv(e: NodeEmitter, x: Value, y: Value) -> Value:
    return e.dot(x, y, ([len(shape_of(x)) - 1], [0]))


@converts("aten.addmm.default", "aten.baddbmm.default")
def addmm(e: NodeEmitter, bias: Value, x: Value, y: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    own = e.element
    computed = wider(own)
    batch = tuple(range(len(shape_of(x)) - 2))
    multiplied = e.dot(x, y, ([len(batch) + 1], [len(batch)]), (batch, batch), computed)
    if alpha != 1:
        multiplied = e.multiply(multiplied, e.like(multiplied, alpha))
    if beta == 0:
        return e.convert(multiplied, own)
    bias = e.broadcast(e.convert(bias, computed), shape_of(multiplied))
    if beta != 1:
        bias = e.multiply(bias, e.like(bias, beta))
    return e.convert(e.add(multiplied, bias), own)


@converts("aten.addbmm.default")
def addbmm(e: NodeEmitter, bias: Value, x: Value, y: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    """The sum of the products of a batch, with a bias."""
    summed = e.dot(x, y, ([0, 2], [0, 1]), type=wider(e.element))
    if alpha != 1:
        summed = e.multiply(summed, e.like(summed, alpha))
    if beta == 0:
        return e.finish(summed)
    added = e.broadcast(e.convert(bias, element_type(summed)), shape_of(summed))
    return e.finish(e.add(summed, added if beta == 1 else e.multiply(added, e.like(added, beta))))


@converts("aten.linalg_cross.default")
def cross(e: NodeEmitter, x: Value, y: Value, *, dim: int = -1) -> Value:
    """The cross products of vectors along a dimension, rounded once."""
    dim = positive(dim, len(e.type.shape))

    def rotated(vectors: Value, count: int) -> Value:
        return e.concatenate([e.slice(vectors, dim, count, 3), e.slice(vectors, dim, 0, count)], dim)

    x, y = (e.as_value(operand, wider(e.element), e.type.shape) for operand in (x, y))
    forward = e.multiply(rotated(x, 1), rotated(y, 2))
    return e.convert(e.subtract(forward, e.multiply(rotated(x, 2), rotated(y, 1))), e.element)


@converts("aten._int_mm.default")
def int_mm(e: NodeEmitter, x: Value, y: Value) -> Value:
    return e.dot(x, y, ([1], [0]), type=e.element)


@converts("aten._grouped_mm.default")
def grouped_mm(
    e: NodeEmitter,
    x: Value,
    y: Value,
    offs: Value | None = None,
    bias: Value | None = None,
    out_dtype: Any = None,
) -> Value:
    """Products of groups of rows or columns, where `offs` has the end of each group.

    Rows of x [rows, k] are multiplied by y [groups, k, n]; x [groups, m, k] by columns of y [k, columns]; or
    columns of x [m, k] by rows of y [k, n], which gives [groups, m, n]. Rows and columns that belong to no
    group have products of zero, which PyTorch leaves uninitialized.
    """
    if bias is not None:
        raise unsupported("a bias of grouped products, which PyTorch does not compute either")
    if offs is None:
        return e.convert(product(e, x, y), e.element)
    if len(shape_of(x)) == 3:
        turned = _row_groups(e, e.transpose(y, [1, 0]), e.transpose(x, [0, 2, 1]), offs)
        return e.transpose(turned, [1, 0])
    return (_row_groups if len(shape_of(y)) == 3 else _column_groups)(e, x, y, offs)


@converts("transformers.grouped_mm_fallback.default")
def grouped_mm_of_experts(e: NodeEmitter, input: Value, weight: Value, offs: Value) -> Value:
    """The product of mixtures of experts of the library transformers: rows are sorted by their expert."""
    return _row_groups(e, input, weight, offs)


@converts("transformers.grouped_mm_fallback_backward.default")
def grouped_mm_of_experts_backward(
    e: NodeEmitter, input: Value, weight: Value, offs: Value, grad_output: Value
) -> list[Value]:
    """The gradients of the rows and of the experts' weights."""
    rows = _row_groups(e, grad_output, e.transpose(weight, [0, 2, 1]), offs)
    return [rows, _column_groups(e, e.transpose(input, [1, 0]), grad_output, offs)]


def _row_groups(e: NodeEmitter, x: Value, y: Value, ends: Value) -> Value:
    """Each group of rows of x, [rows, k], times its matrix of y, [groups, k, n]."""
    shape = (shape_of(x)[0], shape_of(y)[2])
    return _ragged_dot(e, x, y, ends, shape, rhs_contracting=1, ragged=0, groups=(0,))


def _column_groups(e: NodeEmitter, x: Value, y: Value, ends: Value) -> Value:
    """For each group the product of its columns of x, [m, k], with its rows of y, [k, n]."""
    shape = (shape_of(ends)[0], shape_of(x)[0], shape_of(y)[1])
    return _ragged_dot(e, x, y, ends, shape, rhs_contracting=0, ragged=1, groups=())


def _ragged_dot(
    e: NodeEmitter,
    x: Value,
    y: Value,
    ends: Value,
    shape: Sequence[int],
    *,
    rhs_contracting: int,
    ragged: int,
    groups: tuple[int, ...],
) -> Value:
    """A product that contracts the second dimension of x, in the element type of the node's result."""
    starts = e.concatenate([e.full(0, (1,), element_type(ends)), ends], 0)
    sizes = e.subtract(ends, e.slice(starts, 0, 0, shape_of(ends)[0]))
    return e.one(
        "chlo.ragged_dot",
        [x, y, sizes],
        shape,
        e.element,
        lhs_batching_dimensions=(),
        rhs_batching_dimensions=(),
        lhs_contracting_dimensions=(1,),
        rhs_contracting_dimensions=(rhs_contracting,),
        lhs_ragged_dimensions=(ragged,),
        rhs_group_dimensions=groups,
    )


@converts("aten.linear.default")
def linear(e: NodeEmitter, x: Value, weight: Value, bias: Value | None = None) -> Value:
    result = e.dot(x, weight, ([len(shape_of(x)) - 1], [1]), type=wider(element_type(x)))
    if bias is not None:
        result = e.add(result, e.broadcast(e.convert(bias, element_type(result)), shape_of(result)))
    return e.finish(result)


@converts("aten._cdist_forward.default")
def cdist(e: NodeEmitter, x: Value, y: Value, p: float, compute_mode: int | None) -> Value:
    """The distance of each pair of rows, by the norm of order p."""
    differences = _differences(e, x, y)
    return e.finish(_norm(e, e.unary("stablehlo.abs", differences), len(shape_of(differences)) - 1, p))


def _differences(e: Emitter, x: Value, y: Value) -> Value:
    """The differences of each pair of rows, [..., rows of x, rows of y, columns]; batches are broadcast."""
    batch = np.broadcast_shapes(shape_of(x)[:-2], shape_of(y)[:-2])
    shape = (*batch, shape_of(x)[-2], shape_of(y)[-2], shape_of(x)[-1])
    rank = len(shape)
    rows_and_columns = ([rank - 3, rank - 1], [rank - 2, rank - 1])
    first, second = (
        e.broadcast_in_dim(each, shape, [*range(rank - 1 - len(shape_of(each)), rank - 3), *last])
        for each, last in zip((x, y), rows_and_columns, strict=True)
    )
    return e.subtract(first, second)


@converts("aten._cdist_backward.default")
def cdist_backward(e: NodeEmitter, gradient: Value, x: Value, y: Value, p: float, distances: Value) -> Value:
    """The gradient of the first operand's rows."""
    changes = _norm_gradient(e, gradient, _differences(e, x, y), p, distances)
    return e.finish(e.reduce("stablehlo.add", changes, [len(shape_of(changes)) - 2]))


def _norm_gradient(e: Emitter, gradient: Value, x: Value, p: float, norms: Value) -> Value:
    """The gradient of vectors along the last dimension whose norms of order p are given.

    Source: PyTorch, ``DistanceOpsKernel.cpp``: it is 0 for vectors that are 0.
    """
    gradient, norms = (
        e.broadcast_in_dim(each, shape_of(x), range(len(shape_of(x)) - 1)) for each in (gradient, norms)
    )
    if p == 0:
        return e.like(x, 0)
    magnitude, sign = e.unary("stablehlo.abs", x), e.unary("stablehlo.sign", x)
    if p == 1:
        return e.multiply(gradient, sign)
    if p == float("inf"):
        is_largest = e.compare("EQ", magnitude, norms)
        return e.select(is_largest, e.multiply(gradient, sign), e.like(x, 0))
    ratio = e.divide(magnitude, norms)
    powers = ratio if p == 2 else e.binary("stablehlo.power", ratio, e.like(x, p - 1))
    is_zero = e.either(e.compare("EQ", norms, e.like(x, 0)), e.compare("EQ", x, e.like(x, 0)))
    return e.select(is_zero, e.like(x, 0), e.multiply(e.multiply(gradient, sign), powers))


@converts("aten._pdist_forward.default")
def pdist(e: NodeEmitter, x: Value, p: float = 2.0) -> Value:
    """The distance of each row from those after it."""
    differences = e.subtract(*[take_rows(e, x, index) for index in _pairs(e, x)])
    return e.finish(_norm(e, e.unary("stablehlo.abs", differences), 1, p))


def _pairs(e: Emitter, x: Value) -> list[Value]:
    """The positions of the first and of the second row of each pair."""
    return [e.dense(index.astype(np.int64)) for index in np.triu_indices(shape_of(x)[0], 1)]


@converts("aten._pdist_backward.default")
def pdist_backward(e: NodeEmitter, gradient: Value, x: Value, p: float, distances: Value) -> Value:
    """The gradient of the rows: each pair's is added to the first row and subtracted from the second."""
    first, second = _pairs(e, x)
    differences = e.subtract(take_rows(e, x, first), take_rows(e, x, second))
    changes = _norm_gradient(e, gradient, differences, p, distances)
    added = scatter_rows(e, "stablehlo.add", e.like(x, 0), first, changes)
    taken = e.unary("stablehlo.negate", changes)
    return e.finish(scatter_rows(e, "stablehlo.add", added, second, taken))


def _norm(e: Emitter, magnitudes: Value, dim: int, p: float) -> Value:
    """The norm of order p along a dimension."""
    if p == 0:
        counted = e.convert(e.convert(magnitudes, I1), element_type(magnitudes))
        return e.reduce("stablehlo.add", counted, [dim])
    if p == float("inf"):
        largest = e.reduce("stablehlo.maximum", magnitudes, [dim])
        return e.binary("stablehlo.maximum", largest, e.like(largest, 0))
    powers = e.binary("stablehlo.power", magnitudes, e.like(magnitudes, p)) if p != 2 else None
    summed = e.reduce("stablehlo.add", powers or e.multiply(magnitudes, magnitudes), [dim])
    if p == 2:
        return e.unary("stablehlo.sqrt", summed)
    return e.binary("stablehlo.power", summed, e.like(summed, 1 / p))


@converts("aten._trilinear.default")
def trilinear(
    e: NodeEmitter,
    i1: Value,
    i2: Value,
    i3: Value,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Value:
    """The sum, along some dimensions, of products of three operands that get new dimensions, rounded once."""
    operands = []
    for x, added in zip((i1, i2, i3), (expand1, expand2, expand3), strict=True):
        sizes = iter(shape_of(x))
        rank = len(shape_of(x)) + len(added)
        x = e.convert(x, wider(element_type(x)))
        operands.append(e.reshape(x, [1 if d in added else next(sizes) for d in range(rank)]))
    shape = [max(sizes) if min(sizes) else 0 for sizes in zip(*map(shape_of, operands), strict=True)]
    first, second, third = (e.broadcast_in_dim(x, shape, range(len(shape))) for x in operands)
    return e.finish(e.reduce("stablehlo.add", e.multiply(e.multiply(first, second), third), list(sumdim)))
