"""Faults of types that are quantized along an axis: wrong parameters of a slice, and wrong stored values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from nimblehlo.checks.conformance.suite import legal_templates
from nimblehlo.checks.conformance.template import PER_AXIS, name_of
from nimblehlo.program.ops.elementwise import conversion
from nimblehlo.program.ops.elementwise.conversion import UniformDequantize, UniformQuantize
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.numerics import quantization, quantized_operation
from nimblehlo.types import QUANTIZED_PER_AXIS, QuantizedType, TensorType
from tests.checks.conformance.faulty_references import Array, Call, Fault, Wrap

Parameters = Sequence[Any]
"""The scales of the slices, or their zero points."""


def per_axis_faults(declaration: type[Op]) -> Iterator[Fault]:
    """The faults of an operation that computes with the values that such types express.

    Programs of an operation hardly have others, so that a fault in the conversion of values is one of it.
    """
    converts = issubclass(declaration, (UniformQuantize, UniformDequantize))
    if declaration.takes_stored_values and not converts:
        return
    # What a constraint refuses has no programs, which `test_per_axis_types` lists.
    if not legal_templates(declaration.name, name_of(PER_AXIS)):
        return
    if any(one.categories & QUANTIZED_PER_AXIS for one in _values_of(declaration)):
        for kind, wrap in _PARAMETER_FAULTS.items():
            yield Fault(declaration.name, kind, wrap, "_parameters", quantization)
    if any(one.categories & QUANTIZED_PER_AXIS for one in declaration.declared_results):
        owner = conversion if converts else quantized_operation
        for kind, change in _STORED_FAULTS.items():
            yield Fault(declaration.name, kind, _on_stored(change), "quantizer", owner)


def _values_of(declaration: type[Op]) -> Sequence[Any]:
    return (*declaration.declared_operands, *declaration.declared_results)


def _axis(type: TensorType) -> int | None:
    """The axis along which a type is quantized."""
    one = type.element_type
    return one.quantization_dimension if isinstance(one, QuantizedType) else None


def _with_parameters(change: Callable[[Parameters], Parameters], *, of: str) -> Wrap:
    """Scales or zero points of the slices are wrong."""

    def wrap(right: Call) -> Call:
        def wrong(type: TensorType, values: Parameters, dtype: Any) -> Any:
            is_changed = _axis(type) is not None and values is getattr(type.element_type, of)
            return right(type, change(values) if is_changed else values, dtype)

        return wrong

    return wrap


def _rotated(values: Parameters) -> Parameters:
    return (*values[1:], *values[:1])


def _first_for_all(values: Parameters) -> Parameters:
    return (values[0],) * len(values)


_PARAMETER_FAULTS: Final[dict[str, Wrap]] = {
    "the scale of the next slice": _with_parameters(_rotated, of="scales"),
    "the scale of the first slice": _with_parameters(_first_for_all, of="scales"),
    "the zero point of the next slice": _with_parameters(_rotated, of="zero_points"),
    "the zero point of the first slice": _with_parameters(_first_for_all, of="zero_points"),
    "slices without zero points": _with_parameters(lambda values: (0,) * len(values), of="zero_points"),
}


def _on_stored(change: Callable[[Array, QuantizedType], Any]) -> Wrap:
    """What is stored of values that are quantized along an axis is wrong."""

    def wrap(right: Call) -> Call:
        def wrong(type: TensorType) -> Any:
            quantize, one = right(type), type.element_type
            if _axis(type) is None or not isinstance(one, QuantizedType):
                return quantize
            return lambda array: change(quantize(array), one).astype(type.dtype)

        return wrong

    return wrap


_STORED_FAULTS: Final[dict[str, Callable[[Array, QuantizedType], Any]]] = {
    "stored values one too large": lambda stored, type: stored + np.ones((), stored.dtype),
    "the largest stored value clamped": lambda stored, type: np.minimum(stored, type.storage_max - 1),
    "the smallest stored value clamped": lambda stored, type: np.maximum(stored, type.storage_min + 1),
    "odd stored values rounded down": lambda stored, type: stored - stored % 2,
}
