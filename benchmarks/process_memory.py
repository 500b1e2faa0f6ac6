"""Measures what a program adds to the memory of a process, beside XLA:CPU.

    python -m benchmarks.process_memory [NAME ...] [--seconds 3] [--json FILE] [--write]
    python -m benchmarks.process_memory --json FILE --stored --write
    python -m benchmarks.process_memory [NAME ...] --models
    python -m benchmarks.process_memory [NAME ...] --cases FILE

The programs are those of `benchmarks.libraries`; with `--models` the examples and the tests' models, with
`--cases` those of a file of Python, whose CASES maps names to (family, function, a function that makes its
arguments). Each system runs a program in a new process with an empty cache of compiled code.

What counts is resident memory (VmRSS, VmHWM: anonymous pages and pages of files such as libraries) beyond
what the process has before it compiles. By then the runtime is imported, the inputs are where its calls take
them from, and the module's text is there. Libraries that a runtime loads for its first program, such as a
compiler, count; so do the results of a call while it holds them. Processes that compile count with their
anonymous memory, sampled every 10 ms, and not with the pages of libraries that they touch meanwhile, which
all processes share (`compilers_files` in FILE). The figures, in MB:

- `first`: the peak until the first results
- `peak`: the peak until the steady state, which is reached after 30 calls, SECONDS and the end of
  compilations in the background
- `steady`: what is still there then, results being released

A ratio is NimbleHLO's figure divided by XLA:CPU's; programs whose peak is above XLA:CPU's are counted.

`--json` stores each program's figures at once, and what FILE has of this machine and these versions is not
measured again: all programs take hours. `--write` writes the table of docs/performance.md, which names the
machine; with `--stored` it measures nothing. Memory hardly depends on other load, so that the machine need
not be idle.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .early_calls import programs
from .machine import machine
from .measuring import ROOT, figures, outcomes_of, stored_program
from .models import Model

SYSTEMS = ("nimblehlo", "xla")
FIGURES = ("first", "peak", "steady")
DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN = "<!-- memory: python -m benchmarks.process_memory --json FILE --write -->\n"
END = "<!-- end of memory -->\n"

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
    share = (len(ratios) - len(above)) / len(ratios)
    line = (
        f"{len(ratios)} programs: geometric mean {mean:.2f}, at most XLA:CPU's peak in {share:.0%}, "
        f"{len(above)} above XLA:CPU"
    )
    return f"{line}: {', '.join(above)}" if above else line


def markdown(found: dict[str, Any]) -> str:
    """The table as Markdown, below the machine and the versions; the highest ratios come first."""
    outcomes: dict[str, Added] = found["programs"]
    titles = "first results | XLA:CPU | peak | XLA:CPU | ratio of the peaks | after 30 calls | XLA:CPU"
    lines = [f"Measured on {found['date']}: {found['machine']}.", ""]
    lines += [f"| program, MB | {titles} |", "|---|" + "---:|" * 7]
    for name, bytes in sorted(outcomes.items(), key=lambda item: -ratio(item[1])):
        first, peak, steady = (
            f"{bytes['nimblehlo'][figure] / 1e6:.0f} | {bytes['xla'][figure] / 1e6:.0f}" for figure in FIGURES
        )
        lines.append(f"| `{name}` | {first} | {peak} | {ratio(bytes):.2f} | {steady} |")
    return "\n".join(lines) + f"\n\n{textwrap.fill(summary(outcomes), 120)}.\n"


def here() -> dict[str, Any]:
    """What a file has that is begun on this machine."""
    return {"date": datetime.date.today().isoformat(), "machine": machine(), "programs": {}}


def main() -> int:
    """1 where a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of programs or libraries; all where there are none")
    parser.add_argument("--models", action="store_true", help="the examples and the tests' models")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="a file of Python that has CASES")
    parser.add_argument("--seconds", type=float, default=3.0, help="least time of the calls (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures, and go on from there")
    parser.add_argument("--stored", action="store_true", help="measure nothing: what FILE has")
    parser.add_argument("--write", action="store_true", help=f"write the table to {DOCUMENT.name}")
    options = parser.parse_args()
    found = json.loads(options.json.read_text()) if options.json and options.json.exists() else here()
    failures = 0 if options.stored else measure(options, found)
    print(summary(found["programs"]) + (f", {failures} failed" if failures else ""))
    if options.write:
        from tools.marked_text import replace_marked

        replace_marked(DOCUMENT, BEGIN, markdown(found), END)
    return bool(failures)


def measure(options: argparse.Namespace, found: dict[str, Any]) -> int:
    """Measure the programs that `found` does not have of this machine and these versions, and add them.

    Returns:
        how many failed.
    """
    if found["machine"] != machine():
        found.update(here())
    titles = "".join(f"{f'{figure} MB':>10}{'XLA':>9}" for figure in FIGURES)
    print(f"{'program':38}{titles}{'peaks':>8}", flush=True)
    outcomes: dict[str, Added] = found["programs"]

    def measured(program: Model) -> Added:
        if program.name not in outcomes:
            outcomes[program.name] = added(program, options.seconds)
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
        return outcomes[program.name]

    chosen = cases(options.cases, options.names) if options.cases else programs(options.names, options.models)
    _, failures = outcomes_of(chosen, measured, show)
    return failures


if __name__ == "__main__":
    sys.exit(main())
