"""``nimblehlo fuzz``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..inspection.tables import terminal
from .shared import add_backend, print_wrapped

if TYPE_CHECKING:
    from ..checks.fuzzing.report import FuzzReport

REPORT_INTERVAL: Final = 100
"""Programs after which the report is written again: a stopped campaign loses at most so many outcomes."""


def add(commands: Any) -> None:
    """Add the command's parser to those of the command line."""
    command = commands.add_parser(
        "fuzz", help="compare a backend's results of random programs with NimbleHLO's"
    )
    add_backend(command)
    command.add_argument(
        "--count", type=int, default=100, metavar="N", help="number of programs (default: 100)"
    )
    command.add_argument("--seed", type=int, default=0, help="the seed of the first program (default: 0)")
    command.add_argument(
        "--report", metavar="FILE.md", help="store the report in this file (default: print it)"
    )
    command.add_argument(
        "--journal",
        metavar="FILE",
        help="store each outcome in this file; programs that are in it do not run again",
    )
    command.add_argument(
        "--repeat-findings", action="store_true", help="run the programs of the journal's findings again"
    )
    command.add_argument(
        "--no-minimize", action="store_true", help="do not make the programs of findings smaller"
    )
    command.add_argument(
        "-j", "--jobs", type=int, default=1, metavar="N", help="number of processes (default: 1)"
    )
    command.set_defaults(command=_fuzz)


def _fuzz(options: argparse.Namespace) -> int:
    from ..checks.backends import backend
    from ..checks.fuzzing.campaign import fuzz
    from ..inspection.progress import Progress

    backend(options.against)
    progress = Progress(max(options.count, 1))

    def show(report: FuzzReport) -> None:
        progress.reach(report.programs)
        if options.report and not report.programs % REPORT_INTERVAL:
            Path(options.report).write_text(report.as_markdown(), encoding="utf-8")

    report = fuzz(
        options.against,
        count=options.count,
        seed=options.seed,
        minimizes=not options.no_minimize,
        jobs=max(options.jobs, 1),
        journal=Path(options.journal) if options.journal else None,
        repeats_findings=options.repeat_findings,
        progress=show,
    )
    progress.clear()
    if options.report:
        Path(options.report).write_text(report.as_markdown(), encoding="utf-8")
        print_wrapped(report.summary(), terminal())
    else:
        print(report.as_markdown(), end="")
    return 1 if report.findings else 0
