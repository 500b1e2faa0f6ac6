"""Finds the results that depend on behaviour which the specification leaves open, and other correct
results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from nimblehlo.checks.error_bounds.monte_carlo import NoisyProgram, NoisyRun
from nimblehlo.checks.error_bounds.ulps import distance, is_inexact
from nimblehlo.errors import ExecutionError
from nimblehlo.options import Options
from nimblehlo.program.ir import Module
from nimblehlo.types import Array

DRAWS: Final = 12
"""Runs with other values in open elements: two of them are equal for one boolean in half of the cases."""
_PLAIN: Final = Options(compile="never")


def open_elements(module: Module, inputs: Sequence[object], entry: str = "main") -> list[Array]:
    """The elements of the results that depend on values which the specification leaves to the implementation.

    Args:
        module: a verified program.
        inputs: what `nimblehlo.execute` takes.
        entry: the function to run.

    Returns:
        For each result an array of its shape.

    Raises:
        NimbleError: what `nimblehlo.execute` raises.
    """
    program = NoisyProgram(module, entry, inputs, _PLAIN)
    plain = program.run(NoisyRun())
    masks = [np.zeros(one.shape, np.bool_) for one in plain]
    for seed in range(DRAWS):
        run = NoisyRun(np.random.default_rng(seed), rounds=False)
        try:
            results = program.run(run)
        except ExecutionError:
            # Any value may be an index or a size that does not fit.
            return [np.ones(one.shape, np.bool_) for one in plain]
        if not run.open_calls:
            break
        for mask, one, other in zip(masks, plain, results, strict=True):
            mask |= distance(one, other) > 0 if is_inexact(one.dtype) else one != other
    return masks


def other_results(module: Module, inputs: Sequence[object], entry: str = "main") -> list[list[Array]]:
    """Results with initial values of reductions combined another number of times, where that differs.

    Args:
        module: a verified program.
        inputs: what `nimblehlo.execute` takes.
        entry: the function to run.

    Returns:
        The results with each reduction's initial value combined once, so that padding is skipped, and without
        it. Fewer where the program's initial values are the identities of the bodies.

    Raises:
        NimbleError: what `nimblehlo.execute` raises.
    """
    program = NoisyProgram(module, entry, inputs, _PLAIN)
    distinct: list[list[Array]] = []
    choice, choices = 1, 2
    while choice < choices:
        run = NoisyRun(choice=choice)
        results = program.run(run)
        choices = run.choices
        if choice < choices:
            distinct.append(results)
        choice += 1
    return distinct
