"""The cell magic ``%%stablehlo`` of notebooks, after ``%load_ext nimblehlo``."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from ..api import Executable, compile
from ..errors import NimbleError, UnsupportedError
from ..execution.array_files import random_inputs
from ..options import Options

try:
    from IPython.core.error import UsageError
except ImportError as error:
    raise UnsupportedError("notebooks need IPython: install the extra, 'nimblehlo[notebook]'") from error


class _Parser(argparse.ArgumentParser):
    """Raises what a notebook shows as one line, where a command line would end the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%stablehlo: {message}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%stablehlo", description="Run the cell's text as a StableHLO program.")
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="a variable for each argument")
    parser.add_argument("--to", metavar="NAME", help="the variable that gets the list of results")
    parser.add_argument("--executable", metavar="NAME", help="the variable that gets the Executable")
    parser.add_argument("--entry", default="main", metavar="NAME", help="the function to run (default: main)")
    parser.add_argument("--random", type=int, metavar="SEED", help="generate the inputs from this seed")
    parser.add_argument(
        "--compile",
        choices=("auto", "eager", "never"),
        default="auto",
        help="when steps are compiled (default: auto)",
    )
    return parser


def load(shell: Any) -> None:
    """Register the magic in an interactive shell of IPython."""
    shell.register_magic_function(lambda line, cell: _run(shell, line, cell), "cell", "stablehlo")


def _run(shell: Any, line: str, cell: str) -> list[Any] | None:
    """Run a cell: the results, unless a variable gets them."""
    try:
        arguments = _parser().parse_args(shlex.split(line))
    except SystemExit:  # after --help
        return None
    except ValueError as error:  # a quotation that does not end
        raise UsageError(f"%%stablehlo: {error}: {line}") from None
    try:
        executable = compile(cell, entry=arguments.entry, options=Options(compile=arguments.compile))
        results = executable(*_inputs(shell, executable, arguments))
    except NimbleError as error:
        raise UsageError(f"{type(error).__name__}: {error}") from None
    if arguments.executable:
        shell.user_ns[arguments.executable] = executable
    if arguments.to:
        shell.user_ns[arguments.to] = results
        return None
    return results


def _inputs(shell: Any, executable: Executable, arguments: argparse.Namespace) -> list[Any]:
    """The values of the variables that the line names, or random inputs."""
    if arguments.random is not None:
        if arguments.inputs:
            raise UsageError("%%stablehlo: --random generates all inputs, but the line names some too")
        return random_inputs(executable.input_types, arguments.random)
    missing = [name for name in arguments.inputs if name not in shell.user_ns]
    if missing:
        raise UsageError(f"%%stablehlo: there is no variable {missing[0]}")
    return [shell.user_ns[name] for name in arguments.inputs]
