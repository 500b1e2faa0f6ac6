"""The results that the specification allows of programs that several processes run.

Source: specification, sections "Parallel execution" and "Collective ops". Data movement is exact. A reduction
combines the values of a group by a tree that is implementation-defined: sums of floats have a bound for each
element, other bodies must be exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ...api import execute, load
from ...errors import UnsupportedError
from ...options import Options
from ...program.ir import Module, Operation
from ...program.ops import lookup
from ...program.ops.collectives.reduction import Reducing
from ...program.ops.reduction.bodies import monoid
from ...types import Array
from ..backends import Backend
from ..error_bounds import BoundViolation, ResultBound
from ..error_bounds.bounds import violations
from ..error_bounds.reduction_bounds import is_exact_body
from ..error_bounds.ulps import is_inexact, unit_roundoff
from .suite import Program


def results_on(backend: Backend, program: Program) -> list[Array]:
    """The results of a program on a backend, of each process in turn.

    Raises:
        NimbleError: what the backend raises.
    """
    if program.grid.size == 1:
        return backend.run_text(program.text, program.inputs)
    by_process = backend.run_on_grid(program.text, program.inputs_by_process, program.grid)
    return list(chain.from_iterable(by_process))


class GridResults:
    """The allowed results of a program on a grid.

    Args:
        program: a program of several processes, whose reductions add or are exact.
        options: of the run whose results are the allowed ones.

    Attributes:
        results: the bounds of each result, of each process in turn.

    Raises:
        UnsupportedError: a reduction of the program rounds, but does not add.
        NimbleError: the program does not run.
    """

    def __init__(self, program: Program, options: Options) -> None:
        self._program, self._options = program, options
        module = load(program.text)
        values = self._run(module, program.inputs)
        bounds = [np.zeros(one.shape) for one in values]
        if any(map(_is_sum, module.walk())):
            bounds = self._sum_bounds(module, values)
        self.results: Sequence[ResultBound] = [
            ResultBound(value, bound, np.zeros(value.shape, np.bool_))
            for value, bound in zip(values, bounds, strict=True)
        ]

    def violations(self, actual: Sequence[object]) -> list[BoundViolation]:
        """The results that exceed their bounds."""
        return violations(self.results, actual)

    def complete(self) -> None:
        """The bounds are the widest ones already."""

    def _sum_bounds(self, module: Module, values: Sequence[Array]) -> list[Array]:
        """Two sums of n terms in any orders differ by at most 2 (n - 1) u / (1 - (n - 1) u) times the sum of
        the terms' magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2).
        """
        magnitudes = self._run(module, [np.abs(one) for one in self._program.inputs])
        additions = self._program.grid.size - 1
        bounds = []
        for value, sums in zip(values, magnitudes, strict=True):
            error = additions * unit_roundoff(value.dtype) if is_inexact(value.dtype) else 0.0
            bounds.append(2 * error / (1 - error) * np.abs(sums.astype(np.float64)))
        return bounds

    def _run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        by_process = replace(self._program, inputs=inputs).inputs_by_process
        results = execute(module, by_process, options=self._options, grid=self._program.grid)
        return [np.asarray(one) for one in chain.from_iterable(results)]


def _is_sum(operation: Operation) -> bool:
    """Whether an operation adds numbers that are rounded.

    Raises:
        UnsupportedError: it rounds in another way.
    """
    declaration = lookup(operation.name)
    if declaration is None or not issubclass(declaration, Reducing):
        return False
    (body,) = operation.regions
    if is_exact_body(body):
        return False
    if monoid(body) != "add":
        raise UnsupportedError(f"there are no bounds of {operation.name} with this body on a grid")
    return True
