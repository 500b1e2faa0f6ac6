"""The custom call ``@mhlo.bitcast``: the memory of a value read as another type, shape and layout.

XLA writes it for HLO's `bitcast` when it converts a program that has layouts to StableHLO: the attributes
``source_layout`` and ``result_layout`` list dimensions from the minor to the major one. Without them both
values are in row-major order.

Source: XLA, the operation semantics of `Bitcast` and `HloFunctionImporter`; MHLO's `bitcast`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....types import Array, TensorType
from ...ir import Attribute, DictionaryAttribute
from .view import LAYOUT, CustomCallView

TARGET: Final = "mhlo.bitcast"
SOURCE_LAYOUT: Final = "source_layout"
RESULT_LAYOUT: Final = "result_layout"


def verify(view: CustomCallView) -> None:
    """Check that both types are static, of as many elements of the same width, and have the layouts.

    Raises:
        VerifyError: a layout is no permutation of the dimensions, or numbers of operands or elements differ.
        UnsupportedError: a type has unknown sizes, or the element types' widths differ.
    """
    types = (*view.inputs, *view.results)
    if len(view.inputs) != 1 or len(types) != 2 or not all(isinstance(type, TensorType) for type in types):
        raise view.verify_error(f"@{TARGET} must have one input and one result, both tensors", "I1")
    source, result = types
    if not (source.is_static and result.is_static):
        raise view.unsupported(f"@{TARGET} of a type with unknown sizes")
    if source.element_type != result.element_type and not (
        source.is_static_unquantized
        and result.is_static_unquantized
        and source.element_type.width == result.element_type.width >= 8
    ):
        raise view.unsupported(f"@{TARGET} from elements {source.element_type} to {result.element_type}")
    for name, type in ((SOURCE_LAYOUT, source), (RESULT_LAYOUT, result)):
        layout = _layout(view, name, type)
        if sorted(layout) != list(range(type.rank)):
            raise view.verify_error(f"{name} is {list(layout)}, but must be a permutation of the dimensions")
    if np.prod(source.shape, dtype=object) != np.prod(result.shape, dtype=object):
        raise view.verify_error(f"@{TARGET} from {source} to {result}: numbers of elements differ")


def run(view: CustomCallView, operand: Array) -> tuple[Any, ...]:
    """The result: its element at an offset of the result's layout is the operand's at that offset.

    Args:
        view: the custom call, which `verify` has checked.
        operand: the array of the input.
    """
    source, result = view.inputs[0], view.results[0]
    source_order = _layout(view, SOURCE_LAYOUT, source)[::-1]
    result_order = _layout(view, RESULT_LAYOUT, result)[::-1]
    memory = np.ascontiguousarray(np.asarray(operand).transpose(source_order)).view(result.dtype)
    shape = [result.shape[dimension] for dimension in result_order]
    return (np.ascontiguousarray(memory.reshape(shape).transpose(np.argsort(result_order))),)


def _layout(view: CustomCallView, name: str, type: TensorType) -> Sequence[int]:
    """The dimensions of `type` from minor to major: the attribute `name`, or row-major order."""
    dictionary = view.operation.attributes.get("mhlo.attributes")
    entries: dict[str, Attribute] = {}
    if isinstance(dictionary, DictionaryAttribute):
        entries.update(dictionary.values)
    attribute = entries.get(name, view.operation.attributes.get(name))
    if attribute is None:
        return range(type.rank)[::-1]
    try:
        return LAYOUT.decode(attribute)
    except ValueError as error:
        raise view.verify_error(f"{name} {error}") from None
