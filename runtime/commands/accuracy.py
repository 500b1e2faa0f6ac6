"""``nimblehlo accuracy``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..api import compile, load
from ..errors import NimbleError
from .shared import add_open_behaviour, add_program, add_settings, inputs_of, options_of


def add(commands: Any) -> None:
    """Add the command's parser to those of the command line."""
    command = commands.add_parser(
        "accuracy", help="print how far a correct implementation's results may be from ours"
    )
    add_program(command)
    command.add_argument("--draws", type=int, default=12, metavar="N", help="random runs (default: 12)")
    add_settings(command)
    add_open_behaviour(command)
    command.set_defaults(command=_accuracy)


def _accuracy(options: argparse.Namespace) -> int:
    from ..error_bounds import accuracy

    module, settings = load(Path(options.file)), options_of(options)
    inputs = inputs_of(compile(module, entry=options.entry, options=settings), options)
    try:
        computed = accuracy(module, inputs, entry=options.entry, draws=options.draws, options=settings)
    except ValueError as error:
        raise NimbleError(str(error)) from None
    print(computed)
    return 0
