"""Finds the components of index vectors before negative indices were wrapped and components concatenated.

JAX wraps negative indices (``select(i < 0, i + n, i)``) and concatenates indices to index vectors.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Operation, Value, tensor_type
from ....program.ops.elementwise.comparison import Compare
from ....program.ops.shape.broadcasting import BroadcastInDim
from ....program.ops.shape.creation import Iota
from ....program.ops.shape.layout import Concatenate
from ....types import INTEGER, SIGNED
from ..framework.constants import MAX_ELEMENTS
from ..framework.operation_classes import is_view
from ..framework.rewriter import (
    Rewriter,
    constant_array,
    defined_by,
    defining_operation,
    is_splat_of,
    splat,
)

MAX_COMPONENTS: Final = 8
"""Maximum length of index vectors that are split into components."""


class IndexComponent(NamedTuple):
    """A component of all index vectors.

    Attributes:
        value: the indices, of the batch's shape.
        offset: what is added to those that are negative.
    """

    value: Value
    offset: int


def index_components_of(
    start_indices: Value, index_vector_dim: int, rewriter: Rewriter
) -> list[IndexComponent]:
    """The components of index vectors, of which there must not be more than MAX_COMPONENTS."""
    source, offset = _before_wrapping(start_indices, rewriter)
    type = tensor_type(source)
    concatenation = defined_by(source, "stablehlo.concatenate")
    if concatenation is not None and Concatenate.of(concatenation).dimension == index_vector_dim:
        nested = [
            index_components_of(concatenated, index_vector_dim, rewriter)
            for concatenated in concatenation.operands
        ]
        components = [component for concatenated in nested for component in concatenated]
        if not offset:
            return components
        if not any(component.offset for component in components):
            return [IndexComponent(component.value, offset) for component in components]
    like = type.with_shape([size for d, size in enumerate(type.shape) if d != index_vector_dim])
    components = []
    for number in range(type.shape[index_vector_dim] if index_vector_dim < type.rank else 1):
        vector_slice = component_slice(source, index_vector_dim, number, rewriter)
        component = rewriter.create("stablehlo.reshape", [vector_slice], like)
        source_value, extra_offset = (
            (component, offset) if offset else _before_wrapping(component, rewriter)
        )
        components.append(IndexComponent(source_value, extra_offset))
    return components


def component_slice(value: Value, index_vector_dim: int, number: int, rewriter: Rewriter) -> Value:
    """Slice one component of all index vectors."""
    type = tensor_type(value)
    if index_vector_dim >= type.rank or type.shape[index_vector_dim] == 1:
        return value
    from .slicing import sliced  # index vectors of one component need none

    starts, limits = [0] * type.rank, list(type.shape)
    starts[index_vector_dim], limits[index_vector_dim] = number, number + 1
    return sliced(value, (starts, limits, [1] * type.rank), rewriter)


def _movement_op(value: Value) -> Operation | None:
    """The operation that made a value of another's elements, or widened them; None if none did."""
    owner = defining_operation(value)
    if owner is None:
        return None
    if owner.name == "stablehlo.convert":
        source, target = tensor_type(owner.operands[0]).element_type, tensor_type(value).element_type
        widens = source.category == target.category == SIGNED and source.width <= target.width
        return owner if widens else None
    return owner if is_view(owner) else None


def _before_wrapping(value: Value, rewriter: Rewriter) -> tuple[Value, int]:
    """The x and n of ``select(x < 0, x + n, x)``, in the value's shape, or (value, 0)."""
    match = wrapped_index(value)
    if match is None:
        return value, 0
    movement_ops: list[Operation] = []
    source = value
    while (movement_op := _movement_op(source)) is not None:
        movement_ops.append(movement_op)
        source = movement_op.operands[0]
    source_value, offset = match
    for movement_op in reversed(movement_ops):
        source_value = rewriter.create(
            movement_op.name, [source_value], movement_op.result.type, movement_op.attributes
        )
    return source_value, offset


def wrapped_index(value: Value) -> IndexComponent | None:
    """The x and n of ``select(x < 0, x + n, x)``, behind operations that only move elements; else None."""
    while (movement_op := _movement_op(value)) is not None:
        value = movement_op.operands[0]
    selected = defined_by(value, "stablehlo.select")
    if selected is None:
        return None
    pred, on_true, on_false = selected.operands
    comparison, addition = defined_by(pred, "stablehlo.compare"), defined_by(on_true, "stablehlo.add")
    if comparison is None or addition is None or tensor_type(on_false).category != SIGNED:
        return None
    if Compare.of(comparison).comparison_direction.value != "LT":
        return None
    if comparison.operands[0] is not on_false or not is_splat_of(comparison.operands[1], 0.0):
        return None
    lhs, rhs = addition.operands
    offset = splat(rhs if lhs is on_false else lhs)
    if on_false not in (lhs, rhs) or offset is None or int(offset) <= 0:
        return None
    return IndexComponent(on_false, int(offset))


def counted_dimension(value: Value) -> int | None:
    """The dimension along which each element of a value is its index; None if there is none."""
    iota = defined_by(value, "stablehlo.iota")
    if iota is not None:
        dimension: int = Iota.of(iota).iota_dimension
        type = tensor_type(value)
        fits = type.category & INTEGER and type.shape[dimension] <= 1 << (type.element_type.width - 1)
        return dimension if fits else None
    repeated = defined_by(value, "stablehlo.broadcast_in_dim")
    if repeated is not None:
        inner = counted_dimension(repeated.operands[0])
        if inner is None:
            return None
        (movement_map,) = BroadcastInDim.of(repeated).movement_maps()
        return movement_map.result_dims[inner]
    array = constant_array(value)
    if array is None or not 1 < array.size <= MAX_ELEMENTS or array.dtype.kind not in "iu":
        return None
    for d, size in enumerate(array.shape):
        counted_dim = np.arange(size).reshape([-1 if other == d else 1 for other in range(array.ndim)])
        if size > 1 and np.array_equal(array, np.broadcast_to(counted_dim, array.shape)):
            return d
    return None
