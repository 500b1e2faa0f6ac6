"""Fusions: operations whose bodies one native function computes.

They occur in specialized programs only: text and bytecode must not name them.
"""

from __future__ import annotations

from typing import Any, Final

from ....types import TENSOR, Array, Type
from ..framework import rules
from ..framework.declaration import Evaluate, Op, Operand, Region, Result, constraint
from ..framework.traits import Memory, RegionRole

FUSION: Final = "nimblehlo.fusion"
ROW_FUSION: Final = "nimblehlo.row_fusion"
REDUCTION_FUSION: Final = "nimblehlo.reduction_fusion"
STEP_FUSION: Final = "nimblehlo.step_fusion"
LAUNCHED: Final = "nimblehlo.launched"


class _FusionBase(Op):
    """Runs `body` on its operands."""

    memory = Memory.MAY_FORWARD
    region_role = RegionRole.FUSION
    is_internal = True

    operands = Operand(TENSOR, variadic=True)
    body = Region()
    results = Result(TENSOR, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """body takes values of the operands' types, and returns those of the results"""
        return rules.function_type_is("body", self.body, self.operands, self.results)

    def infer(self) -> list[Type]:
        return list(self.body.type.results)

    def reference(self, *operands: Array, body: Evaluate) -> tuple[Any, ...]:
        return body(*operands)


class Fusion(_FusionBase, name=FUSION):
    """Runs `body`, which has elementwise and data-movement operations."""

    block_rule = "scalars.control.FUSION"


class RowFusion(_FusionBase, name=ROW_FUSION):
    """Runs `body`, which computes rows of a tensor, with reductions along the trailing dimensions."""

    copies_strided_operands = True
    block_rule = "scalars.control.ROW_FUSION"


class ReductionFusion(_FusionBase, name=REDUCTION_FUSION):
    """Runs `body`, whose results are reductions or are computed elementwise from reductions."""

    copies_strided_operands = True
    block_rule = "scalars.control.ROW_FUSION"


class StepFusion(_FusionBase, name=STEP_FUSION):
    """Runs `body`, whose operations are small steps."""

    region_role = RegionRole.STEPS
    block_rule = "scalars.control.ROW_FUSION"


class Launched(_FusionBase, name=LAUNCHED):
    """Runs `body`, one operation, by a call of that operation's own code: native loops contain it."""

    memory = Memory.COPY
    region_role = RegionRole.COMPUTATION
    block_rule = "arrays.launches.LAUNCHED"
