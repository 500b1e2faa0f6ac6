"""Command: run programs as on processors of each level of x86-64, and print which give other bits.

The levels are those that this machine has. NumPy and OpenBLAS are limited likewise. With `--record FILE` it
writes programs and their results instead, which `--verify FILE` compares on another machine, where JAX need
not be.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.poisoned.campaign import ROOT, Tally, compared, record
from tests.poisoned.cases import MODES, SOURCES, Selection

from .levels import available_levels, environment
from .recording import verify


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
    """The programs that differ, each with what differs in any mode."""
    found: dict[str, set[str]] = {}
    for difference in tally.differences:
        name, _, rest = difference.partition(", ")
        found.setdefault(name, set()).add(rest.rpartition(": ")[2])
    return {name: sorted(reasons) for name, reasons in found.items()}


def print_verified(path: Path, modes: Sequence[str], share: tuple[int, int]) -> bool:
    """Print which recorded programs differ on this machine, and how many programs and calls agree.

    Returns:
        Whether all agree.
    """
    programs = calls = differing = 0
    for name, agreeing, reasons in verify(path, modes, share):
        programs, calls, differing = programs + 1, calls + agreeing, differing + bool(reasons)
        for mode, reason in reasons.items():
            print(f"DIFFERS {name}, {mode}: {reason}", flush=True)
    print(f"{platform.machine()}: {programs} programs, {calls} calls that agree, {differing} differ")
    return not differing


def _share(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    return int(number), int(count)


def main() -> int:
    """Exit status 1 where something differs."""
    usual = Selection()
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=__doc__)
    parser.add_argument("--levels", nargs="+", choices=available_levels(), default=available_levels())
    parser.add_argument(
        "--sources",
        nargs="+",
        choices=[*SOURCES],
        default=("models", "benchmarks", "random"),
        help="which programs",
    )
    parser.add_argument("--count", type=int, default=usual.count, help="random programs of each size")
    parser.add_argument("--seed", type=int, default=usual.seed, help="of the first random program")
    parser.add_argument("--names", default="", help="only programs whose names contain this")
    folder = ROOT / "build" / "processors"
    parser.add_argument("--folder", type=Path, default=folder, help="for what is written")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write programs and results, and end")
    parser.add_argument("--verify", type=Path, metavar="FILE", help="compare with results that were written")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=[*MODES], help="of running the programs")
    parser.add_argument("--share", type=_share, default=(0, 1), help="N/M: every M-th program from N on")
    options = parser.parse_args()
    selection = Selection(tuple(options.sources), options.count, options.seed, names=options.names)
    started = time.time()
    if options.record:
        record(selection, options.record)
        return 0
    if options.verify:
        agrees = print_verified(options.verify, options.modes, options.share)
        print(f"{time.time() - started:.0f} s")
        return 0 if agrees else 1
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
