"""Products of stacks of matrices, by element types.

Products of two elements are exact. They are accumulated in f32 for floats up to f32, in f64 for f64, in the
result's type for complex numbers, and modulo 2^w for integers, where w is the width of the result's
type; each result is rounded once, whatever `precision_config` allows. `float_matmul` multiplies floats.
`low_precision_matmul` multiplies bf16 and narrower floats, in the order of matrix units where
`precision_config` is DEFAULT. Convolutions of f32 may add in another order there
(`convolution_algorithms.is_winograd`).
Products of complex matrices are products of floats with twice as many terms (`kernels/matmul/matmul.pyx`).

Source: specification, sections "dot_general" and "convolution".
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, INTEGER, Array, ElementType, storage_range
from ..framework.attribute_kinds import ArrayOf, Enum
from ..numerics.element_types import carrier, converter, rounding
from .float_matmul import complex_product, has_native_matmul, limited_to, matmul
from .low_precision_matmul import NarrowOrder, implementation_of, low_precision_multiplier, supports_types

Multiply = Callable[[Array, Array], Array]

_SMALL: Final = 1 << 12
"""Integer matrices with at most this many products are multiplied as integers: BLAS would cost more."""


class Precision(enum.StrEnum):
    """How speed is traded for accuracy. All values give HIGHEST, except that DEFAULT also allows the order of
    two chains (`narrow_order`) and Winograd's algorithm (`convolution_algorithms.is_winograd`)."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


PRECISION_CONFIG: Final = ArrayOf(Enum("precision", Precision))


def narrow_order(view: Any) -> NarrowOrder | None:
    """The order in which `low_precision_matmul` adds products of the operands of a contraction; None: it does
    not multiply them. Matrices that are too small for it have the order of f32.
    """
    precisions = getattr(view, "precision_config", None) or ()
    types = (view.lhs.element_type, view.rhs.element_type, view.result.element_type)
    if not supports_types(*types) or not has_native_matmul():
        return None
    if view.may_add_two_chains and all(precision is Precision.DEFAULT for precision in precisions):
        return NarrowOrder.TWO_CHAINS
    return None if implementation_of(NarrowOrder.F32) is None else NarrowOrder.F32


def multiplier(
    lhs: ElementType,
    rhs: ElementType,
    result: ElementType,
    product: Multiply | None = None,
    order: NarrowOrder | None = None,
    threads: int | None = 1,
    is_rhs_constant: bool = False,
) -> Multiply | None:
    """The product of stacks of matrices, [..., M, K] with [..., K, N], of these element types.

    Args:
        lhs, rhs, result: the element types.
        product: multiplies matrices of f32 or f64, or of complex numbers where the result has such; None:
            `matmul` or `complex_product`.
        order: that of `low_precision_matmul`, for types that it supports; None: it is not used.
        threads: maximum number of threads of the product where `product` is None; None: all.
        is_rhs_constant: whether `low_precision_matmul` has the same right operand in all calls.

    Returns:
        A function of two arrays, or None if operands of such types have no product in `result`.
    """
    if product is None:
        product = limited_to(threads, complex_product if result.category == COMPLEX else matmul)
    if result.category == COMPLEX:
        return _multiply_complex(lhs, rhs, result, product)
    if COMPLEX in (lhs.category, rhs.category):
        return None
    if result.category == FLOAT:
        multiply = _multiply_floats(lhs, rhs, result, product)
        if order is not None and supports_types(lhs, rhs, result):
            return low_precision_multiplier(lhs, rhs, result, order, multiply, is_rhs_constant)
        return multiply
    if FLOAT in (lhs.category, rhs.category):
        return None
    if result.category == BOOLEAN:
        return lambda a, b: np.matmul(a.astype(np.float32), b.astype(np.float32)) != 0
    return _multiply_integers(lhs, rhs, result)


def _multiply_complex(lhs: ElementType, rhs: ElementType, result: ElementType, product: Multiply) -> Multiply:
    """Multiply in the result's own type."""
    if lhs is rhs is result:
        return product
    enter_lhs, enter_rhs = converter(lhs, result), converter(rhs, result)
    return lambda a, b: product(enter_lhs(a), enter_rhs(b))


def computed_float(*types: ElementType) -> ElementType:
    """The type in which floats are multiplied: f32, or f64 where f64 or wide integers occur."""
    is_wide = any(type.dtype == np.float64 or (type.category & INTEGER and type.width > 16) for type in types)
    return ELEMENT_TYPES["f64" if is_wide else "f32"]


def _multiply_floats(lhs: ElementType, rhs: ElementType, result: ElementType, product: Multiply) -> Multiply:
    """Multiply in f32 or f64, and round once."""
    computed = computed_float(lhs, rhs, result)
    if lhs is rhs is result is computed:
        return product
    enter_lhs, enter_rhs = converter(lhs, computed), converter(rhs, computed)
    leave = converter(computed, result)
    may_read = computed is ELEMENT_TYPES["f32"] and has_native_matmul()
    read_lhs, read_rhs = (
        _bits if may_read and type is ELEMENT_TYPES["bf16"] else enter
        for type, enter in ((lhs, enter_lhs), (rhs, enter_rhs))
    )

    def multiply(a: Array, b: Array) -> Array:
        if b.shape[-1] == 1:
            return np.asarray(leave(product(read_lhs(a), enter_rhs(b))))
        return np.asarray(leave(product(enter_lhs(a), (read_rhs if a.shape[-2] == 1 else enter_rhs)(b))))

    return multiply


def _bits(array: Array) -> Array:
    return array.view(np.uint16)


def _multiply_integers(lhs: ElementType, rhs: ElementType, result: ElementType) -> Multiply:
    """Multiply modulo 2^w, w being the result's width, as floats if they represent all sums exactly."""
    wrapped = carrier(result)
    leave = rounding(wrapped, result)
    largest = _magnitude(lhs) * _magnitude(rhs)

    def multiply(a: Array, b: Array) -> Array:
        a, b = a.astype(carrier(lhs), copy=False), b.astype(carrier(rhs), copy=False)
        inner = a.shape[-1]
        bound = largest * inner
        if bound >= 1 << 53 and a.size and b.size and a.size * b.shape[-1] > _SMALL:
            bound = _largest(a) * _largest(b) * inner
        if a.size * b.shape[-1] <= _SMALL or bound >= 1 << 53:
            return np.asarray(leave(np.matmul(a.astype(wrapped), b.astype(wrapped))))
        exact = np.float32 if bound < 1 << 24 else np.float64
        product = np.matmul(a.astype(exact), b.astype(exact))
        return np.asarray(leave(product.astype(np.int64).astype(wrapped)))

    return multiply


def _magnitude(element_type: ElementType) -> int:
    """The largest absolute value of an integer or boolean type."""
    if element_type.category == BOOLEAN:
        return 1
    low, high = storage_range(element_type)
    return max(-low, high)


def _largest(array: Array) -> int:
    """The largest absolute value in an array of integers that is not empty."""
    return max(int(array.max()), -int(array.min()))
