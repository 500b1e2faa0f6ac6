"""The process under malloc's checks: runs cases and says how each call ended.

    python -m tests.native_inputs.worker FAMILIES SHARE START SECONDS DELAY

Each line is the number of a case, a kind, and more: "begin" and the case's name; "done", the numbers of calls
and operands, and the element types; or what was found: "late" (a call took longer than the limit and a
second), "wrong" (the modes give other bits, or an input was written to), "internal" (an error that is no
NimbleError).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import ExecutionError, NimbleError, Options
from nimblehlo.execution import timed_calls
from tests.support.running import same_bits

from .cases import Case, cases
from .inputs import Array, operand_lists

MODES = ("never", "eager")
LIMIT, LONG_LIMIT = 5.0, 0.2
"""The time limits of calls, in seconds: the second one is that of calls which take longer."""

DELAY = 1.0
"""Seconds after its limit at which a call must have ended, unless the machine is busy."""


def say(number: int, kind: str, *words: Any) -> None:
    print(number, kind, *words, flush=True)


def attempt(
    executable: nimblehlo.Executable, inputs: list[Array], limit: float
) -> tuple[list[Array] | str, float]:
    """The results of a call, or its error, and how long it took beyond its limit."""
    start = time.perf_counter()
    try:
        outcome: list[Array] | str = [np.asarray(result) for result in executable(*inputs)]
    except ExecutionError as error:
        outcome = str(error)
    return outcome, time.perf_counter() - start - limit


def is_stopped(outcome: list[Array] | str) -> bool:
    """Whether the time limit stopped a call."""
    return isinstance(outcome, str) and "timeout = " in outcome


def agree(one: list[Array] | str, other: list[Array] | str) -> bool:
    """Whether two modes do the same; they may describe an error in other words, and a limit may stop one."""
    if is_stopped(one) or is_stopped(other):
        return True
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    return all(same_bits(a, b) for a, b in zip(one, other, strict=True))


def run(number: int, case: Case, limit: float, delay: float) -> None:
    """Run a case with all lists of operands in all modes; one that ends `delay` after the limit is late."""
    say(number, "begin", case.name.replace("\n", " "))
    limit = min(limit, LONG_LIMIT) if case.is_long else limit
    try:
        module = nimblehlo.load(case.text)
        executables = [
            nimblehlo.compile(module, options=Options(compile=mode, timeout=limit, **dict(case.options)))  # type: ignore[arg-type]
            for mode in MODES
        ]
    except NimbleError:
        # The operation does not take these element types.
        say(number, "done", 0, 0, "")
        return
    calls, lists = 0, operand_lists(case.operands)[: 1 if case.is_long else None]
    for name, operands in lists:
        outcomes = []
        for mode, executable in zip(MODES, executables, strict=True):
            copies = [operand.copy() for operand in operands]
            outcome, late = attempt(executable, copies, limit)
            calls += 1
            outcomes.append(outcome)
            if is_stopped(outcome):
                say(number, "stopped", name)
            if late > delay:
                say(number, "late", f"{case.name}: {name}, {mode}: {late + limit:.1f} s")
            while timed_calls._threads.busy:
                # What a call has abandoned would slow the next one down.
                time.sleep(0.01)
            if not all(same_bits(a, b) for a, b in zip(copies, operands, strict=True)):
                say(number, "wrong", f"{case.name}: {name}, {mode}: an input was written to")
        if not case.is_long and not agree(*outcomes):
            say(number, "wrong", f"{case.name}: {name}: modes give other bits")
    say(
        number,
        "done",
        calls,
        len(lists) * len(case.operands),
        ",".join(sorted({type for _, type in case.operands})),
    )


def main(families: str, share: str, start: str, limit: str = str(LIMIT), delay: str = str(DELAY)) -> None:
    selected = cases(families.split(","), int(share))
    for number, case in enumerate(selected[int(start) :], int(start)):
        try:
            run(number, case, float(limit), float(delay))
        except Exception as error:
            say(number, "internal", f"{case.name}: {type(error).__name__}: {error}".replace("\n", " "))
            say(number, "done", 0, 0, "")


if __name__ == "__main__":
    main(*sys.argv[1:])
