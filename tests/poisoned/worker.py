"""One of the two processes: it records what programs give, or compares with what was recorded.

    python -m tests.poisoned.worker record FILE SELECTION
    python -m tests.poisoned.worker compare FILE START

`SELECTION` is a `Selection` as a Python tuple. `START` is the number of the first case that is compared. Each
line that comes out is a number of a case, a kind, and more: "begin" and the case's name, "differs" and what
differs, or "done" and how many calls agreed.
"""

from __future__ import annotations

import ast
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import NimbleError, Options

from .cases import Case, Selection, cases, modes_of

Array = np.ndarray[Any, Any]
Outcome = list[Array] | str
"""Results, or why there are none."""

CALLS = 3
"""Of one executable: later ones find what earlier ones left in memory."""


def outcomes(case: Case, options: Options, calls: int = CALLS) -> list[Outcome]:
    """What the calls of one executable give."""
    found: list[Outcome] = []
    try:
        executable = nimblehlo.compile(nimblehlo.load(case.text), options=options)
    except NimbleError as error:
        return [_text_of(error)]
    for _ in range(calls):
        inputs = [array.copy() for array in case.inputs]
        try:
            found.append([np.asarray(result) for result in executable(*inputs)])
        except NimbleError as error:
            found.append(_text_of(error))
        if any(a.tobytes() != b.tobytes() for a, b in zip(inputs, case.inputs, strict=True)):
            found.append("an input was written to")
    return found


def _text_of(error: NimbleError) -> str:
    return f"{type(error).__name__}: {error}"


def record(path: Path, selection: Selection) -> None:
    """Write the cases, each with what the first call gives in each mode."""
    with path.open("wb") as stream:
        for case in cases(selection):
            wanted = {mode: outcomes(case, options)[0] for mode, options in modes_of(case).items()}
            pickle.dump((case, wanted), stream)


def recorded(path: Path) -> Iterator[tuple[Case, dict[str, Outcome]]]:
    """What `record` wrote."""
    with path.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)


def compare(path: Path, start: int) -> None:
    """Run the recorded cases again; say which differ."""
    for number, (case, wanted) in enumerate(recorded(path)):
        if number < start:
            continue
        print(number, "begin", case.name, flush=True)
        agreeing = 0
        for mode, options in modes_of(case).items():
            for call, got in enumerate(outcomes(case, options)):
                reasons = [difference(got, wanted[mode])]
                if not case.tells_nans_apart:
                    reasons.append(difference(got, wanted["never"]))
                for reason in filter(None, reasons):
                    print(number, "differs", f"{case.name}, {mode}, call {call}: {reason}", flush=True)
                agreeing += not any(reasons)
        print(number, "done", agreeing, flush=True)


def difference(got: Outcome, wanted: Outcome) -> str | None:
    """Why an outcome is another than was recorded; None if only NaNs differ, or nothing."""
    from tests.checks.fuzzing.rules import same_but_for_nan

    if isinstance(got, str) or isinstance(wanted, str):
        return None if got == wanted else f"{_short(got)}, not {_short(wanted)}"
    for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"result {number} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if a.tobytes() != b.tobytes() and not same_but_for_nan(a, b):
            return f"result {number} differs"
    return None


def _short(outcome: Outcome) -> str:
    return outcome[:200] if isinstance(outcome, str) else f"{len(outcome)} results"


def main() -> None:
    """See the module's text."""
    command, path, argument = sys.argv[1:]
    if command == "record":
        record(Path(path), Selection(*ast.literal_eval(argument)))
        return
    import llvmlite.binding

    from .scratch import poison_scratch

    llvmlite.binding.initialize_native_target()
    poison_scratch()
    compare(Path(path), int(argument))


if __name__ == "__main__":
    main()
