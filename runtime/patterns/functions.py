"""NumPy's functions of traced values that are not ufuncs: selection, reductions, data movement."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..types import INTEGER, ElementType, element_type_of, storage_range
from . import movement
from . import operations as ops
from .arguments import dimensions
from .element_types import BOOL, common_element_type, element_type_named
from .failures import unsupported_error
from .operands import as_traced, cast_and_broadcast, shape_of, value_of
from .tape import Value
from .ufuncs import FUNCTIONS, IMAGINARY_PART, REAL_PART, apply


def where(
    condition: Any, x: object, y: object, *, name: str = "numpy.where", label: str | None = None
) -> Value:
    """Elements of `x` where `condition` is not zero, elsewhere of `y`; the three broadcast.

    Raises:
        VerifyError: they do not, or `x` and `y` have no common element type.
    """
    tape, values = as_traced((condition, x, y), name)
    element_type = common_element_type(values[1:], name)
    shape = ops.broadcast_shape([shape_of(value) for value in values], name, label)
    if not isinstance(values[0], Value):
        values[0] = bool(values[0])
    types = (BOOL, element_type, element_type)
    return ops.select(
        *[
            cast_and_broadcast(tape, value, shape, type, name)
            for value, type in zip(values, types, strict=True)
        ]
    )


def clip(a: object, a_min: object = None, a_max: object = None, *, min: Any = None, max: Any = None) -> Any:
    """The elements, clamped between two bounds."""
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is not None and not _is_beyond(low, a, operator.lt):
        a = apply(FUNCTIONS[np.maximum], a, low)
    if high is not None and not _is_beyond(high, a, operator.gt):
        a = apply(FUNCTIONS[np.minimum], a, high)
    return a


def _is_beyond(bound: object, a: object, compare: Callable[[Any, Any], bool]) -> bool:
    """Whether a bound is less, or greater, than all values of an integer type, so that it has no effect."""
    if type(bound) is not int or not isinstance(a, Value) or not a.element_type.category & INTEGER:
        return False
    low, high = storage_range(a.element_type)
    return compare(bound, low if compare is operator.lt else high)


def astype(x: object, dtype: Any, *, name: str = "numpy.astype") -> Value:
    """The elements converted to another element type."""
    tape, _ = as_traced((x,), name)
    return ops.convert(value_of(tape, x, name), element_type_named(dtype, name))


def reduction(
    reduce_name: str, value: object, axis: Any, keepdims: Any, name: str, ufunc: np.ufunc | None = None
) -> Value:
    """A reduction with NumPy's semantics.

    Args:
        reduce_name: one of `operations.REDUCTIONS`.
        value: what is reduced.
        axis: a dimension, several, or None: all.
        keepdims: whether they stay, with size 1.
        name: for errors.
        ufunc: determines the element type in which NumPy accumulates; None: that of `value`.
    """
    tape, _ = as_traced((value,), name)
    value = value_of(tape, value, name)
    if ufunc is not None:
        value = ops.convert(value, accumulation_type(ufunc, value.element_type))
    return ops.reduce(
        value, reduce_name, reduced_dimensions(axis, value, name), keep_dims=bool(keepdims), pattern=name
    )


def reduced_dimensions(axis: Any, value: Value, name: str) -> tuple[int, ...]:
    """The dimensions that `axis` names, ascending."""
    rank = len(value.shape)
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(dimensions(axes, rank, "axis", name)))


@functools.cache
def accumulation_type(ufunc: np.ufunc, element_type: ElementType) -> ElementType:
    """The element type in which NumPy accumulates sums and products: integers are widened to 64 bits."""
    try:
        resolved = ufunc.resolve_dtypes((None, element_type.dtype, None), reduction=True)
        return element_type_of(resolved[1])
    except (TypeError, KeyError):
        return element_type


def _reduction(reduce_name: str, name: str, ufunc: np.ufunc | None = None) -> Callable[..., Value]:
    def reduce(a: object, axis: Any = None, *, keepdims: Any = False) -> Value:
        return reduction(reduce_name, a, axis, keepdims, name, ufunc)

    return reduce


def _truth(reduce_name: str, name: str) -> Callable[..., Value]:
    def reduce(a: object, axis: Any = None, *, keepdims: Any = False) -> Value:
        return reduction(reduce_name, astype(a, BOOL, name=name), axis, keepdims, name)

    return reduce


def mean(a: object, axis: Any = None, *, keepdims: Any = False) -> Value:
    """The sum divided by how many there are."""
    name = "numpy.mean"
    tape, _ = as_traced((a,), name)
    value = value_of(tape, a, name)
    total = apply(FUNCTIONS[np.true_divide], value, 1)
    count = math.prod([value.shape[d] for d in reduced_dimensions(axis, value, name)])
    return apply(FUNCTIONS[np.true_divide], reduction("sum", total, axis, keepdims, name), count)


def full_like(a: object, fill_value: object, dtype: Any = None) -> Value:
    """A constant in the shape of a value."""
    name = "numpy.full_like"
    tape, values = as_traced((a, fill_value), name)
    like = value_of(tape, a, name)
    element_type = like.element_type if dtype is None else element_type_named(dtype, name)
    return cast_and_broadcast(tape, values[1], like.shape, element_type, name)


def call_implementation(
    function: Callable[..., object], args: Sequence[object], settings: Mapping[str, object], name: str
) -> Any:
    """Call one of these functions; a TypeError of the call itself becomes an UnsupportedError.

    Raises:
        UnsupportedError: it does not take such arguments.
    """
    try:
        return function(*args, **settings)
    except TypeError as error:
        # Without a frame below this one the call itself failed.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            reason = f"is not supported with these arguments for traced values: {error}"
            raise unsupported_error(name, reason) from None
        raise


NUMPY: Final[dict[Any, Callable[..., Any]]] = {
    np.where: where,
    np.clip: clip,
    np.astype: astype,
    np.sum: _reduction("sum", "numpy.sum", np.add),
    np.prod: _reduction("product", "numpy.prod", np.multiply),
    np.max: _reduction("max", "numpy.max"),
    np.amax: _reduction("max", "numpy.amax"),
    np.min: _reduction("min", "numpy.min"),
    np.amin: _reduction("min", "numpy.amin"),
    np.any: _truth("or", "numpy.any"),
    np.all: _truth("and", "numpy.all"),
    np.mean: mean,
    np.real: lambda val: apply(REAL_PART, val),
    np.imag: lambda val: apply(IMAGINARY_PART, val),
    np.full_like: full_like,
    np.zeros_like: lambda a, dtype=None: full_like(a, 0, dtype),
    np.ones_like: lambda a, dtype=None: full_like(a, 1, dtype),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: len(a.shape),
    np.size: lambda a: math.prod(a.shape),
    np.reshape: movement.reshape,
    np.transpose: movement.transpose,
    np.swapaxes: movement.swapaxes,
    np.broadcast_to: movement.broadcast_to,
    np.expand_dims: movement.expand_dims,
    np.squeeze: movement.squeeze,
    np.concatenate: movement.concatenate,
    np.stack: movement.stack,
    np.roll: movement.roll,
}
"""The supported functions of NumPy that are not universal functions."""


def apply_numpy(function: object, args: Sequence[object], settings: Mapping[str, object]) -> Any:
    """Implement ``__array_function__`` for traced values.

    Raises:
        UnsupportedError: the function, or these arguments of it, are not supported.
    """
    name = f"numpy.{getattr(function, '__name__', function)}"
    implementation = NUMPY.get(function)
    if implementation is None:
        raise unsupported_error(name, "is not supported for traced values")
    return call_implementation(implementation, args, settings, name)
