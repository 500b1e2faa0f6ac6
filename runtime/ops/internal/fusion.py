"""Fusions: operations whose bodies one native function computes.

They occur in specialized programs only: text and bytecode must not name them.
"""

from __future__ import annotations

from typing import Any, Final

from ...types import TENSOR, Array
from ..framework.declaration import Evaluate, Op, Operand, Region, Result

FUSION: Final = "nimblehlo.fusion"
ROW_FUSION: Final = "nimblehlo.row_fusion"
REDUCTION_FUSION: Final = "nimblehlo.reduction_fusion"
STEP_FUSION: Final = "nimblehlo.step_fusion"


class _FusionBase(Op):
    """Runs `body` on its operands."""

    is_internal = True

    operands = Operand(TENSOR, variadic=True)
    body = Region()
    results = Result(TENSOR, variadic=True)

    def reference(self, *operands: Array, body: Evaluate) -> tuple[Any, ...]:
        return body(*operands)


class Fusion(_FusionBase, name=FUSION):
    """Runs `body`, which has elementwise and data-movement operations."""


class RowFusion(_FusionBase, name=ROW_FUSION):
    """Runs `body`, which computes rows of a tensor, with reductions along the trailing dimensions."""


class ReductionFusion(_FusionBase, name=REDUCTION_FUSION):
    """Runs `body`, whose results are reductions or are computed elementwise from reductions."""


class StepFusion(_FusionBase, name=STEP_FUSION):
    """Runs `body`, whose operations are small steps."""
