"""The command line: `run`, `check`, `explore` and `cache`; its modules have the other commands."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ..api import compile
from ..errors import NimbleError
from ..execution.array_files import result_lines, save_results
from ..inspection.progress import Progress
from ..inspection.tables import Style, terminal
from ..kernels.launch.mpi_launcher import launched_ranks
from . import accuracy, conformance, convert, diff, fuzz, judge, machine, profiling, reduce
from .shared import (
    add_open_behaviour,
    add_program,
    add_settings,
    add_wide,
    inputs_of,
    options_of,
    print_wrapped,
    program_of,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 if it succeeded, 1 after an error."""
    parser = _parser()
    options = parser.parse_args(arguments)
    _escape_unprintable()
    try:
        status: int = options.command(options)
        if sys.stdout is not None:  # it is None if it was closed
            sys.stdout.flush()
        return status
    except NimbleError as error:
        print(f"nimblehlo: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"nimblehlo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _escape_unprintable() -> None:
    """Print characters that the locale cannot encode as escapes, as Python does on the standard error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nimblehlo", description="Runs StableHLO programs on a CPU.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a program and print its results")
    run.add_argument("--output", metavar="OUT.npz", help="store result_0, ... (.npz or .safetensors)")
    run.add_argument(
        "-o",
        dest="text_output",
        metavar="FILE",
        help="write the text to this file instead of standard output",
    )
    run.add_argument(
        "--interpret", action="store_true", help="print results as stablehlo-translate --interpret does"
    )
    run.add_argument(
        "--args",
        metavar="ATTRIBUTES",
        help='the inputs as attributes, such as "dense<1> : tensor<i32>, dense<2.0> : tensor<f32>"',
    )
    run.set_defaults(command=_run)
    check = commands.add_parser(
        "check", help="run programs that contain their own checks (check.expect_eq and others)"
    )
    check.add_argument("paths", nargs="+", metavar="PATH", help="files, or folders with .mlir files")
    check.add_argument("--json", metavar="FILE", help="store the outcome of each program")
    check.add_argument(
        "-j", "--jobs", type=int, default=1, metavar="N", help="number of processes (default: 1)"
    )
    add_wide(check)
    check.set_defaults(command=_check)
    explore = commands.add_parser(
        "explore", help="report which results depend on an order that the specification leaves open"
    )
    _add_schedules(explore)
    for command in (run, explore):
        add_program(command)
    run.add_argument(
        "--grid",
        metavar="RxP",
        help="run R x P processes (replicas x partitions), under mpiexec distributed over the ranks "
        "(default: one process, or one for each rank)",
    )
    for command in (run, check, explore):
        add_settings(command)
    for command in (run, check):
        add_open_behaviour(command)
    convert.add(commands)
    profiling.add(commands)
    machine.add(commands)
    reduce.add(commands)
    accuracy.add(commands)
    diff.add(commands)
    fuzz.add(commands)
    conformance.add(commands)
    judge.add(commands)
    _add_cache(commands.add_parser("cache", help="show or remove the compiled code on disk"))
    return parser


def _add_cache(command: argparse.ArgumentParser) -> None:
    """The commands `cache info` and `cache clear`."""
    actions = command.add_subparsers(required=True, metavar="COMMAND")
    info = actions.add_parser(
        "info", help="print the folder of compiled code, its limit, and the files and bytes in it"
    )
    clear = actions.add_parser("clear", help="remove the compiled code of all versions")
    info.set_defaults(command=_cache_info)
    clear.set_defaults(command=_cache_clear)
    for action in (info, clear):
        action.add_argument(
            "--json", nargs="?", const="-", metavar="FILE", help="print JSON, or store it in a file"
        )


def _add_schedules(command: argparse.ArgumentParser) -> None:
    """Add the arguments that only `explore` has."""
    command.add_argument(
        "--schedules", type=int, default=32, metavar="N", help="number of schedules (default: 32)"
    )
    command.add_argument(
        "--seed",
        type=int,
        default=0,
        dest="schedule_seed",
        help="the seed of the random schedules (default: 0)",
    )
    command.add_argument("--json", metavar="FILE", help="store the report")
    command.add_argument("--plot", metavar="FILE", help="plot how far results spread (needs matplotlib)")
    add_wide(command)
    command.set_defaults(sanitize=None, sanitize_action="raise", scatter_out_of_bounds="auto")
    command.set_defaults(command=_explore, seed=0)


def _run(options: argparse.Namespace) -> int:
    if options.grid is not None or launched_ranks() > 1:
        from .grid import run_on_grid

        return run_on_grid(options, options_of(options))
    start = time.perf_counter()
    module = program_of(options)
    loaded = time.perf_counter()
    executable = compile(module, entry=options.entry, options=options_of(options))
    compiled = time.perf_counter()
    inputs = inputs_of(executable, options)
    begin = time.perf_counter()
    results = executable(*inputs)
    end = time.perf_counter()
    if options.interpret:
        from ..jax.interpreter import result_text

        lines = list(map(result_text, results, executable.output_types))
    else:
        lines = [
            *result_lines(results, executable.output_types),
            f"loaded in {_milliseconds(loaded - start)}, compiled in {_milliseconds(compiled - loaded)}, "
            f"ran in {_milliseconds(end - begin)}",
        ]
    text = "".join(f"{line}\n" for line in lines)
    if options.text_output:
        Path(options.text_output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    for finding in executable.findings:
        print(f"found: {finding}", file=sys.stderr)
    if options.output:
        save_results(options.output, results)
    return 0


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _check(options: argparse.Namespace) -> int:
    from ..checks.checking import check_files, find_files

    files = find_files(options.paths)
    progress, output = Progress(len(files)), terminal(options.wide)
    cases = []
    for results in check_files(files, options.jobs, options_of(options)):
        progress.advance()
        for case in results:
            cases.append(case)
            if case.status != "passed":
                progress.clear()
                chunk = f" chunk {case.chunk}" if len(results) > 1 else ""
                text = f"{case.status}: {case.file}{chunk}: {case.message}"
                style: Style = "quiet" if case.status == "unsupported" else "bad"
                print_wrapped(text, output, style)
    progress.clear()
    if options.json:
        Path(options.json).write_text(
            json.dumps([case.as_dict() for case in cases], indent=1), encoding="utf-8"
        )
    passed = sum(case.status == "passed" for case in cases)
    has_passed = passed == len(cases) and bool(cases)
    style = "good" if has_passed else "bad"
    print_wrapped(f"{passed} passed, {len(cases) - passed} failed", output, style)
    return 0 if has_passed else 1


def _explore(options: argparse.Namespace) -> int:
    from ..checks.explorer import explore

    module = program_of(options)
    plain = options_of(options)
    inputs = inputs_of(compile(module, entry=options.entry, options=plain), options)
    try:
        exploration = explore(
            module,
            inputs,
            schedules=options.schedules,
            seed=options.schedule_seed,
            entry=options.entry,
            options=plain,
        )
    except ValueError as error:
        raise NimbleError(str(error)) from None
    print(exploration.table(terminal(options.wide)))
    if options.json:
        exploration.to_json(options.json)
    if options.plot:
        exploration.plot(options.plot)
    return 0


def _cache_info(options: argparse.Namespace) -> int:
    from ..kernels.launch import cache_files

    usage = cache_files.usage()
    files = sum(files for files, _ in usage.kinds.values())
    size = sum(size for _, size in usage.kinds.values())
    lines = [
        f"path: {usage.path}",
        f"usable: {'yes' if usage.refusal is None else f'no: {usage.refusal}'}",
        f"limit: {_bytes(usage.limit)}",
        f"total: {_files(files, size)}",
    ]
    lines += [f"{kind}: {_files(*taken)}" for kind, taken in usage.kinds.items()]
    report = {
        "path": str(usage.path),
        "usable": usage.refusal is None,
        "reason": usage.refusal,
        "limit": usage.limit,
        "files": files,
        "bytes": size,
        "kinds": {kind: {"files": files, "bytes": size} for kind, (files, size) in usage.kinds.items()},
    }
    _report(options.json, report, lines)
    return 0


def _cache_clear(options: argparse.Namespace) -> int:
    from ..kernels.launch import cache_files

    files, size = cache_files.clear()
    report = {"path": str(cache_files.root()), "removed_files": files, "removed_bytes": size}
    _report(options.json, report, [f"removed {_files(files, size)} from {cache_files.root()}"])
    return 0


def _report(target: str | None, report: dict[str, Any], lines: Sequence[str]) -> None:
    """Print lines of text, or give a report as JSON, on standard output where `target` is "-"."""
    if target in (None, "-"):
        print(json.dumps(report, indent=1) if target else "\n".join(lines))
    else:
        assert target is not None
        Path(target).write_text(json.dumps(report, indent=1), encoding="utf-8")
        print("\n".join(lines))


def _files(files: int, size: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}, {_bytes(size)}"


def _bytes(size: int) -> str:
    """A number of bytes as text, with its value in a larger unit."""
    for exponent, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << exponent:
            return f"{size} bytes ({size / (1 << exponent):.1f} {unit})"
    return f"{size} bytes"
