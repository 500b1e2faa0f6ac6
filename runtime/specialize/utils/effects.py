"""Classifies operations with side effects, and control flow."""

from __future__ import annotations

from typing import Final

from ...ir import Block, Operation
from ...ops.framework.declaration import lookup
from ...ops.framework.op_registry import MANUAL_COMPUTATION, RUN_PARALLEL

CONTROL_FLOW: Final = frozenset(
    {"stablehlo.case", "stablehlo.if", "stablehlo.while", RUN_PARALLEL, MANUAL_COMPUTATION}
)
"""Operations whose regions are control flow, not computations on elements."""


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
