"""``nimblehlo conformance``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NimbleError
from ..inspection.tables import Style, Terminal, terminal
from .shared import add_wide, print_wrapped

if TYPE_CHECKING:
    from ..checks.conformance.report import Key, Report


def add(commands: Any) -> None:
    """Add the command's parser to those of the command line."""
    command = commands.add_parser(
        "conformance", help="judge backends by the specification: run the conformance suite"
    )
    command.add_argument(
        "--against",
        nargs="+",
        action="extend",
        metavar="BACKEND",
        help="the backends: jax:PLATFORM, pjrt:LIBRARY, interpreter, iree, nimblehlo, or nimblehlo: and "
        "settings such as never, eager+threads=1, correctly_rounded, reference (default: nimblehlo)",
    )
    command.add_argument(
        "--operations", nargs="+", action="extend", metavar="NAME", help="the operations (default: all)"
    )
    command.add_argument("--level", choices=("smoke", "full"), help="how many programs (default: full)")
    command.add_argument("--json", metavar="FILE", help="store the report")
    command.add_argument("--junit", metavar="FILE", help="store the report as JUnit's XML")
    command.add_argument("--html", metavar="FILE", help="store the report as a page, which needs no network")
    command.add_argument(
        "--baseline", metavar="FILE", help="a report that --json stored; only failures that it lacks count"
    )
    command.add_argument(
        "--journal", metavar="FILE", help="store each judgement in this file; they are not made again"
    )
    command.add_argument(
        "--archive",
        metavar="FOLDER",
        help="store the programs with their inputs and allowed results in this folder, and run no backend",
    )
    command.add_argument(
        "--from",
        dest="stored",
        metavar="FOLDER",
        help="judge by an archive that --archive stored: its programs, and its allowed results",
    )
    command.add_argument(
        "--coverage", action="store_true", help="print what the suite covers instead of running it"
    )
    command.add_argument(
        "-j", "--jobs", type=int, default=1, metavar="N", help="number of processes (default: 1)"
    )
    add_wide(command)
    command.set_defaults(command=_conformance)


def _conformance(options: argparse.Namespace) -> int:
    from ..checks.backends import backend
    from ..checks.conformance import conformance
    from ..checks.conformance.coverage import table
    from ..checks.conformance.page import write_page
    from ..checks.conformance.suite import FULL
    from ..checks.conformance.verdicts import FAILURES
    from ..inspection.progress import Progress

    names = None if options.operations is None else [_full_name(one) for one in options.operations]
    if options.coverage:
        print(table(names), end="")
        return 0
    level = options.level or FULL
    if options.archive:
        return _write_archive(Path(options.archive), names, level)
    if options.stored and options.level:
        raise NimbleError("--level does not go with --from: the archive was stored with a level of its own")
    against = options.against or ["nimblehlo"]
    for name in against:
        backend(name)
    baseline = _baseline(options.baseline)
    progress: Progress | None = None

    def show(report: Report) -> None:
        nonlocal progress
        progress = progress or Progress(max(report.programs * len(against), 1))
        progress.reach(len(report.judgements))

    report = conformance(
        against,
        operations=names,
        level=level,
        jobs=max(options.jobs, 1),
        journal=Path(options.journal) if options.journal else None,
        archive=Path(options.stored) if options.stored else None,
        progress=show,
    )
    if progress is not None:
        progress.clear()
    _print_report(report.as_text(baseline), terminal(options.wide), FAILURES)
    if options.json:
        report.write_json(Path(options.json))
    if options.junit:
        report.write_junit(Path(options.junit))
    if options.html:
        write_page(report, Path(options.html))
    return 1 if report.failures(baseline) else 0


def _print_report(text: str, output: Terminal, failures: Sequence[str]) -> None:
    """Print the lines of a report, in colour those that begin with a verdict that is a failure."""
    for line in text.splitlines():
        style: Style = "bad" if line.partition(":")[0] in failures else ""
        print_wrapped(line, output, style)


def _write_archive(folder: Path, names: list[str] | None, level: str) -> int:
    from ..checks.conformance.archive import write_archive
    from ..checks.conformance.suite import programs
    from ..inspection.progress import Progress

    chosen = list(programs(names, level))
    progress = Progress(max(len(chosen), 1))
    count = write_archive(folder, chosen, progress=progress.reach)
    progress.clear()
    print(f"stored {count} programs in {folder}")
    return 0


def _full_name(name: str) -> str:
    """The name of an operation with its dialect, which is StableHLO unless it is given."""
    return name if "." in name else f"stablehlo.{name}"


def _baseline(path: str | None) -> set[Key]:
    from ..checks.conformance.report import failures_of

    if path is None:
        return set()
    try:
        return failures_of(Path(path))
    except (ValueError, KeyError, TypeError) as error:
        raise NimbleError(f"{path} is no report of the conformance suite: {error}") from None
