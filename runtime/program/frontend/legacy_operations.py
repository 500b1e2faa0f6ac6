"""Operations that StableHLO no longer has, as the operations that they stand for.

Source: StableHLO, the pass that legalizes deprecated operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...types import TensorType, Type
from ..ir import Location, Region
from ..ir.builder import binary_region


def _cross_replica_sum(operands: Sequence[Type], location: Location) -> Region | None:
    """`cross-replica-sum` is an `all_reduce` that adds."""
    operand = operands[0] if len(operands) == 1 else None
    if not isinstance(operand, TensorType):
        return None
    return binary_region("stablehlo.add", operand.element_type, location)


LEGACY: Final[dict[str, tuple[str, Callable[[Sequence[Type], Location], Region | None]]]] = {
    "stablehlo.cross-replica-sum": ("stablehlo.all_reduce", _cross_replica_sum),
}
"""By its name, what an operation stands for: the name, and a function that makes its region.

The function returns None where the operation cannot have operands of the types. The operation has no regions.
"""
EXPECTED: Final = "one tensor and no regions"
"""What such an operation must have."""
