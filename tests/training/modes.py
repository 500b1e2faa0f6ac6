"""A training step run in every mode: right, and the same bits at each call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import nimblehlo
from nimblehlo import Options
from tests.checks.fuzzing.rules import first_difference, same_but_for_nan

from .layers import Array
from .steps import TrainingStep

BOUND = 2e-5
"""How far results may lie from XLA:CPU's, relative to each result's largest value: what layer after layer
adds up."""


def differences(
    step: TrainingStep,
    modes: Sequence[str] = ("never", "auto", "eager"),
    threads: Sequence[int | None] = (None, 1),
    calls: int = 3,
    expected: Sequence[Array] | None = None,
) -> list[str]:
    """How the modes of a training step differ from its references, in words.

    Args:
        modes, threads: the options; references run once.
        calls: of each Executable.
        expected: what the results must lie near; None: only the modes are compared.
    """
    text, inputs = str(step.lowered().as_text()), step.inputs()
    first = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    found = [] if expected is None else _far(first, expected)
    for mode in modes:
        for count in threads:
            executable = nimblehlo.compile(text, options=Options(compile=mode, threads=count))  # type: ignore[arg-type]
            for call in range(calls):
                for number, (a, b) in enumerate(zip(executable(*inputs), first, strict=True)):
                    if not same_but_for_nan(a, b):
                        where = f"{mode}, threads {count}, call {call}, result {number}"
                        found.append(f"{where}: {first_difference(b, a)}")
    return found


def _far(results: Sequence[Array], expected: Sequence[Array]) -> list[str]:
    found = []
    for number, (a, b) in enumerate(zip(results, expected, strict=True)):
        error = float(np.abs(a - b).max(initial=0.0))
        scale = float(np.abs(b).max(initial=0.0))
        if not (np.isfinite(a).all() and error <= BOUND * max(scale, 1e-3)):
            found.append(f"references, result {number}: {error} from XLA:CPU's, of {scale}")
    return found
