"""``nimblehlo reduce``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..api import compile
from ..inspection.progress import StatusLine
from ..program.frontend.loader import load_ir
from .shared import (
    add_open_behaviour,
    add_program,
    add_settings,
    inputs_of,
    options_of,
    program_of,
    source_of,
)

if TYPE_CHECKING:
    from ..checks.minimizer.search import FaultPredicate


def add(commands: Any) -> None:
    """Add the command's parser to those of the command line."""
    command = commands.add_parser("reduce", help="make a program that shows a fault smaller")
    add_program(command)
    fault = command.add_mutually_exclusive_group(required=True)
    fault.add_argument(
        "--check",
        metavar="COMMAND",
        help="the fault is that COMMAND ends with status 0; {} is the path of the program's file",
    )
    fault.add_argument(
        "--raises", metavar="TEXT", help="the fault is an error of a call whose text contains TEXT"
    )
    fault.add_argument(
        "--against",
        metavar="BACKEND",
        help="the fault is that results of this backend, such as jax:cpu, are out of bounds",
    )
    command.add_argument(
        "--output", metavar="OUT.mlir", help="store the smaller program in this file (default: print it)"
    )
    command.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="number of programs that are tried at the same time (default: 1)",
    )
    command.add_argument(
        "--timeout", type=float, metavar="S", help="end the search after this number of seconds"
    )
    add_settings(command)
    add_open_behaviour(command)
    command.set_defaults(command=_reduce)


def _fault(options: argparse.Namespace) -> FaultPredicate:
    from ..checks.backends import backend
    from ..checks.minimizer import oracles

    if options.check is not None:
        return oracles.by_command(options.check)
    seed, settings = options.random or 0, options_of(options)
    if options.against is not None:
        backend(options.against)
        return oracles.by_backend(options.against, entry=options.entry, seed=seed, options=settings)
    return oracles.by_error(options.raises, entry=options.entry, seed=seed, options=settings)


def _reduce(options: argparse.Namespace) -> int:
    from ..checks.minimizer import minimize

    only_valid = options.raises is None
    module = program_of(options) if only_valid else load_ir(source_of(options))
    inputs = None
    if options.input or options.random is not None:
        inputs = inputs_of(compile(module, entry=options.entry, options=options_of(options)), options)
    line = StatusLine()
    try:
        reduced = minimize(
            module,
            _fault(options),
            entry=options.entry,
            inputs=inputs,
            jobs=max(1, options.jobs),
            seconds=options.timeout,
            only_valid=only_valid,
            progress=lambda trials, left: line.show(f"{trials} programs tried, {left} operations left"),
        )
    finally:
        line.clear()
    if options.output:
        Path(options.output).write_text(str(reduced), encoding="utf-8")
    else:
        print(reduced, end="")
    ending = "" if reduced.is_finished else "; the time was over"
    summary = f"{reduced.operations_before} operations before, {reduced.operations} after"
    print(f"// {summary}, {reduced.trials} programs tried in {reduced.seconds:.1f} s{ending}")
    return 0
