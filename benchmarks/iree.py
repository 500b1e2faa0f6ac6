"""Compare the cases of a file with IREE: the time of both, and how many times as fast as IREE a call is.

    python -m benchmarks.iree --cases FILE [NAME ...] [--one-thread] [--json FILE]

FILE is as `benchmarks.bounds` takes it. IREE compiles the same StableHLO for this processor and runs it on
all threads; a case that it does not compile, or not run in time, has no ratio: its sorts of a million take
hours. `--one-thread` compares processor time on one thread, which other load on the machine disturbs less.
Each case runs in a process of its own. Results are compared before anything is timed. Where they differ, they
are compared once more for inputs of which no two elements are equal: if they agree there, the line of the
case says so, as both may choose any of equal elements. Needs ``iree-base-compiler`` and
``iree-base-runtime``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nimblehlo
from tools.comparison import difference

from .bounds import Case, cases_of
from .measuring import Action, Array, Comparison, figures, report, side_by_side, warm_up

BOUND, NARROW_BOUND = 1e-3, 5e-2
"""Largest difference of the results, relative to the largest value; the latter of 16-bit floats, whose sums
IREE rounds at every addition."""
DEVICE, ONE_THREAD = "local-task", "local-sync"
"""IREE's device that has a pool of threads, and the one that runs programs on the calling thread."""
MAX_SECONDS = 300.0
"""Seconds of a case, after which its process is ended."""


@dataclass(frozen=True)
class IreeComparison(Comparison):
    """Median times here and by IREE.

    Attributes:
        note: what the line of the case says besides.
    """

    note: str = ""

    def line(self, name: str) -> str:
        """The line of the case of this name."""
        return (
            f"{name:40} IREE {self.other * 1e6:10.1f} µs, NimbleHLO {self.ours * 1e6:10.1f} µs, "
            f"{self.ratio:7.2f} times as fast {self.note}".rstrip()
        )


def iree_program(text: str, device: str) -> Callable[[Sequence[Array]], Action]:
    """A program that IREE has compiled: from inputs to a call with arrays that are on its device already.

    Raises:
        iree.compiler.CompilerToolError: IREE does not compile the program.
    """
    import iree.runtime

    from nimblehlo.checks.backends.iree_backend import IreeBackend

    backend = IreeBackend("llvm-cpu", device)
    function = backend.compiled(text)

    def call_with(inputs: Sequence[Array]) -> Action:
        arrays = [iree.runtime.asdevicearray(backend.device, np.array(one)) for one in inputs]
        return lambda: function(*arrays)

    return call_with


def disagreement(returned: Any, expected: Sequence[Array]) -> str | None:
    """How IREE's results differ from those here, in words; None if they agree."""
    results = returned if isinstance(returned, (list, tuple)) else [returned]
    for result, ours in zip(results, expected, strict=True):
        bound = NARROW_BOUND if ours.dtype.itemsize <= 2 else BOUND
        reason = difference(np.asarray(result.to_host()).view(ours.dtype), ours, bound)
        if reason is not None:
            return reason
    return None


def distinct(values: Array) -> Array:
    """Floats between 0 and 1 in the order of the values, of which no two are equal; others as they are.

    Raises:
        ValueError: the type has too few numbers.
    """
    if values.dtype.kind != "f":
        return values
    if values.size > 1 << np.finfo(values.dtype).nmant:
        raise ValueError(f"{values.dtype} has less than {values.size} numbers between 0 and 1")
    ranks = np.empty(values.size, values.dtype)
    ranks[np.argsort(values, axis=None, kind="stable")] = np.arange(values.size, dtype=values.dtype)
    return ranks.reshape(values.shape) / values.dtype.type(1 << np.finfo(values.dtype).nmant)


def measured(case: Case, *, one_thread: bool) -> IreeComparison:
    """The times of a case here and by IREE, in turn: of processors if both have one thread.

    Raises:
        ValueError: the results differ, and not only because elements are equal.
    """
    lowered, arrays = case.make()
    inputs = [np.asarray(array) for array in arrays]
    text = lowered.as_text()
    program = iree_program(text, ONE_THREAD if one_thread else DEVICE)
    executable = nimblehlo.compile(text, options=nimblehlo.Options(threads=1 if one_thread else None))
    other = program(inputs)
    reason, note = disagreement(other(), executable(*inputs)), ""
    if reason is not None:
        others = [distinct(one) for one in inputs]
        if disagreement(program(others)(), executable(*others)) is not None:
            raise ValueError(f"IREE's result {reason}")
        note = f"({reason}; agrees where no elements are equal)"
    warm_up(lambda: executable(*inputs))
    clock = time.process_time if one_thread else time.perf_counter
    times = side_by_side(lambda: executable(*inputs), other, clock=clock)
    return IreeComparison(**asdict(times), note=note)


def measured_in_process(case: Case, path: Path, *, one_thread: bool) -> IreeComparison:
    """Measure a case in a new process.

    Raises:
        RuntimeError: the process failed, or took longer than `MAX_SECONDS`.
    """
    command = [sys.executable, "-m", f"{__package__}.iree", "--here", "--cases", str(path), case.name]
    if one_thread:
        command.append("--one-thread")
    return IreeComparison(**figures(command, {}, MAX_SECONDS))


def main() -> int:
    """1 where a case fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of cases; all where there are none")
    parser.add_argument("--cases", type=Path, required=True, metavar="FILE", help="defines CASES")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures")
    parser.add_argument("--one-thread", action="store_true", help="compare processor time on one thread")
    parser.add_argument("--here", action="store_true", help="measure in this process, and print JSON")
    options = parser.parse_args()
    path = options.cases.resolve()
    cases = list(cases_of(path, options.names))
    if options.here:
        for case in cases:
            print("FIGURES", json.dumps(asdict(measured(case, one_thread=options.one_thread))), flush=True)
        return 0
    comparisons: dict[str, IreeComparison] = {}

    def compare(case: Case) -> IreeComparison:
        comparisons[case.name] = measured_in_process(case, path, one_thread=options.one_thread)
        return comparisons[case.name]

    status = report(cases, compare, "IREE", lambda name, _: print(comparisons[name].line(name), flush=True))
    if options.json:
        options.json.write_text(
            json.dumps({name: asdict(one) for name, one in comparisons.items()}, indent=1) + "\n"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
