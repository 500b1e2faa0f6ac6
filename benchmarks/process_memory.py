"""Measures what a program adds to the memory of a process, beside XLA:CPU.

    python -m benchmarks.process_memory [NAME ...] [--seconds 3] [--json FILE]
    python -m benchmarks.process_memory [NAME ...] --models
    python -m benchmarks.process_memory [NAME ...] --cases FILE

The programs are those of `benchmarks.libraries`; with `--models` the examples and the tests' models, with
`--cases` those of a file of Python, whose CASES maps names to (family, function, a function that makes its
arguments). Each system runs a program in a new process with an empty cache of compiled code.

What counts is resident memory (VmRSS, VmHWM: anonymous pages and pages of files such as libraries) beyond
what the process has before it compiles. By then the runtime is imported, the inputs are where its calls take
them from, and the module's text is there. Libraries that a runtime loads for its first program, such as a
compiler, count; so do the results of a call while it holds them. Processes that compile count with their
anonymous memory, sampled every 10 ms. The figures, in MB:

- `first`: the peak until the first results
- `peak`: the peak until the steady state, which is reached after 30 calls, SECONDS and the end of
  compilations in the background
- `steady`: what is still there then, results being released

A ratio is NimbleHLO's figure divided by XLA:CPU's; programs whose peak is above XLA:CPU's are counted.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from .early_calls import programs
from .measuring import figures, outcomes_of, stored_program
from .models import Model

SYSTEMS = ("nimblehlo", "xla")
FIGURES = ("first", "peak", "steady")

Added = dict[str, dict[str, int]]
"""The figures of both systems, in bytes."""


def cases(path: Path, names: list[str]) -> Iterator[Model]:
    """The programs of a file's CASES, each lowered at its turn."""
    import numpy as np

    from .bounds import cases_of

    for case in cases_of(path, names):
        lowered, inputs = case.make()
        yield Model(case.name, lowered.as_text(), [np.asarray(value) for value in inputs])


def added(program: Model, seconds: float) -> Added:
    """Measure a program in new processes.

    Raises:
        RuntimeError: a process failed.
    """
    figures_of = {}
    for system in SYSTEMS:
        with stored_program(program.text, program.inputs) as (name, environment):
            command = [sys.executable, "-m", f"{__package__}.added_memory", system, name, str(seconds)]
            figures_of[system] = figures(command, environment)
    return figures_of


def row(name: str, bytes: Added) -> str:
    """A line of the table: each figure of both systems, and the ratio of the peaks."""
    pairs = [(bytes["nimblehlo"][figure] / 1e6, bytes["xla"][figure] / 1e6) for figure in FIGURES]
    cells = "".join(f"{ours:10.1f}{other:9.1f}" for ours, other in pairs)
    return f"{name:38}{cells}{ratio(bytes):8.2f}"


def ratio(bytes: Added) -> float:
    """NimbleHLO's peak divided by XLA:CPU's."""
    return bytes["nimblehlo"]["peak"] / max(bytes["xla"]["peak"], 1)


def show(name: str, bytes: Added) -> None:
    """Print the line of the table."""
    print(row(name, bytes), flush=True)


def summary(outcomes: dict[str, Added]) -> str:
    """The last line: the geometric mean of the ratios, and how many peaks are above XLA:CPU's."""
    ratios = [ratio(bytes) for bytes in outcomes.values()]
    if not ratios:
        return "no program measured"
    mean = math.exp(sum(math.log(max(one, 1e-3)) for one in ratios) / len(ratios))
    above = [name for name, bytes in outcomes.items() if ratio(bytes) > 1]
    line = f"{len(ratios)} programs: geometric mean {mean:.2f}, {len(above)} above XLA:CPU"
    return f"{line}: {', '.join(above)}" if above else line


def main() -> int:
    """1 where a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of programs or libraries; all where there are none")
    parser.add_argument("--models", action="store_true", help="the examples and the tests' models")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="a file of Python that has CASES")
    parser.add_argument("--seconds", type=float, default=3.0, help="least time of the calls (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures")
    options = parser.parse_args()
    titles = "".join(f"{f'{figure} MB':>10}{'XLA':>9}" for figure in FIGURES)
    print(f"{'program':38}{titles}{'peaks':>8}", flush=True)
    chosen = cases(options.cases, options.names) if options.cases else programs(options.names, options.models)
    outcomes, failures = outcomes_of(chosen, lambda program: added(program, options.seconds), show)
    print(summary(outcomes) + (f", {failures} failed" if failures else ""))
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1) + "\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
