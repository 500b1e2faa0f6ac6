"""``nimblehlo machine``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..inspection.tables import terminal
from .shared import print_wrapped


def add(commands: Any) -> None:
    """Add the parser of the command to those of the command line."""
    machine = commands.add_parser(
        "machine", help="print how fast this machine is, which bounds the time of every program"
    )
    machine.add_argument(
        "--measure",
        action="store_true",
        help="measure again, and keep the better of each figure and the stored one",
    )
    machine.add_argument("--json", metavar="FILE", help="store the figures")
    machine.set_defaults(command=_machine)


def _machine(options: argparse.Namespace) -> int:
    from ..inspection.profiling.machine import table
    from ..inspection.profiling.stored_machine import measured

    machine = measured(again=options.measure)
    processor, _, rows = table(machine).partition("\n")
    print_wrapped(processor, terminal())
    print(rows)
    if options.json:
        Path(options.json).write_text(json.dumps(machine.as_dict(), indent=1), encoding="utf-8")
    return 0
