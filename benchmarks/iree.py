"""Compare the cases of a file with IREE: the time of both, and how many times as fast as IREE a call is.

    python -m benchmarks.iree --cases FILE [NAME ...] [--json FILE]

FILE is as `benchmarks.bounds` takes it. IREE compiles the same StableHLO for this processor and runs it on
all threads; a case that it does not compile has no ratio. Each case runs in a process of its own. Results
are compared before anything is timed. Needs ``iree-base-compiler`` and ``iree-base-runtime``.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import nimblehlo
from tools.comparison import difference

from .bounds import Case, cases_of
from .measuring import Action, Comparison, figures, report, side_by_side, warm_up

BOUND, NARROW_BOUND = 1e-3, 5e-2
"""Largest difference of the results, relative to the largest value; the latter of 16-bit floats, whose sums
IREE rounds at every addition."""
DEVICE = "local-task"
"""IREE's device that has a pool of threads."""


def iree_call(text: str, inputs: list[Any]) -> Action:
    """A call of a program that IREE has compiled, with arrays that are on its device already.

    Raises:
        iree.compiler.CompilerToolError: IREE does not compile the program.
    """
    import iree.runtime

    from nimblehlo.checks.backends.iree_backend import IreeBackend

    backend = IreeBackend("llvm-cpu", DEVICE)
    function = backend.compiled(text)
    arrays = [iree.runtime.asdevicearray(backend.device, np.array(one)) for one in inputs]
    return lambda: function(*arrays)


def measured(case: Case) -> Comparison:
    """The times of a case here and by IREE, in turn."""
    lowered, arrays = case.make()
    inputs = [np.asarray(array) for array in arrays]
    text = lowered.as_text()
    other = iree_call(text, inputs)
    executable = nimblehlo.compile(text)
    results: Any = other()
    results = results if isinstance(results, (list, tuple)) else [results]
    for result, expected in zip(results, executable(*inputs), strict=True):
        bound = NARROW_BOUND if expected.dtype.itemsize <= 2 else BOUND
        reason = difference(np.asarray(result.to_host()).view(expected.dtype), expected, bound)
        if reason is not None:
            raise ValueError(f"IREE's result {reason}")
    warm_up(lambda: executable(*inputs))
    return side_by_side(lambda: executable(*inputs), other)


def measured_in_process(case: Case, path: Path) -> Comparison:
    """Measure a case in a new process.

    Raises:
        RuntimeError: the process failed.
    """
    command = [sys.executable, "-m", f"{__package__}.iree", "--here", "--cases", str(path), case.name]
    return Comparison(**figures(command, {}))


def main() -> int:
    """1 where a case fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of cases; all where there are none")
    parser.add_argument("--cases", type=Path, required=True, metavar="FILE", help="defines CASES")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures")
    parser.add_argument("--here", action="store_true", help="measure in this process, and print JSON")
    options = parser.parse_args()
    path = options.cases.resolve()
    cases = list(cases_of(path, options.names))
    if options.here:
        for case in cases:
            print("FIGURES", json.dumps(asdict(measured(case))), flush=True)
        return 0
    comparisons: dict[str, Comparison] = {}

    def compare(case: Case) -> Comparison:
        comparisons[case.name] = measured_in_process(case, path)
        return comparisons[case.name]

    status = report(cases, compare, "IREE")
    if options.json:
        options.json.write_text(
            json.dumps({name: asdict(one) for name, one in comparisons.items()}, indent=1) + "\n"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
