"""Fusions of small steps as one native function."""

from __future__ import annotations

import functools

from ..cost_model import (
    BASELINE_SECONDS_PER_STEP,
    MIN_QUICK_OPERATIONS,
    STEPS_COMPILE_SECONDS,
    STEPS_COMPILE_SECONDS_PER_STEP,
    compiler_load_seconds,
    per_operation_seconds,
)
from ..implementation import Cost, Runnable
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

    @property
    def compiles_ahead(self) -> bool:  # type: ignore[override]
        return super().compiles_ahead and self.steps < MIN_QUICK_OPERATIONS

    def prepare_soon(self) -> Runnable:
        return self.function_of_launches(quickly=self.steps >= MIN_QUICK_OPERATIONS)

    def cost(self) -> Cost:
        steps = self.steps
        seconds = per_operation_seconds(STEPS_COMPILE_SECONDS_PER_STEP, steps) * steps
        seconds += STEPS_COMPILE_SECONDS + compiler_load_seconds()
        return Cost(BASELINE_SECONDS_PER_STEP * steps, compile_seconds=seconds)

    def lower(self) -> LoweredLoop:
        from .arrays import library_symbols
        from .steps import NAME, steps_module

        return LoweredLoop(
            lambda: steps_module(self.block),
            1,
            (TaskLaunch(NAME, 1, self.seconds()),),
            symbols=lambda: library_symbols(self.block.operations),
        )
