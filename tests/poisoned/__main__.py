"""Command: run programs with poisoned memory, and print which give other results than without."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .campaign import ROOT, compare, is_available, record
from .cases import Selection


def main() -> int:
    """Exit status 1 where something differs."""
    usual = Selection()
    parser = argparse.ArgumentParser(prog="python -m tests.poisoned", description=__doc__)
    parser.add_argument(
        "--sources", nargs="+", choices=usual.sources, default=usual.sources, help="which programs"
    )
    parser.add_argument("--count", type=int, default=usual.count, help="random programs of each size")
    parser.add_argument("--seed", type=int, default=usual.seed, help="of the first random program")
    parser.add_argument(
        "--eager-share", type=int, default=usual.eager_share,
        help="compile one random or conformance program of so many; 0: none",
    )  # fmt: skip
    parser.add_argument("--names", default="", help="only programs whose names contain this")
    parser.add_argument(
        "--guard", action="store_true",
        help="let blocks end at pages that may not be touched, instead of using them again",
    )  # fmt: skip
    folder = ROOT / "build" / "poisoned"
    parser.add_argument("--folder", type=Path, default=folder, help="for what is written")
    options = parser.parse_args()
    if not is_available():
        print("this needs glibc and a C compiler", file=sys.stderr)
        return 2
    selection = Selection(
        tuple(options.sources), options.count, options.seed, options.eager_share, options.names
    )
    started = time.time()
    options.folder.mkdir(parents=True, exist_ok=True)
    cases = options.folder / f"cases{'-guard' if options.guard else ''}.pickle"
    record(selection, cases)
    tally = compare(cases, options.folder, options.guard)
    for difference in tally.differences:
        print(f"DIFFERS {difference}")
    programs = ", ".join([f"{count} {kind}" for kind, count in sorted(tally.programs.items())])
    print(
        f"{programs} programs, {tally.runs} calls that agree, {len(tally.differences)} differences, "
        f"{time.time() - started:.0f} s"
    )
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
