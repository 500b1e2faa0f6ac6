"""Clusters of small steps as steps: a plan of theirs, and one native function once that pays."""

from __future__ import annotations

from typing import Any

from ...ops.framework.verify import view_of
from ..tiering.cost_model import compiler_load_seconds
from ..tiering.tiers import Generated
from .reduction_fusion import LoopCode, LoweredKernel

_STEP, _COMPILING, _COMPILING_STEP = 1e-6, 0.02, 0.003
"""Seconds that a small step takes by its reference; to compile some, and more for each."""


class StepCode(LoopCode):
    """The code of a cluster of small steps."""

    def lower(self) -> LoweredKernel:
        from ...codegen.steps import NAME, steps_module

        return LoweredKernel(lambda: steps_module(self.block, view_of), 1, ((NAME, 1, self.seconds()),))

    def address(self, name: str) -> int:
        from ...codegen.llvm.machine import function_address

        return function_address(self.key, name, lambda: str(self.lowered.module()), is_brief=True)


def tiered_steps(view: Any, code: StepCode) -> Generated:
    """The plan of a cluster's body, called as its region, and native code once that pays."""
    steps = sum(1 for _ in view.body.walk())
    compiling = _COMPILING + _COMPILING_STEP * steps + compiler_load_seconds()
    return Generated(view.reference, lambda: code, _STEP * steps, compiling, ())
