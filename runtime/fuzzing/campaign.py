"""Runs random programs on a backend, and reports what differs from NimbleHLO, one finding for each cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..api import load
from ..backends import Backend, BackendError, IsolatedBackend
from ..backends.constant_inputs import with_constant_inputs
from ..differences import Difference, find_difference
from ..error_bounds import accuracy
from ..errors import NimbleError
from ..ir import Module
from ..minimizer import reduce
from ..types import TensorType
from .programs import random_program
from .report import Finding, FuzzReport, without_numbers

Array = np.ndarray[Any, Any]

MINIMIZING_SECONDS: Final = 30.0
"""Seconds for making a finding's program smaller."""


def fuzz(
    against: str | Backend,
    *,
    count: int,
    seed: int = 0,
    minimizes: bool = True,
    progress: Callable[[FuzzReport], object] | None = None,
) -> FuzzReport:
    """Run random programs on a backend, and compare results with ours.

    Args:
        against: the name of a backend, which then runs in a process of its own; or a backend.
        count: the number of programs.
        seed: of the first program; the others follow.
        minimizes: whether the program of each finding is made smaller.
        progress: called after each program with the report so far.
    """
    other = IsolatedBackend(against) if isinstance(against, str) else against
    report = FuzzReport(other.name, seed)
    for number in range(seed, seed + count):
        report.programs += 1
        try:
            _compare(report, other, number, minimizes)
        except NimbleError:
            report.skipped += 1
        if progress is not None:
            progress(report)
    return report


def random_module(seed: int) -> tuple[Module, list[Array]]:
    """The random program of a seed, verified, whose constants are arguments; and its inputs."""
    module, inputs = random_program(seed).with_arguments()
    return load(str(module)), inputs


def _compare(report: FuzzReport, other: Backend, seed: int, minimizes: bool) -> None:
    module, inputs = random_module(seed)
    computed = accuracy(module, inputs)
    try:
        departures = computed.departures(other.run(module, inputs))
    except BackendError as error:
        message = without_numbers(str(error))
        if "ended its process" in message:
            _add(report, message, seed, "The process ends.", module, inputs, None)
        else:
            report.rejected[message] += 1
        return
    if not departures:
        report.inside += 1
        return
    first = find_difference(module, inputs, other).first
    if first is None:
        _add(report, "Results that no operation explains", seed, str(departures[0]), module, inputs, None)
        return
    fails = _differs(other) if minimizes else None
    _add(report, _cause(first), seed, str(first.departure), first.module, first.inputs, fails)


def _add(
    report: FuzzReport,
    cause: str,
    seed: int,
    detail: str,
    module: Module,
    inputs: Sequence[Array],
    fails: Callable[[Module], bool] | None,
) -> None:
    """Count a finding; its program is made smaller the first time."""
    known = report.findings.get(cause)
    if known is not None:
        known.count += 1
        return
    closed = load(str(with_constant_inputs(module, inputs)))
    if fails is not None:
        try:
            closed = reduce(closed, fails, seconds=MINIMIZING_SECONDS).module
        except NimbleError:
            # The operation is wrong only together with those around it.
            detail += " The operation alone is right."
    report.findings[cause] = Finding(cause, seed, detail, str(closed))


def _differs(other: Backend) -> Callable[[Module], bool]:
    """Whether a program without arguments gives results beyond their bounds."""

    def fails(module: Module) -> bool:
        if module.functions["main"].type.inputs:
            return False
        try:
            return bool(accuracy(module).departures(other.run(module, [])))
        except NimbleError:
            return False

    return fails


def _cause(first: Difference) -> str:
    """The operation and its element types: what differs for one reason mostly has these in common."""
    main = first.module.functions["main"]
    assert main.body is not None
    types = [type for type in (*main.type.inputs, *main.type.results) if isinstance(type, TensorType)]
    names = sorted({str(type.element_type) for type in types})
    inner = [one for region in main.body.block.operations[0].regions for one in region.walk()]
    bodies = sorted({one.name.partition(".")[2] for one in inner} - {"return"})
    body = f" of {' '.join(bodies)}" if bodies else ""
    return f"{first.operation}{body} on {', '.join(names)}"
