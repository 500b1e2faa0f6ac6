"""Checks of plans, of running steps and of generated code, for tests: `NIMBLEHLO_VERIFY`.

- `plans`: each step of a plan reads the values that its operation has in the program.
- `nests`, `ufunc_programs`: loops of generated code stay within their arrays, write each element of their
  results once, and never store two live values in the same memory.
- `translation`: the steps of a plan read and write the values of the program's operations.
- `operations`: the operations of the specialized program satisfy their constraints and have inferred types.
- `steps`: the results of a running step have the declared types, shapes and layout, and it reads, writes and
  shares only what it declares.

All checks are off by default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from ...compiler.plan import Plan
from ...options import Options
from ...program.ir import Function

VARIABLE: Final = "NIMBLEHLO_VERIFY"
"""The environment variable that names the level of verification."""

Level = Literal["off", "plans", "steps"]
"""``"plans"``: each plan is verified once, when it is made; ``"steps"``: each call of its steps, too."""

_level: str = os.environ.get(VARIABLE, "off")


def level() -> str:
    return _level


@contextmanager
def verification_level(level: Level) -> Iterator[None]:
    """Set the level of verification for programs that are compiled in this context."""
    global _level
    before, _level = _level, level
    try:
        yield
    finally:
        _level = before


def verified_runner(
    function: Function,
    plan: Plan,
    options: Options,
    runner: Callable[[Plan], Any],
    *,
    checks_steps: bool = True,
) -> Any:
    """The runner of a plan, verified first; at the level ``"steps"`` it checks each step that it runs.

    Args:
        function: the specialized function, of which the plan was made.
        plan: its plan.
        options: the options with which the plan was made.
        runner: makes a runner of a plan.
        checks_steps: whether steps can be checked as they run: one at a time runs the plan.

    Raises:
        InvalidOperation: the specializer made an operation that violates its declaration.
        InvalidPlan: a step of the plan may see another value than the one that it means.
    """
    from .nests import verify_generated_nests
    from .operations import verify_operations
    from .plans import verify_plan
    from .translation import verify_translation
    from .ufunc_programs import verify_ufunc_programs

    verify_operations(function)
    verify_plan(plan)
    verify_translation(function, plan)
    if options.compile != "never":
        verify_generated_nests(function, options)
        verify_ufunc_programs(function)
    if _level != "steps" or not checks_steps:
        return runner(plan)
    from .steps import CheckedRunner

    return CheckedRunner(plan, runner)
