"""Replaces the custom calls and composites of JAX by the operations that they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import NimbleError
from ...program.ir import (
    Builder,
    DenseArrayAttribute,
    DictionaryAttribute,
    Operation,
    Value,
    tensor_type,
)
from ...program.ops.control.composite import Composite
from ...program.ops.custom_calls.approx_top_k import ApproxTopK
from ...program.ops.custom_calls.compared_top_k import ComparedTopK
from ...program.ops.custom_calls.encoded_operations import VERSION, without_default_flags
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.op_registry import MODULE_OF_OPERATION
from ...program.ops.framework.verify import verify_view
from ...types import ELEMENT_TYPES, TensorType

_I64 = ELEMENT_TYPES["i64"]


def recomposed(composite: Operation) -> Operation | None:
    """The CHLO operation that the name of a composite means, on the composite's operands.

    Source: the composites by which jaxlib replaces CHLO operations before it passes a program to a plugin.

    Returns:
        None, so that the decomposition is used, if the name is not that of an operation, a function is
        registered for it, or the operation does not have such operands, attributes and results.
    """
    view = Composite(composite)
    name = view.composite_name
    is_chlo = name.startswith("chlo.") and name in MODULE_OF_OPERATION
    if not is_chlo or view.registered is not None or view.version != VERSION or composite.regions:
        return None
    dictionary = composite.attributes.get("composite_attributes")
    entries = dictionary.values if isinstance(dictionary, DictionaryAttribute) else {}
    attributes = without_default_flags(entries)
    if attributes is None:
        return None
    types = [result.type for result in composite.results]
    operation = Operation(name, composite.operands, types, attributes, location=composite.location)
    try:
        declared = Op.of(operation)
        verify_view(declared)
    except NimbleError:
        return None
    names = {field.key or field.name for field in declared.declared_attributes}
    return operation if attributes.keys() <= names else None


def expanded(operation: Operation, builder: Builder) -> Sequence[Value] | None:
    """The results of the operations that compute an `approx_top_k` or a `compared_top_k`; None for any other
    operation, and where sizes are not known.

    Args:
        operation: the operation.
        builder: appends the operations.
    """
    names = (ApproxTopK.name, ComparedTopK.name)
    if operation.name not in names or not all(_is_static(value) for value in operation.results):
        return None
    if operation.name == ApproxTopK.name:
        ordered = ApproxTopK(operation).sort()
    else:
        view = ComparedTopK(operation)
        positions = view.iota()
        builder.block.operations.append(positions)
        ordered = view.sort(positions.result)
    verify_view(Op.of(ordered))
    builder.block.operations.append(ordered)
    return [
        _leading_slice(value, tensor_type(result), builder, operation)
        for value, result in zip(ordered.results, operation.results, strict=True)
    ]


def _is_static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static


def _leading_slice(value: Value, type: TensorType, builder: Builder, source: Operation) -> Value:
    """The first elements of `value` in every dimension, as many as the type says."""
    ranges = {"start_indices": (0,) * type.rank, "limit_indices": type.shape, "strides": (1,) * type.rank}
    attributes = {name: DenseArrayAttribute(_I64, sizes) for name, sizes in ranges.items()}
    slice = builder.create("stablehlo.slice", [value], [type], attributes, (), source.location)
    verify_view(Op.of(slice))
    return slice.result
