"""What of a program still runs as steps once its code is compiled: loops, and the steps that take long."""

from __future__ import annotations

from typing import Final

import nimblehlo
from nimblehlo.inspection.profiling.profile import StepFigures

from ..measuring import warm_up
from .declaration import LibraryProgram
from .measurement import numpy_input

MIN_SHARE: Final = 0.05
"""The least share of the calls' time from which a step is listed."""
WARM_UP_SECONDS = 3.0
"""Seconds for which a program is called before it is profiled, so that background compilations end."""
_CALLS: Final = 20
"""Profiled calls."""


def remaining_steps(program: LibraryProgram) -> list[str]:
    """A line for each loop of a program that is not native, and for each step that takes long.

    A line begins with the share of the calls' time: that of a loop includes its iterations, that of a step
    excludes the steps in its regions.

    Raises:
        NimbleError: NimbleHLO refuses the program or fails to run it.
    """
    with program.precision():
        lowered, arrays = program.lowered()
        inputs = [numpy_input(array) for array in arrays]
        executable = nimblehlo.compile(lowered)
        warm_up(lambda: executable(*inputs), WARM_UP_SECONDS)
        profile = executable.profile(inputs, calls=_CALLS, warm_up=1)
    loops = [step for step in profile.steps if step.operation == "stablehlo.while"]
    long_steps = [step for step in profile.slowest() if step.self_seconds >= MIN_SHARE * profile.seconds]
    return [
        *(_line("loop", step.seconds / profile.seconds, step) for step in loops if _runs_as_steps(step)),
        *(_line("step", step.self_seconds / profile.seconds, step) for step in long_steps),
    ]


def _runs_as_steps(loop: StepFigures) -> bool:
    """Whether the executor runs the regions of a `while` by their plans."""
    return loop.implementation in ("reference", "numpy")


def _line(kind: str, share: float, step: StepFigures) -> str:
    return f"{100 * share:5.1f} %  {kind} {step.path} {step.operation} [{step.implementation}: {step.reason}]"
