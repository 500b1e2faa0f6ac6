"""The open elements of results, whose values the specification leaves to the implementation.

Besides what `sanitizer.unspecified_elements` marks these are:

- the digits of NaNs, which `bitcast_convert` and TOTALORDER show;
- where a comparator that does not order NaNs puts them, and subnormal numbers among zeros;
- what comes first of the elements that go with equal keys, in a sort that is not stable;
- complex results that are not finite: C99 and the specification leave components open;
- `cholesky` of matrices that are not Hermitian and positive definite;
- results that types without infinities cannot hold: such conversions are open (StableHLO's issue 180), and
  what bodies compute from them; NaN in types that have none;
- elements of scatters that depend on the order of updates, where that is not a matter of rounding;
- products of a convolution with padding where the other factor is not finite;
- zeta and polygamma where the series that define them have no sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ...inspection.sanitizer.unspecified_elements import INTEGER_ARITHMETIC
from ...program.ops.chlo.broadcast import BroadcastBinary
from ...program.ops.control.control import Case, If, While
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.elementwise.comparison import Compare, ComparisonType
from ...program.ops.elementwise.conversion import BitcastConvert, ReducePrecision
from ...program.ops.framework.accuracy import ErrorTerm
from ...program.ops.framework.declaration import Op
from ...program.ops.linalg.linalg import Cholesky
from ...program.ops.reduction.bodies import Order
from ...program.ops.sorting.sort import Sort
from ...types import COMPLEX, FLOAT, INTEGER, Array, TensorType, Type
from .magnitudes import executable_of
from .open_orders import order_rule
from .operation_kinds import base_name, category, is_exact
from .ulps import is_inexact, is_subnormal, layout_of, wide_dtype

OpenMasks = list[Array | None]
"""For each result a mask of the open elements, or None if there are none."""
OpenRule = Callable[[Sequence[Array], Sequence[Array]], OpenMasks]
"""A function of the operands and the results."""

_CONVERTING: Final = ("reduce_precision", "iota", "dynamic_iota")
"""Operations without rounding errors that convert numbers to a type that may not have them."""

_RULE_FACTORIES: Final[list[Callable[[Op], OpenRule | None]]] = [order_rule]


def open_rule(view: Op) -> OpenRule | None:
    """The function that marks the open elements of an operation's results; None if it never has any."""
    rules = [rule for rule in (make(view) for make in _RULE_FACTORIES) if rule is not None]
    if not rules:
        return None

    def marks(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        joined: OpenMasks = [None for _ in results]
        for rule in rules:
            for index, mask in enumerate(rule(operands, results)):
                if mask is not None and mask.any():
                    before = joined[index]
                    joined[index] = mask if before is None else before | mask
        return joined

    return marks


def filled(array: Array, mask: Array, operands: Sequence[Array], random: np.random.Generator) -> Array:
    """An array with values in place of marked elements: one for all of them, random ones, or an operand's."""
    numbers: Array = np.zeros(array.shape)
    style = random.integers(0, 5)
    if style == 0 and is_inexact(array.dtype):
        numbers = np.full(array.shape, np.nan)
    elif style <= 1:
        numbers = np.asarray(random.integers(-3, 4, array.shape), np.float64)
    elif style == 2:
        numbers = np.full(array.shape, float(random.integers(-2, 3)))
    else:
        bits = random.integers(0, 256, (*array.shape, max(array.dtype.itemsize, 1)), np.uint8)
        same = [one for one in operands if one.dtype == array.dtype and one.shape == array.shape]
        if style == 3 and same:
            return np.where(mask, same[0], array)
        if array.dtype == np.bool_:
            return np.where(mask, (bits[..., 0] & 1).astype(np.bool_), array)
        if array.dtype.kind in "iu":
            return np.where(mask, bits.view(array.dtype).reshape(array.shape), array)
        numbers = np.asarray(random.standard_normal(array.shape) * 10.0 ** random.integers(-3, 6))
    with np.errstate(all="ignore"):
        wide = numbers if is_inexact(array.dtype) else numbers.astype(np.int64)
        return np.asarray(np.where(mask, wide.astype(array.dtype), array), array.dtype)


def _rule(make: Callable[[Op], OpenRule | None]) -> Callable[[Op], OpenRule | None]:
    _RULE_FACTORIES.append(make)
    return make


@_rule
def _integer_arithmetic(view: Op) -> OpenRule | None:
    marks = [one for one in (make(view) for make in INTEGER_ARITHMETIC) if one is not None]
    if not marks:
        return None

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        masks = [mask for mask in (one(operands) for one in marks) if mask is not None]
        return [np.logical_or.reduce(masks) if masks else None]

    return rule


@_rule
def _nan_digits(view: Op) -> OpenRule | None:
    if isinstance(view, BitcastConvert):
        return _bits_of_nan
    if isinstance(view, Compare) and view.compare_type is ComparisonType.TOTALORDER:
        return lambda operands, _: [_is_nan(operands[0]) | _is_nan(operands[1])]
    return None


def _bits_of_nan(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
    mask: Array = _is_nan(operands[0])
    result = results[0]
    if result.ndim > mask.ndim:
        mask = np.broadcast_to(mask[..., np.newaxis], result.shape)
    elif result.ndim < mask.ndim:
        mask = np.asarray(mask.any(axis=-1))
    return [mask]


def _is_nan(array: Array) -> Array:
    return np.asarray(array != array) if is_inexact(array.dtype) else np.zeros(array.shape, np.bool_)


@_rule
def _unordered(view: Op) -> OpenRule | None:
    """Sorts of floats along which there is a NaN, and which do not order it; the largest ones of such.

    Where there is a subnormal number, processors that flush it do not order it and zeros.
    """
    operation = view.operation
    if base_name(operation) == "top_k":
        return lambda operands, results: [
            _marked_slices(_is_nan(operands[0]), -1, one) | _unordered_zeros(operands[0], results[0], -1)
            for one in results
        ]
    if not isinstance(view, Sort):
        return None
    keys, axis = view.keys, view.dimension
    indices = range(len(operation.operands)) if keys is None else [key.operand for key in keys]
    orders = [Order.FLOAT for _ in indices] if keys is None else [key.order for key in keys]

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        nans = zeros = np.zeros(operands[0].shape, np.bool_)
        for index, order in zip(indices, orders, strict=True):
            if order != Order.CANONICAL:
                nans = nans | _is_nan(operands[index])
            if order != Order.TOTAL:
                zeros = zeros | _unordered_zeros(operands[index], results[index], axis)
        return [_marked_slices(nans, axis, one) | zeros for one in results]

    return rule


@_rule
def _ties(view: Op) -> OpenRule | None:
    """The elements that go with equal keys, in sorts that are not stable."""
    if not isinstance(view, Sort) or view.is_stable:
        return None
    keys, axis = {key.operand for key in view.keys or ()}, view.dimension
    if not 0 < len(keys) < len(view.inputs):
        return None

    def rule(_: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        sorted_last = [np.moveaxis(results[key], axis, -1) for key in keys]
        tied = np.logical_and.reduce([one[..., 1:] == one[..., :-1] for one in sorted_last])
        mask = np.zeros(sorted_last[0].shape, np.bool_)
        mask[..., 1:] |= tied
        mask[..., :-1] |= tied
        mask = np.moveaxis(mask, -1, axis)
        return [None if index in keys else mask for index in range(len(results))]

    return rule


def _unordered_zeros(operand: Array, result: Array, axis: int) -> Array:
    """Subnormal numbers and zeros of a sorted array, along an axis where there is a subnormal number."""
    if not is_inexact(operand.dtype):
        return np.zeros(result.shape, np.bool_)
    components = [operand.real, operand.imag] if operand.dtype.kind == "c" else [operand]
    subnormal = np.logical_or.reduce([is_subnormal(one) for one in components])
    if not subnormal.any():
        return np.zeros(result.shape, np.bool_)
    components = [result.real, result.imag] if result.dtype.kind == "c" else [result]
    zeros = np.logical_or.reduce([is_subnormal(one) | (one == 0) for one in components])
    return np.asarray(_marked_slices(subnormal, axis, result) & zeros)


def _marked_slices(mask: Array, axis: int, result: Array) -> Array:
    """Mark all elements of each slice along an axis that has a marked element."""
    shape = list(mask.shape)
    shape[axis] = result.shape[axis]
    return np.broadcast_to(mask.any(axis=axis, keepdims=True), shape)


@_rule
def _complex_specials(view: Op) -> OpenRule | None:
    operation = view.operation
    if is_exact(operation) or operation.regions or not operation.results:
        return None
    values = (*operation.operands, *operation.results)
    if not any(category(value) & COMPLEX for value in values):
        return None
    return lambda _, results: [_near_overflow(one) if one.dtype.kind in "fc" else None for one in results]


def _near_overflow(array: Array) -> Array:
    """A mask of the numbers that are not finite, or so large that intermediate values may overflow."""
    with np.errstate(all="ignore"):
        return ~(np.abs(array.astype(np.clongdouble)) < float(layout_of(array.dtype).max) / 16)


@_rule
def _indefinite(view: Op) -> OpenRule | None:
    """`cholesky`: matrices that are not Hermitian positive definite, and unused triangles of results."""
    if not isinstance(view, Cholesky):
        return None
    is_lower = view.lower

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        matrix, result = operands[0], results[0]
        hermitian = (matrix == np.conj(np.swapaxes(matrix, -1, -2))).all(axis=(-1, -2))
        definite = np.isfinite(result).all(axis=(-1, -2)) & hermitian
        other = np.ones(result.shape[-2:], np.bool_)
        other = np.triu(other, 1) if is_lower else np.tril(other, -1)
        return [~definite[..., np.newaxis, np.newaxis] | other]

    return rule


@_rule
def _missing_infinities(view: Op) -> OpenRule | None:
    """Results that are NaN or extreme in types without infinities, except for data movement."""
    operation = view.operation
    if is_exact(operation) and base_name(operation) not in _CONVERTING:
        return None
    lacking = [_lacks_infinity(value.type) for value in operation.results]
    if not any(lacking):
        return None

    largest = _largest_finite(view)

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        masks: OpenMasks = [
            _extreme(one) if lacks else None for one, lacks in zip(results, lacking, strict=True)
        ]
        if largest is not None and masks[0] is not None:
            masks[0] |= np.abs(operands[0].astype(np.float64)) >= largest
        return masks

    return rule


def _largest_finite(view: Op) -> float | None:
    """The largest number of the format that `reduce_precision` rounds to; None for other operations."""
    if not isinstance(view, ReducePrecision):
        return None
    bias = 2 ** (min(view.exponent_bits, 11) - 1) - 1
    return float(2.0**bias * (2 - 2.0**-view.mantissa_bits))


def _lacks_infinity(type: Type) -> bool:
    if not isinstance(type, TensorType) or not type.category & FLOAT or type.dtype.kind == "f":
        return False
    with np.errstate(all="ignore"):
        return not bool(np.isinf(np.array(np.inf).astype(type.dtype).astype(np.float64)))


def _extreme(array: Array) -> Array:
    layout = layout_of(array.dtype)
    wide = np.abs(array.astype(np.float64))
    is_scale = float(layout.min) > 0
    lower = float(layout.min) if is_scale else -1.0
    return ~np.isfinite(wide) | (wide >= float(layout.max)) | (wide <= lower)


@_rule
def _missing_nans(view: Op) -> OpenRule | None:
    """Results of elementwise functions that are NaN in a type that has none."""
    operation = view.operation
    if (
        not isinstance(view, Elementwise | BroadcastBinary)
        or is_exact(operation)
        or len(operation.results) != 1
    ):
        return None
    type = operation.results[0].type
    if not _lacks_infinity(type) or not isinstance(type, TensorType) or _has_nan(type):
        return None

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        # A conversion takes the real part of complex numbers.
        wide = [one.real.astype(np.float64) if is_inexact(one.dtype) else one for one in operands]
        return [np.isnan(np.asarray(executable_of(operation)(*wide)[0]))]

    return rule


def _has_nan(type: TensorType) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isnan(np.array(np.nan).astype(type.dtype).astype(np.float64)))


@_rule
def _missing_infinities_in_bodies(view: Op) -> OpenRule | None:
    """Results that are not finite where a body computes in a type without infinities."""
    inner = [one for region in view.operation.regions for one in region.walk()]
    computed = [result.type for one in inner if not is_exact(one) for result in one.results]
    if isinstance(view, (While, If, Case)) or not any(map(_lacks_infinity, computed)):
        return None
    return lambda _, results: [
        ~np.isfinite(one.astype(wide_dtype(one.dtype))) if is_inexact(one.dtype) else None for one in results
    ]


@_rule
def _padding_products(view: Op) -> OpenRule | None:
    """Convolutions of factors that are not finite: zeros that pad may be left out, or give NaN."""
    if base_name(view.operation) not in ("convolution", "dynamic_conv"):
        return None

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        inexact = [one.astype(np.complex128) for one in operands[:2] if is_inexact(one.dtype)]
        is_open = any(not np.isfinite(one).all() for one in inexact)
        return [np.ones(results[0].shape, np.bool_) if is_open else None]

    return rule


@_rule
def _integer_power(view: Op) -> OpenRule | None:
    """Powers of integers with negative exponents, which no integer is."""
    operation = view.operation
    if base_name(operation) != "power" or not category(operation.operands[0]) & INTEGER:
        return None
    return lambda operands, _: [np.broadcast_arrays(operands[1] < 0, operands[0])[0]]


@_rule
def _divergent_series(view: Op) -> OpenRule | None:
    """Where the series have no sum, or a term that is no real number; and limits, at infinite operands.

    zeta(s, q) is the sum of (q + k) ** -s over k >= 0, and polygamma(n, x) is (-1) ** (n + 1) n! times
    zeta(n + 1, x).
    """
    term = None if view.accuracy is None else view.accuracy.term
    if term not in (ErrorTerm.ZETA, ErrorTerm.POLYGAMMA):
        return None

    def rule(operands: Sequence[Array], _: Sequence[Array]) -> OpenMasks:
        first, q = np.broadcast_arrays(*[one.astype(np.float64) for one in operands])
        is_integer = first == np.floor(first)
        if term is ErrorTerm.POLYGAMMA:
            # polygamma(0, x) is digamma, which has poles only.
            converges, has_terms = is_integer & (first >= 0), (q > 0) | (q != np.floor(q))
        else:
            converges, has_terms = first > 1, (q > 0) | ((q != np.floor(q)) & is_integer)
        return [~(converges & has_terms & np.isfinite(first) & np.isfinite(q))]

    return rule
