"""``nimblehlo diff``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..api import compile
from ..inspection.tables import terminal
from .model_explorer import add_model_explorer, store_differences
from .shared import (
    add_backend,
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
    command = commands.add_parser("diff", help="find the first operation that a backend computes differently")
    add_program(command)
    add_backend(command)
    command.add_argument(
        "--every-operation",
        action="store_true",
        help="also compare each operation alone if all results are within their bounds",
    )
    command.add_argument(
        "--output", metavar="FOLDER", help="store a program of the first wrong operation, and its operands"
    )
    add_model_explorer(command, "the distance of each compared operation in ulps")
    add_settings(command)
    add_wide(command)
    add_open_behaviour(command)
    command.set_defaults(command=_diff)


def _diff(options: argparse.Namespace) -> int:
    from ..checks.backends import IsolatedBackend, backend
    from ..checks.differences import find_faulty_operation

    backend(options.against)
    module = program_of(options)
    executable = compile(module, entry=options.entry, options=options_of(options))
    inputs = inputs_of(executable, options)
    report = find_faulty_operation(
        module,
        inputs,
        IsolatedBackend(options.against),
        entry=options.entry,
        every_operation=options.every_operation,
    )
    output = terminal(options.wide)
    print_wrapped(str(report), output, "bad" if report.differs else "good")
    if options.every_operation and report.table().rows:
        print("\n".join(["", *report.table().lines(output)]))
    if options.model_explorer:
        executable(*inputs)  # a program of unknown sizes has a plan once it has run
        store_differences(options.model_explorer, executable, report)
    if options.output and report.first is not None:
        report.first.save(Path(options.output))
        print(f"stored in {options.output}")
    return 1 if report.differs else 0
