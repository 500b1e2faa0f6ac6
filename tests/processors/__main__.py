"""Command: run programs as on processors of each level of x86-64, and print which give other bits.

The levels are those that this machine has. NumPy and OpenBLAS are limited likewise.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.poisoned.campaign import ROOT, Tally, compared, record
from tests.poisoned.cases import Selection

from .levels import available_levels, environment


def compare_levels(selection: Selection, levels: list[str], folder: Path) -> dict[str, Tally]:
    """What differs on each level from this processor with all of its instructions.

    Args:
        selection: the programs.
        levels: of x86-64.
        folder: for recorded results.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cases = folder / "cases.pickle"
    record(selection, cases)
    worker = ["tests.processors.worker", str(cases)]
    return {level: compared(worker, environment(level)) for level in levels}


def programs_of(tally: Tally) -> dict[str, list[str]]:
    """The programs that differ, each with what differs in any way of running."""
    found: dict[str, set[str]] = {}
    for difference in tally.differences:
        name, _, rest = difference.partition(", ")
        found.setdefault(name, set()).add(rest.rpartition(": ")[2])
    return {name: sorted(reasons) for name, reasons in found.items()}


def main() -> int:
    """Exit status 1 where something differs."""
    usual = Selection()
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=__doc__)
    parser.add_argument("--levels", nargs="+", choices=available_levels(), default=available_levels())
    parser.add_argument("--parts", nargs="+", choices=usual.parts, default=("models", "random"))
    parser.add_argument("--count", type=int, default=usual.count, help="random programs of each size")
    parser.add_argument("--seed", type=int, default=usual.seed, help="of the first random program")
    parser.add_argument("--names", default="", help="only programs whose names contain this")
    folder = ROOT / "build" / "processors"
    parser.add_argument("--folder", type=Path, default=folder, help="for what is written")
    options = parser.parse_args()
    selection = Selection(tuple(options.parts), options.count, options.seed, names=options.names)
    started = time.time()
    tallies = compare_levels(selection, options.levels, options.folder)
    for level, tally in tallies.items():
        differing = programs_of(tally)
        for name, reasons in differing.items():
            print(f"DIFFERS {level}: {name}: {', '.join(reasons)}")
        programs = ", ".join([f"{count} {kind}" for kind, count in sorted(tally.programs.items())])
        print(f"{level}: {programs} programs, {tally.runs} calls that agree, {len(differing)} differ")
    print(f"{time.time() - started:.0f} s")
    return 1 if any(tally.differences for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
