"""Variants of templates whose operands hold special values, one operand and one kind of value at a time.

Templates of sums, solvers and moves have common numbers, with which the treatment of NaN, infinities, signs
of zero, near ties and extreme integers does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import ml_dtypes
import numpy as np

from ...program.ops import lookup
from ...types import COMPLEX, FLOAT, INTEGER, QUANTIZED, Array, QuantizedType, TensorType, storage_range
from .template import Template
from .values import common_numbers

MIN_ELEMENTS: Final = 3
"""Elements of the operands of a template that has variants: ties, and values beside the special one."""
_CLOSE: Final = 8
"""Different numbers that agree in half of their digits."""
_WHOLE: Final = 5
"""Different small whole numbers."""


def variants_of(templates: Sequence[Template]) -> Iterator[Template]:
    """The variants of the templates of an operation for an element type.

    They are made of its first template of the level ``smoke``, and of the first one that gives no values. An
    operand that has the edge values of its type gets near ties alone, a quantized one the extreme stored
    values.
    """
    running = [
        one
        for one in templates
        if one.runs and one.grid.size == 1 and _has_elements(one) and not _is_control_flow(one)
    ]
    basic = [one for one in running if one.is_basic][:1]
    plain = [one for one in running if not one.inputs and one not in basic][:1]
    for template in basic + plain:
        yield from _variants(template)


def _has_elements(template: Template) -> bool:
    types = [one for one in template.operands if isinstance(one, TensorType) and one.is_static]
    return any(one.size >= MIN_ELEMENTS for one in types)


def _is_control_flow(template: Template) -> bool:
    """Whether values decide how often a loop runs."""
    declaration = lookup(template.operation)
    return declaration is not None and declaration.region_role.is_control_flow


def _variants(template: Template) -> Iterator[Template]:
    data = dict(_data_operands(template))
    for index, type in data.items():
        is_float = bool(type.category & (FLOAT | COMPLEX))
        changes = _FLOATS if is_float else _INTEGERS
        template_numbers = template.inputs.get(index)
        numbers = common_numbers(type, index) if template_numbers is None else template_numbers
        has_edges = is_float and not np.isfinite(numbers.astype(np.complex128)).all()
        for kind, change in changes.items():
            if has_edges and kind != "close":
                continue
            changed = _converted(change(numbers.copy(), type), type)
            yield _with_inputs(template, f"{kind}_in_{index}", {index: changed})
    quantized = {index: type for index, type in data.items() if type.category & QUANTIZED}
    if len(quantized) > 1:
        extremes = {
            index: _converted(_extremes(common_numbers(type, index), type), type)
            for index, type in quantized.items()
        }
        yield _with_inputs(template, "extremes", extremes)
        crossed = dict(extremes)
        for index, type in list(quantized.items())[1::2]:
            crossed[index] = _converted(_extremes(extremes[index], type, first_is_low=True), type)
        yield _with_inputs(template, "crossed_extremes", crossed)
    floats = {index: type for index, type in data.items() if type.category & FLOAT}
    if floats:
        whole = {index: _converted(_whole_numbers(index, type), type) for index, type in floats.items()}
        yield _with_inputs(template, "whole_numbers", whole)


def _data_operands(template: Template) -> Iterator[tuple[int, TensorType]]:
    """The operands that are floats or quantized, or have the element type of a result, so that they are no
    indices.
    """
    results = [one.element_type for one in template.results if isinstance(one, TensorType)]
    for index, type in enumerate(template.operands):
        if not isinstance(type, TensorType) or not type.is_static or not type.size:
            continue
        category = type.category
        if category & (FLOAT | COMPLEX | QUANTIZED) or (category & INTEGER and type.element_type in results):
            yield index, type


def _with_inputs(template: Template, kind: str, inputs: Mapping[int, Array]) -> Template:
    return replace(template, variant=f"{template.variant}_{kind}", inputs={**template.inputs, **inputs})


def _converted(numbers: Any, type: TensorType) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(type.dtype).reshape(type.shape)


def _put(value: complex) -> Callable[[Array, TensorType], Any]:
    """One element is a special value: not the first one, which a fault may change anyway."""

    def change(numbers: Array, type: TensorType) -> Any:
        with np.errstate(all="ignore"):
            numbers.reshape(-1)[type.size // 2] = np.array(value).astype(type.dtype)
        return numbers

    return change


def _infinite_ends(numbers: Array, type: TensorType) -> Any:
    """The first and the last element are infinite, those beside them are not."""
    return np.where(np.arange(type.size) % max(type.size - 1, 1) == 0, np.inf, 1.0)


def _negative_ends(numbers: Array, type: TensorType) -> Any:
    """The same with negative infinities."""
    return np.where(np.arange(type.size) % max(type.size - 1, 1) == 0, -np.inf, 1.0)


def _zeros(numbers: Array, type: TensorType) -> Any:
    """Zeros of both signs."""
    return np.where(np.arange(type.size) % 2, 0.0, -0.0)


def _close(numbers: Array, type: TensorType) -> Any:
    """Numbers that agree in half of their digits."""
    layout: Any = ml_dtypes.finfo(numbers.real.dtype)  # type: ignore[no-untyped-call]
    return 1 + 2.0 ** -(int(layout.nmant) // 2 + 3) * (3 * np.arange(type.size) % _CLOSE)


def _extremes(numbers: Array, type: TensorType, *, first_is_low: bool = False) -> Any:
    """The largest and the smallest integer in turn."""
    one = type.element_type
    low, high = (one.storage_min, one.storage_max) if isinstance(one, QuantizedType) else storage_range(one)
    return np.array([high if index % 2 == first_is_low else low for index in range(type.size)], object)


def _whole_numbers(index: int, type: TensorType) -> Any:
    """Small positive whole numbers, on which functions of several arguments are defined."""
    return 1 + (1 + index) * np.arange(type.size) % _WHOLE


_FLOATS: Final = {
    "nan": _put(np.nan),
    "infinity": _put(np.inf),
    "infinite_ends": _infinite_ends,
    "negative_infinite_ends": _negative_ends,
    "zeros": _zeros,
    "close": _close,
}
_INTEGERS: Final = {"extremes": _extremes}
"""The kinds of special values: a function of an operand's values and type gives others."""
