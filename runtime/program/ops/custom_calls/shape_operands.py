"""The operands of a custom call that say the shapes of its results.

Source: JAX's attribute `indices_of_shape_operands`; StableHLO, refinement of custom calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import VerifyError
from ....types import INTEGER, Array, TensorType, Type
from ...ir import DenseElementsAttribute, Operation
from ..framework import rules


def shape_operands(operation: Operation) -> tuple[int, ...]:
    """The operands of a custom call that hold its results' shapes, one for each result; empty if there are
    none.

    Raises:
        VerifyError: the attribute that says it is malformed.
    """
    attribute = operation.attributes.get("indices_of_shape_operands")
    if attribute is None:
        return ()
    positions: tuple[int, ...] = ()
    if isinstance(attribute, DenseElementsAttribute) and attribute.array.ndim == 1:
        positions = tuple(map(int, attribute.array.tolist()))
    in_range = all(0 <= position < len(operation.operands) for position in positions)
    if len(positions) != len(operation.results) or not in_range or len(set(positions)) != len(positions):
        raise VerifyError(
            "indices_of_shape_operands must name another operand for each result",
            operation=operation.name,
            location=operation.location,
        )
    for position, result in zip(positions, operation.results, strict=True):
        type = operation.operands[position].type
        rank = result.type.rank if isinstance(result.type, TensorType) else None
        vector = isinstance(type, TensorType) and type.category & INTEGER and type.rank == 1
        if not vector or rank is None or not rules.sizes_agree(type.shape[0], rank):  # type: ignore[union-attr]
            raise VerifyError(
                f"operand {position} is {type}, but must say the shape of {result.type}",
                operation=operation.name,
                location=operation.location,
            )
    return positions


def with_operand_sizes(types: Sequence[Type], operation: Operation) -> list[Type] | None:
    """Result types with the shapes in a custom call's shape operands; None if one is unknown."""
    positions = shape_operands(operation)
    if not positions:
        return None
    values = [rules.constant_operand(operation, position) for position in positions]
    if any(value is None for value in values):
        return None
    return with_shapes(types, operation, [value for value in values if value is not None])


def with_shapes(types: Sequence[Type], operation: Operation, shapes: Sequence[Array]) -> list[Type]:
    """Result types with the shapes that arrays say.

    Raises:
        VerifyError: a size is negative.
    """
    refined: list[Type] = []
    for type, array in zip(types, shapes, strict=True):
        sizes = tuple(map(int, array.tolist()))
        reason = rules.at_least(0, f"the shape of {type}", sizes)
        if reason is not None:
            raise VerifyError(reason, operation=operation.name, location=operation.location)
        refined.append(type.with_shape(sizes) if isinstance(type, TensorType) else type)
    return refined
