"""``nimblehlo accuracy``."""

from __future__ import annotations

import argparse
from typing import Any

from ..api import compile
from ..errors import NimbleError
from ..inspection.tables import terminal
from .model_explorer import add_model_explorer, store_bounds
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
        "accuracy", help="print how far another correct implementation's results may differ"
    )
    add_program(command)
    command.add_argument(
        "--draws",
        type=int,
        default=12,
        metavar="N",
        help="number of runs with random rounding errors (default: 12)",
    )
    add_model_explorer(command, "the bounds of the results in ulps")
    add_settings(command)
    add_wide(command)
    add_open_behaviour(command)
    command.set_defaults(command=_accuracy)


def _accuracy(options: argparse.Namespace) -> int:
    from ..checks.error_bounds import accuracy

    module, settings = program_of(options), options_of(options)
    executable = compile(module, entry=options.entry, options=settings)
    inputs = inputs_of(executable, options)
    try:
        computed = accuracy(module, inputs, entry=options.entry, draws=options.draws, options=settings)
    except ValueError as error:
        raise NimbleError(str(error)) from None
    print_wrapped(str(computed), terminal(options.wide))
    if options.model_explorer:
        executable(*inputs)  # a program of unknown sizes has a plan once it has run
        store_bounds(options.model_explorer, executable, computed)
    return 0
