"""Replaces the custom calls and composites of JAX by the operations that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from ..errors import NimbleError
from ..ir import (
    Attribute,
    BoolAttribute,
    Builder,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    IntegerAttribute,
    Operation,
    Region,
    StringAttribute,
    Value,
)
from ..ops.control.composite import Composite
from ..ops.custom_calls.custom_call import CustomCall
from ..ops.custom_calls.shape_custom_calls import (
    REPLACED_TARGETS,
    ReplacedTarget,
    reduction_dimension,
    replacing_attributes,
    shape_operands,
)
from ..ops.framework.op_registry import MODULE_OF_OPERATION
from ..ops.framework.verify import verify_view, view_of
from ..types import ELEMENT_TYPES, TensorType

_I64 = ELEMENT_TYPES["i64"]


RECOMPOSED_VERSION: Final = 1
"""The version of the composites that XLA uses for CHLO operations."""

_DEFAULT_FLAGS: Final = {"largest": True}
"""Attributes of such composites that the CHLO operation lacks, with the only value that it implements."""


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
    if not is_chlo or view.registered is not None or view.version != RECOMPOSED_VERSION or composite.regions:
        return None
    dictionary = composite.attributes.get("composite_attributes")
    attributes = dict(dictionary.values) if isinstance(dictionary, DictionaryAttribute) else {}
    for flag, default in _DEFAULT_FLAGS.items():
        value = attributes.pop(flag, None)
        if value is not None and value != BoolAttribute(default):
            return None
    types = [result.type for result in composite.results]
    operation = Operation(name, composite.operands, types, attributes, location=composite.location)
    try:
        declared = view_of(operation)
        verify_view(declared)
    except NimbleError:
        return None
    names = {field.key or field.name for field in declared.declared_attributes}
    return operation if attributes.keys() <= names else None


def replaced_target(operation: Operation) -> ReplacedTarget | None:
    """The target that replaces a custom call; None without one."""
    name = operation.attributes.get("call_target_name")
    if operation.name != "stablehlo.custom_call" or not isinstance(name, StringAttribute):
        return None
    return REPLACED_TARGETS.get(name.value)


def replace_call(
    call: Operation,
    target: ReplacedTarget,
    operands: Sequence[Value],
    regions: Sequence[Region],
    builder: Builder,
) -> Sequence[Value]:
    """Append the operations that replace a custom call.

    Args:
        call: the call.
        target: from `replaced_target`.
        operands: the values that replace the call's operands.
        regions: the computations that it calls.
        builder: appends the operations.

    Returns:
        The values that replace the call's results.
    """
    types = [result.type for result in call.results]
    if target.operation is not None:
        attributes = replacing_attributes(call, target.operation)
        return builder.create(target.operation, operands, types, attributes, regions, call.location).results
    return _exact_top_k(call, operands, regions, builder)


def _exact_top_k(
    call: Operation, operands: Sequence[Value], regions: Sequence[Region], builder: Builder
) -> Sequence[Value]:
    """`approx_top_k` as an exact sort, whose results are sliced to their shapes."""
    dimension = reduction_dimension(cast(CustomCall, view_of(call)))
    assert dimension is not None
    inputs = operands[: len(call.results)]
    attributes: dict[str, Attribute] = {
        "dimension": IntegerAttribute(dimension, _I64),
        "is_stable": BoolAttribute(True),
    }
    ordered = builder.create(
        "stablehlo.sort", inputs, [value.type for value in inputs], attributes, regions, call.location
    )
    positions = shape_operands(call)
    cut = []
    for index, (value, result) in enumerate(zip(ordered.results, call.results, strict=True)):
        type = cast(TensorType, result.type)
        if positions:
            cut.append(_leading_dynamic_slice(value, operands[positions[index]], type, builder, call))
        else:
            cut.append(_leading_slice(value, type, builder, call))
    return cut


def _leading_slice(value: Value, type: TensorType, builder: Builder, call: Operation) -> Value:
    """The first elements of `value` in every dimension, as many as the type says."""
    ranges = {"start_indices": (0,) * type.rank, "limit_indices": type.shape, "strides": (1,) * type.rank}
    attributes = {name: DenseArrayAttribute(_I64, sizes) for name, sizes in ranges.items()}
    return builder.create("stablehlo.slice", [value], [type], attributes, (), call.location).result


def _leading_dynamic_slice(
    value: Value, shape: Value, type: TensorType, builder: Builder, call: Operation
) -> Value:
    """The first elements of `value` in every dimension, as many as the operand `shape` says."""
    vector = cast(TensorType, shape.type).with_shape((type.rank,))
    constants = []
    for number in (0, 1):
        array = np.full((type.rank,), number, vector.dtype)
        attribute = DenseElementsAttribute(vector, array)
        constants.append(
            builder.create("stablehlo.constant", (), [vector], {"value": attribute}, (), call.location).result
        )
    start, strides = constants
    operands = [value, start, shape, strides]
    return builder.create("stablehlo.real_dynamic_slice", operands, [type], {}, (), call.location).result
