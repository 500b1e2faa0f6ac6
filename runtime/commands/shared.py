"""Arguments that several commands share: a program, its inputs, and options."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..api import Executable, load
from ..array_files import load_inputs, random_input
from ..errors import NimbleError
from ..ir import Module
from ..options import LINEAR_ALGEBRA, OUT_OF_BOUNDS, SANITIZE_ACTIONS, Options


def add_program(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="text, MLIR bytecode or a portable artifact")
    command.add_argument(
        "--entry", default="main", metavar="NAME", help="the function to run (default: main)"
    )
    command.add_argument(
        "--input", nargs="+", action="extend", default=[], metavar="X.npy", help="one for each argument"
    )
    command.add_argument("--random", type=int, metavar="SEED", help="draw the inputs at random")


def program_of(options: argparse.Namespace) -> Module:
    """The program that the options name; ``-`` is standard input."""
    return load(sys.stdin.buffer.read() if options.file == "-" else Path(options.file))


def add_settings(command: argparse.ArgumentParser) -> None:
    """Options of every command."""
    command.add_argument("--compile", choices=("auto", "eager", "never"), default="auto", help="see Options")
    command.add_argument("--threads", type=int, metavar="N", help="most threads (default: all)")
    command.add_argument(
        "--linear-algebra", choices=LINEAR_ALGEBRA, default="reproducible", help="see Options"
    )
    command.add_argument(
        "--probe", "--probe-output-dir", metavar="FOLDER", help="where interpreter.probe writes to"
    )


def add_open_behaviour(command: argparse.ArgumentParser) -> None:
    """Options about what the specification leaves open or undefined."""
    command.add_argument("--seed", type=int, default=0, help="of stablehlo.rng (default: 0)")
    command.add_argument(
        "--sanitize", metavar="CHECKS", help="look for undefined behaviour: all, or names and commas"
    )
    command.add_argument("--sanitize-action", choices=SANITIZE_ACTIONS, default="raise", help="see Options")
    command.add_argument("--scatter-out-of-bounds", choices=OUT_OF_BOUNDS, default="auto", help="see Options")


def options_of(options: argparse.Namespace) -> Options:
    """The `Options` that a command line names.

    Raises:
        NimbleError: a value is not allowed.
    """
    try:
        return Options(
            compile=options.compile,
            threads=options.threads,
            seed=options.seed,
            probe_directory=options.probe,
            sanitize=_checks(options.sanitize),
            sanitize_action=options.sanitize_action,
            scatter_out_of_bounds=options.scatter_out_of_bounds,
            linear_algebra=options.linear_algebra,
        )
    except ValueError as error:
        raise NimbleError(str(error)) from None


def _checks(names: str | None) -> bool | list[str]:
    """Convert the checks that the command line names to the value of `Options.sanitize`."""
    if names is None or names == "all":
        return names is not None
    return [name.strip() for name in names.split(",")]


def add_backend(command: Any) -> None:
    """The backend whose results are compared with ours."""
    text = "jax:PLATFORM, pjrt:LIBRARY, interpreter or nimblehlo"
    command.add_argument("--against", required=True, metavar="BACKEND", help=text)


def inputs_of(executable: Executable, options: argparse.Namespace) -> list[Any]:
    types = executable.input_types
    if getattr(options, "args", None) is not None:
        from ..interpreter import inputs_from_text

        return inputs_from_text(options.args)
    if options.random is not None and not options.input:
        generator = np.random.default_rng(options.random)
        return [random_input(type, generator) for type in types]
    return load_inputs(options.input, types)
