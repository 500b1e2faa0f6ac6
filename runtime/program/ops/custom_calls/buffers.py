"""The custom calls that make buffers and read them, and the rules for aliases of buffers.

A buffer (``memref``) is held as a tensor's array is. Nothing writes into it: a custom call that updates a
buffer returns the new contents as the result that its alias names.

Source: specification, sections "Types" and "custom_call" (special targets, alias); XLA's `AllocateBuffer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ....types import BufferType, TensorType, TupleType, Type
from ..framework.rules import types_agree
from .view import CustomCallView

TARGETS: Final = ("CreateBuffer", "Pin", "Unpin")
"""Targets on buffers without aliases."""


def verify_create(view: CustomCallView) -> None:
    """No inputs, one result: a buffer for `CreateBuffer`, a tensor for `AllocateBuffer`."""
    expected_type = BufferType if view.call_target_name == "CreateBuffer" else TensorType
    if view.inputs:
        raise view.verify_error(f"@{view.call_target_name} must have no inputs", "I1")
    if len(view.results) != 1 or not isinstance(view.results[0], expected_type):
        raise view.verify_error(f"@{view.call_target_name} must have one result, a {_KIND[expected_type]}")


def create(view: CustomCallView) -> tuple[Any, ...]:
    """Zeros; the contents of a new buffer are undefined."""
    (result,) = view.results
    assert isinstance(result, (BufferType, TensorType))
    return (np.zeros(result.shape, tensor_of(result).dtype),)


def verify_pin(view: CustomCallView) -> None:
    """A tensor to a buffer of the same type for `Pin`, the reverse for `Unpin`."""
    kinds = (TensorType, BufferType) if view.call_target_name == "Pin" else (BufferType, TensorType)
    for what, types, kind in (("input", view.inputs, kinds[0]), ("result", view.results, kinds[1])):
        if len(types) != 1 or not isinstance(types[0], kind):
            label = "I1" if what == "input" else None
            raise view.verify_error(f"@{view.call_target_name} must have one {what}, a {_KIND[kind]}", label)
    if not types_agree(tensor_of(view.inputs[0]), tensor_of(view.results[0])):
        reason = f"@{view.call_target_name} from {view.inputs[0]} to {view.results[0]}"
        raise view.verify_error(f"{reason}: shapes and elements must be the same", "I1")


def tensor_of(type: TensorType | BufferType) -> TensorType:
    """The tensor type with a buffer's shape and elements; a tensor type itself."""
    return type if isinstance(type, TensorType) else TensorType(type.shape, type.element_type)


def aliases_violation(view: CustomCallView) -> str | None:
    """Why the aliases, whose indices are valid, break a rule on buffers; None if they do not."""
    if view.call_target_name in TARGETS:
        return None
    operands = set(_buffers(view.inputs))
    results = dict.fromkeys(_buffers(view.results), 0)
    seen = set()
    for outputs, operand, indices in view.output_operand_aliases:
        path = (operand, *indices)
        if path not in operands:
            continue
        if path in seen:
            return f"the buffer in operand {operand} at {list(indices)} has several aliases"
        seen.add(path)
        results[outputs if len(view.results) > 1 else (0, *outputs)] += 1
    for path, count in results.items():
        if count != 1:
            return (
                f"the buffer in result {path[0]} at {list(path[1:])} has {count} aliases, but must have one"
            )
    return None


def _buffers(types: Sequence[Type], path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The positions of the buffers among nested types."""
    for index, type in enumerate(types):
        if isinstance(type, BufferType):
            yield (*path, index)
        elif isinstance(type, TupleType):
            yield from _buffers(type.types, (*path, index))


_KIND: Final = {BufferType: "buffer", TensorType: "tensor"}
