"""Fusions of small steps as one native function."""

from __future__ import annotations

import functools

from ..cost_model import (
    BASELINE_SECONDS_PER_STEP,
    STEPS_COMPILE_SECONDS,
    STEPS_COMPILE_SECONDS_PER_STEP,
)
from ..implementation import Cost
from .native_code import FusionCode, LoweredLoop, TaskLaunch


class StepCode(FusionCode):
    """The code of a fusion of small steps."""

    label = "one step"
    fast_compile = True
    threshold_class = "steps"

    @functools.cached_property
    def steps(self) -> int:
        """The number of operations, with those in regions."""
        return sum(1 for operation in self.block.operations for _ in operation.walk())

    @functools.cached_property
    def scratch_bytes(self) -> int:
        from .steps import steps_workspace_bytes

        return steps_workspace_bytes(self.block)

    def cost(self) -> Cost:
        steps = self.steps
        seconds = STEPS_COMPILE_SECONDS + STEPS_COMPILE_SECONDS_PER_STEP * steps
        return Cost(BASELINE_SECONDS_PER_STEP * steps, compile_seconds=seconds)

    def lower(self) -> LoweredLoop:
        from .arrays import WORKSPACE_BYTES, library_symbols
        from .steps import NAME, has_workspace, steps_module

        return LoweredLoop(
            lambda: steps_module(self.block),
            1,
            (TaskLaunch(NAME, 1, self.seconds()),),
            workspace=WORKSPACE_BYTES if has_workspace(self.block) else None,
            symbols=lambda: library_symbols(self.block.operations),
        )
