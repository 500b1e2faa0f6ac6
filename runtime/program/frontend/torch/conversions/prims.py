"""Operations of PyTorch's namespace ``prims``, into which PyTorch decomposes some of its operations.

Their operands have one type, and one shape except for scalars; most have a conversion as an operation of
``aten``.

Source: PyTorch, ``torch._prims``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .....types import ELEMENT_TYPES, UNSIGNED
from ....ir import Value
from ..emitter import Emitter, shape_of
from ..table import NodeEmitter, Operand, converts, declared
from . import creation, elementwise, movement, random, reductions, scatters  # noqa: F401

_SAME: Final = {
    "Tensor": "add sub mul eq ne ge gt le lt bitwise_and bitwise_or bitwise_xor remainder fmod",
    "default": (
        "abs acos acosh asin asinh atan atan2 atanh ceil conj_physical cos cosh digamma erf erfc exp exp2 "
        "expm1 floor fmax fmin lgamma log log10 log1p log2 maximum minimum neg nextafter reciprocal round "
        "rsqrt sign signbit sin sinh sqrt tan tanh trunc bitwise_not clone amax amin cat"
    ),
    "Tensor_Tensor": "pow",
}
"""Operations of ``prims`` by the overload of the ``aten`` operation of the same name."""

for _overload, _names in _SAME.items():
    for _name in _names.split():
        converts(f"prims.{_name}.default")(declared(f"aten.{_name}.{_overload}"))

_ALSO: Final = {
    "erf_inv": "aten.erfinv.default",
    "isfinite": "aten.isfinite.default",
    "shift_left": "aten.bitwise_left_shift.Tensor",
    "shift_right_arithmetic": "aten.bitwise_right_shift.Tensor",
    "view_of": "aten.alias.default",
    "reshape": "aten.reshape.default",
    "split_dim": "aten.view.default",
    "collapse_view": "aten.view.default",
    "squeeze": "aten.squeeze.dims",
    "rev": "aten.flip.default",
    "zeta": "aten.special_zeta.default",
    "scalar_tensor": "aten.scalar_tensor.default",
    "empty_strided": "aten.empty_strided.default",
}
"""The conversion of other operations, by that of an operation of ``aten``."""


for _name, _target in _ALSO.items():
    converts(f"prims.{_name}.default")(declared(_target))


@converts("prims.div.default")
def div(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    """The quotient; of integers, rounded towards zero."""
    return e.elementwise("stablehlo.divide", x, y)


@converts("prims.hypot.default")
def hypot(e: NodeEmitter, x: Value, y: Value) -> Value:
    """The magnitude of complex numbers, without overflow of squares."""
    complex_type = ELEMENT_TYPES[f"complex<{e.element.name}>"]
    number = e.one("stablehlo.complex", e.operands(x, y), e.type.shape, complex_type)
    return e.one("stablehlo.abs", [number], e.type.shape, e.element)


@converts("prims.gcd.default")
def gcd(e: NodeEmitter, x: Value, y: Value) -> Value:
    """The greatest common divisors, by Euclid's algorithm; of zeros, 0."""
    zeros = e.full(0, e.type.shape, e.element)

    def condition(inner: Emitter, values: Sequence[Value]) -> Value:
        remains = inner.compare("NE", values[1], inner.like(values[1], 0))
        return inner.reduce("stablehlo.or", remains, range(len(shape_of(remains))))

    def body(inner: Emitter, values: Sequence[Value]) -> Sequence[Value]:
        a, b = values
        none = inner.like(b, 0)
        is_done = inner.compare("EQ", b, none)
        rest = inner.binary("stablehlo.remainder", a, inner.select(is_done, inner.like(b, 1), b))
        return inner.select(is_done, a, b), inner.select(is_done, none, rest)

    a, _ = e.while_loop(e.operands(x, y), condition, body)
    return (
        a if e.element.category == UNSIGNED else e.select(e.compare("LT", a, zeros), e.subtract(zeros, a), a)
    )


@converts("prims.prod.default")
def prod(e: NodeEmitter, x: Value, dims: Sequence[int], **options: object) -> Value:
    return reductions.prod(e, x, list(dims))


@converts("prims.slice.default")
def slice(
    e: NodeEmitter,
    x: Value,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Value:
    for dim, (start, limit) in enumerate(zip(start_indices, limit_indices, strict=True)):
        x = e.slice(x, dim, start, limit, strides[dim] if strides else 1)
    return x


@converts("prims.device_put.default")
def device_put(e: NodeEmitter, x: Value, *args: object) -> Value:
    return x
