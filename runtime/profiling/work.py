"""The work of a step: the bytes that it moves, and the arithmetic of products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..ir import Attribute, IntegerAttribute, StructAttribute
from ..ops.framework.memory_limit import bytes_of
from ..plan import Step
from ..types import TensorType


def moved_bytes(step: Step) -> int:
    """Bytes of a step's operands and results, by their types; 0 where it only runs regions.

    Bytes that a step reads several times, or from caches, count once. Unknown sizes count as 0.
    """
    if step.control is not None:
        return 0
    return sum(bytes_of(type) for types in step.types for type in types)


def multiplications(step: Step) -> int:
    """Multiply-add pairs of a matrix product or a convolution of known sizes; 0 for every other step."""
    operands, results = step.types
    if len(operands) < 2 or not results:
        return 0
    types = [type for type in (*operands[:2], results[0]) if isinstance(type, TensorType) and type.is_static]
    if len(types) < 3:
        return 0
    lhs, rhs, result = types
    dot = step.attributes.get("dot_dimension_numbers")
    if isinstance(dot, StructAttribute):
        return _elements(result) * _contracted_size(lhs, dot)
    if step.operation == "stablehlo.dot" and lhs.rank:
        return _elements(result) * lhs.shape[-1]
    if step.operation == "stablehlo.convolution":
        return _convolution(step.attributes, rhs, result)
    return 0


def _elements(type: TensorType) -> int:
    return math.prod(type.shape)


def _contracted_size(lhs: TensorType, dot: StructAttribute) -> int:
    dimensions = dot.integers("lhs_contracting_dimensions")
    return math.prod([lhs.shape[dimension] for dimension in dimensions])


def _convolution(attributes: Mapping[str, Attribute], kernel: TensorType, result: TensorType) -> int:
    """Each result element needs all kernel elements of its output feature. Source: section "convolution"."""
    numbers = attributes.get("dimension_numbers")
    if not isinstance(numbers, StructAttribute):
        return 0
    features = kernel.shape[numbers.integer("kernel_output_feature_dimension")]
    groups = attributes.get("batch_group_count")
    batch_groups = groups.value if isinstance(groups, IntegerAttribute) else 1
    return _elements(result) * kernel.size // max(features, 1) // max(batch_groups, 1)
