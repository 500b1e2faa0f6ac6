"""The work of a step: the bytes that it moves, and the arithmetic of products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...compiler.plan import Step
from ...program.ir import Attribute, StructAttribute
from ...program.ops.framework.declaration import Op, lookup
from ...program.ops.framework.memory_limit import bytes_of
from ...program.ops.framework.traits import Product
from ...types import TensorType, Type


def moved_bytes(step: Step) -> int:
    """Bytes of a step's operands and results, by their types; 0 where it only runs regions.

    Bytes that a step reads several times, or from caches, count once. Unknown sizes count as 0.
    """
    if step.control is not None:
        return 0
    return sum(bytes_of(type) for types in step.types for type in types)


def multiplications(step: Step) -> int:
    """Multiply-add pairs of a step; 0 for every step except matrix products and convolutions."""
    operands, results = step.types
    return multiply_adds(step.operation, operands, results, step.attributes)


def multiply_adds(
    name: str, operands: Sequence[Type], results: Sequence[Type], attributes: Mapping[str, Attribute]
) -> int:
    """Multiply-add pairs of a matrix product or a convolution; 0 for other operations and unknown sizes.

    Args:
        name: the operation's name.
        operands, results: the types of its operands and results.
        attributes: its attributes.
    """
    if len(operands) < 2 or not results:
        return 0
    types = [type for type in (*operands[:2], results[0]) if isinstance(type, TensorType) and type.is_static]
    if len(types) < 3:
        return 0
    lhs, rhs, result = types
    dot = attributes.get("dot_dimension_numbers")
    if isinstance(dot, StructAttribute):
        return result.size * math.prod([lhs.shape[d] for d in dot.integers("lhs_contracting_dimensions")])
    product = (lookup(name) or Op).product
    if product is Product.MATMUL and lhs.rank:
        return result.size * lhs.shape[-1]
    convolution = attributes.get("dimension_numbers")
    if product is Product.CONVOLUTION and isinstance(convolution, StructAttribute):
        # Each result element needs all kernel elements of its output feature (section "convolution").
        features = rhs.shape[convolution.integer("kernel_output_feature_dimension")]
        return result.size * rhs.size // max(features, 1)
    return 0
