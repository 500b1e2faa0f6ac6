"""Operations that StableHLO no longer has, as the operations that they stand for.

Source: StableHLO, the pass that legalizes deprecated operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...types import TensorType
from .custom_assembly import applied_region
from .statement_parser import OperationState, StatementParser


def _cross_replica_sum(parser: StatementParser, state: OperationState) -> None:
    """`cross-replica-sum` is an `all_reduce` that adds."""
    operand = state.operands[0].type if len(state.operands) == 1 else None
    if not isinstance(operand, TensorType) or state.regions:
        parser.fail_expecting(f"one tensor and no regions for {state.name}", state.position)
    state.name = "stablehlo.all_reduce"
    state.regions.append(applied_region("stablehlo.add", operand, parser.location_at(state.position)))


LEGACY: Final[dict[str, Callable[[StatementParser, OperationState], None]]] = {
    "stablehlo.cross-replica-sum": _cross_replica_sum,
}
"""By its name, a function that makes of an operation the one that it stands for."""
