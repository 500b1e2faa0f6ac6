"""Classifies operations: side effects, control flow, data movement."""

from __future__ import annotations

from typing import Final

from ...ir import Block, Operation
from ...ops.framework.declaration import lookup
from ...ops.framework.op_registry import MANUAL_COMPUTATION, RUN_PARALLEL

CONTROL_FLOW: Final = frozenset(
    {"stablehlo.case", "stablehlo.if", "stablehlo.while", RUN_PARALLEL, MANUAL_COMPUTATION}
)
"""Operations whose regions are control flow, not computations on elements."""

MOVEMENT_VIEWS: Final = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "reshape", "reverse", "slice", "transpose")
)
"""Movement operations whose reference is a view, which costs nothing unless the elements are needed in
order."""
JOINING_OPS: Final = frozenset({"stablehlo.concatenate", "stablehlo.pad"})
"""Movement operations that copy elements of several operands."""
MOVEMENT_OPS: Final = MOVEMENT_VIEWS | JOINING_OPS
"""Operations whose result has only elements of the operands, at indices that attributes determine."""


def is_pure(block: Block) -> bool:
    """Whether no operation of a block, nested ones included, has an effect beyond its results."""
    return all(map(has_no_effect, block.operations))


def has_no_effect(operation: Operation) -> bool:
    """Whether an operation may be removed if its results are unused, or run once instead of twice."""
    declaration = lookup(operation.name)
    if declaration is None or not declaration.pure:
        return False
    if declaration.is_pure_by_call and not declaration(operation).pure:
        return False
    regions = operation.regions
    return not regions or all(is_pure(region.block) for region in regions)
