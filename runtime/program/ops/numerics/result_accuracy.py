"""`result_accuracy`: the accuracy that programs request, and whether the functions here have it.

HIGHEST takes the most accurate implementation of each function. For elements of f32 DEFAULT takes the fast
one, where there is one: its error is at most 1 ulp. So does a TOLERANCE that allows as much for every result.
Any other TOLERANCE is compared with the maximum error of the most accurate implementation, and refused where
that may be exceeded.

Source: specification, sections on the unary functions; StableHLO's definition of the attribute.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any, Final

from ....types import FLOAT, ElementType
from ...ir import Attribute as IrAttribute
from ...ir import EnumAttribute, Operation, StructAttribute, UnitAttribute
from ...ir.attributes import FieldValue
from ...ir.record import Record
from ..framework.attribute_kinds import AttributeKind
from ..framework.declaration import declaration_of
from .element_types import real_type

MAX_ERROR: Final = {
    "stablehlo.cbrt": (2, 3),
    "stablehlo.cosine": (2, 3),
    "stablehlo.exponential": (2, 3),
    "stablehlo.exponential_minus_one": (2, 3),
    "stablehlo.log": (2, 3),
    "stablehlo.log_plus_one": (2, 3),
    "stablehlo.logistic": (3, 5),
    "stablehlo.rsqrt": (2, 3),
    "stablehlo.sine": (2, 3),
    "stablehlo.sqrt": (1, 2),
    "stablehlo.tan": (2, 5),
    "stablehlo.tanh": (2, 5),
}
"""In ulps, of f64 and of complex<f64>; all other types are computed in these and rounded once.

The errors in docs/numerics.md plus about one ulp: NumPy uses other instructions on other machines."""

ROUNDED_ONCE: Final = 0.51
"""Largest error of narrower floats, in ulps."""
ROUNDED_ONCE_COMPLEX: Final = 1
"""Largest error of complex<f32>, in ulps: each component is rounded."""

FAST_ERROR: Final = 1
"""Largest error of fast functions of f32, in ulps."""

_CORRECTLY_ROUNDED: Final = "correctly_rounded"
"""The attribute of operations that `Options(functions="correctly_rounded")` sets."""

_BOUNDED: Final = frozenset({"stablehlo.cosine", "stablehlo.logistic", "stablehlo.sine", "stablehlo.tanh"})
"""Functions that are at most 1 for all real numbers."""


class ResultAccuracyMode(enum.StrEnum):
    """The kind of accuracy that `result_accuracy` requests."""

    DEFAULT = "DEFAULT"
    HIGHEST = "HIGHEST"
    TOLERANCE = "TOLERANCE"


class ResultAccuracy(Record):
    """With TOLERANCE, results x may be off by ``atol + rtol * |x|`` and `ulps` units in x's last place."""

    mode: ResultAccuracyMode = ResultAccuracyMode.DEFAULT
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class _ResultAccuracyKind(AttributeKind[ResultAccuracy]):
    """``#stablehlo.result_accuracy<atol = ..., rtol = ..., ulps = ..., mode = ...>``."""

    description = "a result accuracy"

    def decode(self, attribute: IrAttribute) -> ResultAccuracy:
        if not isinstance(attribute, StructAttribute) or attribute.mnemonic != "result_accuracy":
            raise self.mismatch(attribute)
        mode = attribute.fields.get("mode")
        text = mode.value if isinstance(mode, EnumAttribute) else str(mode)
        if text not in ResultAccuracyMode.__members__:
            raise ValueError(f"has mode {text}, which is not one of {', '.join(ResultAccuracyMode)}")
        bounds: dict[str, int | float] = {}
        for name in ("atol", "rtol", "ulps"):
            value = attribute.fields.get(name, 0)
            is_fraction = isinstance(value, float) and name == "ulps"
            if not isinstance(value, (int, float)) or isinstance(value, bool) or is_fraction:
                raise ValueError(f"has {name} = {value}, but must be a number")
            if not value >= 0:
                raise ValueError(f"has {name} = {value}, but must not be negative")
            if value and text != "TOLERANCE":
                raise ValueError(f"has {name} = {value}, but only mode TOLERANCE takes bounds")
            bounds[name] = value
        return ResultAccuracy(
            ResultAccuracyMode[text], float(bounds["atol"]), float(bounds["rtol"]), int(bounds["ulps"])
        )

    def encode(self, value: ResultAccuracy) -> IrAttribute:
        mode = EnumAttribute("stablehlo", "result_accuracy_mode", value.mode.value)
        bounds: dict[str, FieldValue] = {"atol": value.atol, "rtol": value.rtol, "ulps": value.ulps}
        fields = {**bounds, "mode": mode}
        return StructAttribute("stablehlo", "result_accuracy", fields)


RESULT_ACCURACY: Final = _ResultAccuracyKind()


def round_correctly(operations: Iterable[Operation]) -> None:
    """Keep some operations from being fast.

    This sets an attribute of the operations, because operations with equal attributes share compiled code and
    plans.
    """
    for operation in operations:
        if declaration_of(operation).emit.fast_function:
            operation.attributes = {**operation.attributes, _CORRECTLY_ROUNDED: UnitAttribute()}


def is_fast(operation: Operation, element_type: ElementType) -> bool:
    """Whether the fast function computes an operation on elements of a type: there is one, and the operation
    allows its error.
    """
    if element_type.name != "f32" or not declaration_of(operation).emit.fast_function:
        return False
    if _CORRECTLY_ROUNDED in operation.attributes:
        return False
    attribute = operation.attributes.get("result_accuracy")
    requested = ResultAccuracy() if attribute is None else RESULT_ACCURACY.decode(attribute)
    if requested.mode == ResultAccuracyMode.TOLERANCE:
        return allowed_ulps(requested, operation.name, element_type) >= FAST_ERROR
    return requested.mode == ResultAccuracyMode.DEFAULT


def allowed_ulps(requested: ResultAccuracy, function: str, element_type: ElementType) -> float:
    """The error that a TOLERANCE allows for every result of a function, in ulps."""
    # In units of the last place of 1, relative to which no value has a finer one.
    import ml_dtypes

    layout: Any = ml_dtypes.finfo(real_type(element_type).dtype)  # type: ignore[no-untyped-call]
    ulp = float(layout.eps)
    is_real = element_type.category == FLOAT
    share = requested.rtol + (requested.atol if is_real and function in _BOUNDED else 0.0)
    return requested.ulps + share / ulp


def tolerance_violation(requested: ResultAccuracy, function: str, element_type: ElementType) -> str | None:
    """The reason why results of a function may exceed the requested TOLERANCE; None if they cannot."""
    if requested.mode != ResultAccuracyMode.TOLERANCE:
        return None
    error = max_error(function, element_type)
    if allowed_ulps(requested, function, element_type) >= error:
        return None
    request_text = f"atol = {requested.atol}, rtol = {requested.rtol}, ulps = {requested.ulps}"
    return f"results of {element_type} may be off by {error} ulps, more than {request_text} allows everywhere"


def max_error(function: str, element_type: ElementType) -> float:
    """The maximum error of the most accurate implementation in ulps; for complex values of the modulus."""
    of_real, of_complex = MAX_ERROR[function]
    is_widest = real_type(element_type).name == "f64"
    if element_type.category == FLOAT:
        return of_real if is_widest else ROUNDED_ONCE
    return of_complex if is_widest else ROUNDED_ONCE_COMPLEX
