"""Operations on quantized tensors by their definition: dequantize, operate, quantize.

Operands that are not quantized are taken as they are.

Source: specification, "Quantization computations" (`dequantize_op_quantize`, `hybrid_dequantize_then_op`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ....types import QUANTIZED, Array, QuantizedType, TensorType, Type
from ...ir import Operation
from ..framework.declaration import Op
from .quantization import dequantizer, quantizer

AnyOp = TypeVar("AnyOp", bound=Op)


def has_quantized_types(operation: Operation) -> bool:
    return any(value.type.category & QUANTIZED for value in (*operation.operands, *operation.results))


def on_stored_values(view: Op, function_of: Callable[[Op], Callable[..., Any]]) -> Callable[..., Any]:
    """The function that does an operation on stored integers.

    Args:
        view: the operation.
        function_of: gives the function of its expressed view, such as its reference.
    """
    operation = view.operation
    entries = [_conversion(operand.type, dequantizer) for operand in operation.operands]
    exits = [_conversion(result.type, quantizer) for result in operation.results]
    function = function_of(expressed_view(view))

    def run(*operands: Array, **regions: Any) -> Any:
        values = [enter(value) for enter, value in zip(entries, operands, strict=True)]
        results = function(*values, **regions)
        if isinstance(results, tuple):
            return tuple([leave(value) for leave, value in zip(exits, results, strict=True)])
        return exits[0](results)

    return run


def expressed_view(view: AnyOp) -> AnyOp:
    """The same operation on the expressed values of quantized tensors."""
    expressed = type(view)(_on_expressed_types(view.operation))
    expressed.ordering = view.ordering
    return expressed


def _conversion(
    type: Type, converter: Callable[[TensorType], Callable[[Array], Array]]
) -> Callable[[Any], Any]:
    return converter(type) if isinstance(type, TensorType) else lambda value: value


def _on_expressed_types(operation: Operation) -> Operation:
    """The same operation, its quantized element types replaced by their expressed types."""
    source = Operation("", (), [_expressed(operand.type) for operand in operation.operands])
    return Operation(
        operation.name,
        source.results,
        [_expressed(result.type) for result in operation.results],
        operation.attributes,
        operation.regions,
        operation.location,
    )


def _expressed(type: Type) -> Type:
    if isinstance(type, TensorType) and isinstance(type.element_type, QuantizedType):
        return type.with_element_type(type.element_type.expressed)
    return type
