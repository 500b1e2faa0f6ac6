"""Functions of matrices that PyTorch computes from their factorizations: pseudoinverses, exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ....ir import Value
from ..emitter import F32, F64, I64, Emitter, element_type, real_type, shape_of, wider
from ..table import NodeEmitter, converts
from .contractions import product
from .factorizations import checked, eigh, lu, solve_lu, svd
from .linear_algebra import adjoint, identity_like

_PADE: Final = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
"""The coefficients of the Pade approximant of order 13 of exponentials."""


@converts("aten.linalg_pinv.atol_rtol_tensor")
def pinv(
    e: NodeEmitter, x: Value, *, atol: Value | None = None, rtol: Value | None = None, hermitian: bool = False
) -> Value:
    """The inverse of the singular values above a threshold, between the singular vectors."""
    batch, rows, columns, type = checked(x)
    real = real_type(type)
    if hermitian:
        values, u = eigh(e, x, triangle="L", vectors=True)
        vh, magnitudes = adjoint(e, u), e.unary("stablehlo.abs", values)
    else:
        u, values, vh = svd(e, x, full=False)
        magnitudes = values
    shape, last = shape_of(values), len(batch)
    largest = e.reduce("stablehlo.maximum", magnitudes, [last])

    def per_matrix(tolerance: Value) -> Value:
        return e.broadcast(e.convert(tolerance, real), batch)

    absolute = e.full(0, batch, real) if atol is None else per_matrix(atol)
    epsilon = {F32: 2.0**-23, F64: 2.0**-52}[real] * max(rows, columns)
    default = e.full(epsilon, batch, real)
    if atol is not None and rtol is None:
        default = e.select(e.compare("GT", absolute, e.like(absolute, 0)), e.like(default, 0), default)
    relative = default if rtol is None else per_matrix(rtol)
    threshold = e.binary("stablehlo.maximum", absolute, e.multiply(relative, largest))
    above = e.compare("GT", magnitudes, e.broadcast_in_dim(threshold, shape, range(last)))
    inverse = e.select(above, e.divide(e.like(values, 1), values), e.like(values, 0))
    v = adjoint(e, vh)
    columns_scaled = e.broadcast_in_dim(e.convert(inverse, type), shape_of(v), [*range(last), last + 1])
    scaled = e.multiply(v, columns_scaled)
    batching = (list(range(last)),) * 2
    return e.dot(scaled, adjoint(e, u), ([last + 1], [last]), batching)


@converts("aten.linalg_matrix_exp.default")
def matrix_exp(e: NodeEmitter, x: Value) -> Value:
    """Scaling and squaring with the Pade approximant of order 13; of narrow floats in f32, rounded once.

    Source: Higham, "The Scaling and Squaring Method for the Matrix Exponential Revisited", algorithm 2.3.
    """
    x = e.convert(x, wider(element_type(x)))
    batch, n, _, type = checked(x)
    if not n:
        return e.finish(x)
    real, last = real_type(type), len(batch)
    magnitudes = e.one("stablehlo.abs", [x], shape_of(x), real)
    norm = e.reduce("stablehlo.maximum", e.reduce("stablehlo.add", magnitudes, [last]), [last])
    limit = 5.371920351148152
    # A matrix with an infinity is squared as often as the largest finite one: its exponential is NaN.
    norm = e.binary("stablehlo.minimum", norm, e.like(norm, float(np.finfo(real.dtype).max)))
    ratio = e.binary("stablehlo.maximum", norm, e.like(norm, limit))
    logarithm = e.unary("stablehlo.log", e.divide(ratio, e.like(ratio, limit)))
    squarings = e.unary("stablehlo.ceil", e.divide(logarithm, e.like(logarithm, 0.6931471805599453)))
    scale = e.binary("stablehlo.power", e.like(squarings, 0.5), squarings)
    scaled = e.multiply(x, e.broadcast_in_dim(e.convert(scale, type), shape_of(x), range(last)))
    rational = _pade(e, scaled)
    return e.finish(_squared(e, rational, e.convert(squarings, I64)))


def _pade(e: Emitter, x: Value) -> Value:
    identity, square = identity_like(e, x), product(e, x, x)
    even = odd = None
    power = identity
    for order in range(0, len(_PADE), 2):
        power = product(e, power, square) if order else power
        low, high = (e.multiply(power, e.like(power, _PADE[order + each])) for each in (0, 1))
        even = low if even is None else e.add(even, low)
        odd = high if odd is None else e.add(odd, high)
    assert even is not None and odd is not None
    numerator = product(e, x, odd)
    factors, pivots, _ = lu(e, e.subtract(even, numerator))
    return solve_lu(e, factors, pivots, e.add(even, numerator))


def _squared(e: Emitter, x: Value, counts: Value) -> Value:
    """Each matrix of a batch, squared as many times as its count says."""
    max_count = counts
    if shape_of(counts):
        max_count = e.reduce("stablehlo.maximum", counts, list(range(len(shape_of(counts)))))

    def body(inner: Emitter, values: Sequence[Value]) -> Sequence[Value]:
        step, matrix = values
        continues = inner.compare("LT", inner.broadcast(step, shape_of(counts)), counts)
        chosen = inner.broadcast_in_dim(continues, shape_of(matrix), range(len(shape_of(counts))))
        squared = inner.select(chosen, product(inner, matrix, matrix), matrix)
        return [inner.add(step, inner.full(1, (), I64)), squared]

    return e.while_loop(
        [e.full(0, (), I64), x], lambda inner, values: inner.compare("LT", values[0], max_count), body
    )[1]
