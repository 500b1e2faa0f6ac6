"""The operations that the specializer makes of operations which become one native function.

They occur in specialized programs alone: no text and no bytecode may name them.
"""

from __future__ import annotations

from typing import Any, Final

from ...types import TENSOR
from ..framework.declaration import Array, Evaluate, Op, Operand, Region, Result

CLUSTER: Final = "nimblehlo.cluster"
ROW_CLUSTER: Final = "nimblehlo.row_cluster"
REDUCTION_CLUSTER: Final = "nimblehlo.reduction_cluster"
STEP_CLUSTER: Final = "nimblehlo.step_cluster"


class _Group(Op):
    """Runs `body` on its operands."""

    operands = Operand(TENSOR, variadic=True)
    body = Region()
    results = Result(TENSOR, variadic=True)

    def verify(self) -> None:
        raise self.unsupported("is made by the specializer alone")

    def reference(self, *operands: Array, body: Evaluate) -> tuple[Any, ...]:
        return body(*operands)


class Cluster(_Group, name=CLUSTER):
    """Runs `body`, whose operations are elementwise or only move elements."""


class RowCluster(_Group, name=ROW_CLUSTER):
    """Runs `body`, which computes rows of a space: reductions along its trailing dimensions among them."""


class ReductionCluster(_Group, name=REDUCTION_CLUSTER):
    """Runs `body`, whose results are reductions, and values of the reductions' shape from which they come."""


class StepCluster(_Group, name=STEP_CLUSTER):
    """Runs `body`, whose operations are small steps."""
