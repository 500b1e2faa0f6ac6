"""Fourier transforms of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from .....types import ELEMENT_TYPES
from ....ir import Value
from ..emitter import Emitter, element_type, positive, real_type, shape_of
from ..table import NodeEmitter, converts

_COMPLEX: Final = {name: ELEMENT_TYPES[f"complex<{name}>"] for name in ("f32", "f64")}


def _scaled(e: Emitter, x: Value, normalization: int, count: int) -> Value:
    """PyTorch's normalization: 0 none, 1 by the square root of the number of elements, 2 by the number."""
    factor = {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[normalization]
    return x if factor == 1 else e.multiply(x, e.like(x, factor))


def _transformed(e: Emitter, x: Value, dim: int, kind: str, size: int) -> Value:
    """A transform of one dimension, whose transform has `size` elements."""
    last = len(shape_of(x)) - 1
    order = list(range(last + 1))
    order[dim], order[last] = last, dim
    moved = e.transpose(x, order)
    type = element_type(x)
    if kind == "RFFT":
        result, type = size // 2 + 1, _COMPLEX[type.name]
    else:
        result = size
        type = real_type(type) if kind == "IRFFT" else type
    shape = (*shape_of(moved)[:-1], result)
    values = e.one("stablehlo.fft", [moved], shape, type, fft_type=kind, fft_length=(size,))
    return e.transpose(values, order)


@converts("aten._fft_c2c.default")
def fft_c2c(e: NodeEmitter, x: Value, dim: Sequence[int], normalization: int, forward: bool) -> Value:
    sizes = shape_of(x)
    for each in dim:
        size = sizes[each]
        x = _transformed(e, x, positive(each, len(sizes)), "FFT" if forward else "IFFT", size)
        if not forward:
            # StableHLO divides by the size, PyTorch by what the normalization says.
            x = e.multiply(x, e.like(x, size))
    return _scaled(e, x, normalization, math.prod(sizes[each] for each in dim))


@converts("aten._fft_r2c.default")
def fft_r2c(e: NodeEmitter, x: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Value:
    sizes = shape_of(x)
    count = math.prod(sizes[each] for each in dim)
    if not onesided:
        zero = e.like(x, 0)
        complex_x = e.one("stablehlo.complex", [x, zero], sizes, e.element)
        return _scaled(e, fft_c2c(e, complex_x, dim, 0, True), normalization, count)
    *others, last = dim
    x = _transformed(e, x, positive(last, len(sizes)), "RFFT", sizes[last])
    return _scaled(e, fft_c2c(e, x, others, 0, True), normalization, count)


@converts("aten._fft_c2r.default")
def fft_c2r(e: NodeEmitter, x: Value, dim: Sequence[int], normalization: int, last_dim_size: int) -> Value:
    *others, last = dim
    count = math.prod(shape_of(x)[each] for each in others) * last_dim_size
    x = fft_c2c(e, x, others, 0, False)
    x = _transformed(e, x, positive(last, len(shape_of(x))), "IRFFT", last_dim_size)
    return _scaled(e, e.multiply(x, e.like(x, last_dim_size)), normalization, count)


@converts("prims.fft_c2c.default")
def prims_c2c(e: NodeEmitter, x: Value, *, dim: Sequence[int], forward: bool) -> Value:
    return fft_c2c(e, x, dim, 0, forward)


@converts("prims.fft_r2c.default")
def prims_r2c(e: NodeEmitter, x: Value, *, dim: Sequence[int], onesided: bool) -> Value:
    return fft_r2c(e, x, dim, 0, onesided)


@converts("prims.fft_c2r.default")
def prims_c2r(e: NodeEmitter, x: Value, *, dim: Sequence[int], last_dim_size: int) -> Value:
    return fft_c2r(e, x, dim, 0, last_dim_size)
