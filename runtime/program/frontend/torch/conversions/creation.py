"""Operations of PyTorch that create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....ir import Value
from ..emitter import I64, Number, is_float
from ..table import NodeEmitter, Operand, converts


@converts(
    "aten.full.default",
    "aten.full_like.default",
    "aten.fill.Scalar",
    "aten.fill.Tensor",
)
def full(e: NodeEmitter, like: object, value: Operand, **options: object) -> Value:
    return e.as_value(value, e.element, e.type.shape)


@converts("aten.new_full.default")
def new_full(e: NodeEmitter, like: object, size: object, value: Operand, **options: object) -> Value:
    return e.as_value(value, e.element, e.type.shape)


@converts("aten.scalar_tensor.default")
def scalar_tensor(e: NodeEmitter, value: Number, **options: object) -> Value:
    return e.full(value, (), e.element)


@converts(
    "aten.zeros.default",
    "aten.zeros_like.default",
    "aten.new_zeros.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "aten.empty_strided.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
    "aten._efficientzerotensor.default",
)
def zeros(e: NodeEmitter, *args: object, **options: object) -> Value:
    """Zeros, for memory that is not initialized too."""
    return e.full(0, e.type.shape, e.element)


@converts("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(e: NodeEmitter, *args: object, **options: object) -> Value:
    return e.full(1, e.type.shape, e.element)


@converts("aten.arange.start_step", "aten.arange.start", "aten.arange.default")
def arange(
    e: NodeEmitter, start: Number, end: Number | None = None, step: Number = 1, **options: object
) -> Value:
    if end is None:
        start = 0
    return _progression(e, start, step)


@converts("prims.iota.default")
def iota(e: NodeEmitter, length: int, *, start: int, step: int, **options: object) -> Value:
    return _progression(e, start, step)


def _progression(e: NodeEmitter, start: Number, step: Number) -> Value:
    """``start + index * step``, rounded once."""
    (count,) = e.type.shape
    if is_float(e.element):
        values = float(start.real) + np.arange(count, dtype=np.float64) * float(step.real)
        return e.dense(values.astype(e.element.dtype), e.element)
    index = e.iota((count,), 0, e.element)
    scaled = index if step == 1 else e.multiply(index, e.like(index, step))
    return scaled if start == 0 else e.add(scaled, e.like(scaled, start))


@converts("aten.eye.default", "aten.eye.m")
def eye(e: NodeEmitter, *args: object, **options: object) -> Value:
    row, column = (e.iota(e.type.shape, dim, I64) for dim in (0, 1))
    return e.convert(e.compare("EQ", row, column), e.element)


_WINDOWS: Final = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08)}
"""Windows that are sums of cosines, by their coefficients, of which every other one counts negative."""


def _window(coefficients: Sequence[float]) -> Any:
    def convert(
        e: NodeEmitter, length: int, periodic: bool = True, *given: float, **options: object
    ) -> Value:
        used = [*given, *coefficients[len(given) :]]
        period = max(length if periodic else length - 1, 1)
        angles = 2 * np.pi / period * np.outer(np.arange(len(used)), np.arange(length))
        signs = (-1.0) ** np.arange(len(used))
        values = (signs * used) @ np.cos(angles) if length > 1 else np.ones(length)
        return e.dense(values.astype(e.element.dtype), e.element)

    return convert


for _name, _coefficients in _WINDOWS.items():
    _overloads = ["default", "periodic"]
    if _name == "hamming":
        _overloads += ["periodic_alpha", "periodic_alpha_beta"]
    converts(*[f"aten.{_name}_window.{_overload}" for _overload in _overloads])(_window(_coefficients))
