"""``nimblehlo judge``."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from ..api import compile
from ..errors import NimbleError
from ..inspection.tables import terminal
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


def add(commands: Any) -> None:
    """Add the command's parser to those of the command line."""
    command = commands.add_parser(
        "judge", help="say which of the results of one or several backends the specification allows"
    )
    add_program(command)
    command.add_argument(
        "--results",
        required=True,
        nargs="+",
        metavar="A.npz",
        help="the results of each backend: result_0, ... or arr_0, ... (.npz or .safetensors)",
    )
    command.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="BACKEND",
        help="the backends that returned them, in the same order: they run the program again, to find the "
        "first wrong operation",
    )
    command.add_argument(
        "--output", metavar="FOLDER", help="store the smaller program of each wrong result, and its inputs"
    )
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="the time in which each such program is made smaller (default: 120 s)",
    )
    add_settings(command)
    add_wide(command)
    add_open_behaviour(command)
    command.set_defaults(command=_judge)


def _judge(options: argparse.Namespace) -> int:
    from ..checks.backends import backend
    from ..checks.conformance.verdicts import FAILURES
    from ..checks.judging import judge_results, read_results

    for name in options.against:
        backend(name)
    if options.against and len(options.against) != len(options.results):
        raise NimbleError("--against names a backend for each file of --results")
    repeated = [file for file, times in Counter(options.results).items() if times > 1]
    if repeated:
        raise NimbleError(f"--results names {repeated[0]} twice")
    module, settings = program_of(options), options_of(options)
    executable = compile(module, entry=options.entry, options=settings)
    inputs = inputs_of(executable, options)
    judged = judge_results(
        module,
        inputs,
        {file: read_results(file, executable.output_types) for file in options.results},
        options.against,
        entry=options.entry,
        options=settings,
        seconds=options.timeout,
    )
    output = terminal(options.wide)
    for index, one in enumerate(judged):
        print_wrapped(str(one), output, "bad" if one.verdict in FAILURES else "good")
        if options.output and one.program is not None:
            folder = Path(options.output) / str(index)
            one.save(folder)
            print(f"  stored in {folder}")
    return int(any(one.verdict in FAILURES for one in judged))
