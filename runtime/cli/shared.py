"""Arguments that several commands share: a program, its inputs, and options."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..api import Executable, load
from ..errors import ExecutionError, NimbleError, counted
from ..execution.array_files import load_inputs, random_inputs
from ..inspection.tables import Style, Terminal, coloured, wrapped
from ..options import FUNCTIONS, LINEAR_ALGEBRA, OUT_OF_BOUNDS, SANITIZE_ACTIONS, Options
from ..program.ir import Module


def add_program(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", help="the program: text, MLIR bytecode or a portable artifact; - reads standard input"
    )
    command.add_argument(
        "--entry", default="main", metavar="NAME", help="the function to run (default: main)"
    )
    command.add_argument(
        "--input",
        "--inputs",
        nargs="+",
        action="extend",
        default=[],
        metavar="X.npy",
        help="a file for each argument, or files of named arrays (.npz, .safetensors)",
    )
    command.add_argument(
        "--names",
        metavar="FILE.json",
        help="the names of the arguments' arrays: a list, or an object from an argument's number or own name",
    )
    command.add_argument("--random", type=int, metavar="SEED", help="generate random inputs from this seed")


def source_of(options: argparse.Namespace) -> bytes | Path:
    """The path of the program that the options name; for ``-`` the contents of standard input."""
    return sys.stdin.buffer.read() if options.file == "-" else Path(options.file)


def program_of(options: argparse.Namespace) -> Module:
    """The verified program that the options name."""
    return load(source_of(options))


def add_settings(command: argparse.ArgumentParser) -> None:
    """Options of every command."""
    command.add_argument(
        "--compile",
        choices=("auto", "eager", "never"),
        default="auto",
        help="when steps are compiled: once it saves time, at the first call, or never (default: auto)",
    )
    command.add_argument(
        "--reference",
        action="store_true",
        help="run each operation by the text of the specification, element by element, and compile nothing",
    )
    command.add_argument(
        "--threads", type=int, metavar="N", help="maximum number of threads (default: all processors)"
    )
    command.add_argument(
        "--functions",
        choices=FUNCTIONS,
        default="fast",
        help="functions of f32 in f32, with errors of at most 1 ulp, or rounded correctly (default: fast)",
    )
    command.add_argument(
        "--linear-algebra",
        choices=LINEAR_ALGEBRA,
        default="reproducible",
        help="kernels with the same bits on every processor, or LAPACK (default: reproducible)",
    )
    command.add_argument(
        "--probe", "--probe-output-dir", metavar="FOLDER", help="the folder to which interpreter.probe writes"
    )


def add_wide(command: argparse.ArgumentParser) -> None:
    """Add the option of commands whose lines fit the window."""
    command.add_argument(
        "--wide", action="store_true", help="print whole lines on a terminal, however wide its window is"
    )


def print_wrapped(text: str, output: Terminal, style: Style = "") -> None:
    """Print lines of text, each wrapped where it does not fit the window."""
    for line in text.splitlines():
        print("\n".join(coloured(part, style, output) for part in wrapped(line, output)), flush=True)


def add_open_behaviour(command: argparse.ArgumentParser) -> None:
    """Options about what the specification leaves open or undefined."""
    command.add_argument("--seed", type=int, default=0, help="the seed of stablehlo.rng (default: 0)")
    command.add_argument(
        "--sanitize",
        metavar="CHECKS",
        help="check for undefined behaviour: all, or names separated by commas (docs/sanitizer.md)",
    )
    command.add_argument(
        "--sanitize-action",
        choices=SANITIZE_ACTIONS,
        default="raise",
        help="the effect of a finding: end with an error, warn, or only list it (default: raise)",
    )
    command.add_argument(
        "--scatter-out-of-bounds",
        choices=OUT_OF_BOUNDS,
        default="auto",
        help="what a scatter drops: the element out of bounds, as the specification says; its window, as XLA "
        "does; or as XLA in programs of JAX alone (default: auto)",
    )


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
            functions=options.functions,
            linear_algebra=options.linear_algebra,
            reference=options.reference,
        )
    except ValueError as error:
        raise NimbleError(str(error)) from None


def _checks(names: str | None) -> bool | list[str]:
    """Convert the checks that the command line names to the value of `Options.sanitize`."""
    if names is None or names == "all":
        return names is not None
    return [name.strip() for name in names.split(",")]


def add_backend(command: Any) -> None:
    """Add the backend whose results are compared with NimbleHLO's."""
    text = "the backend to test: jax:PLATFORM, pjrt:LIBRARY, interpreter, iree or nimblehlo"
    command.add_argument("--against", required=True, metavar="BACKEND", help=text)


def inputs_of(executable: Executable, options: argparse.Namespace) -> list[Any]:
    """The inputs that the options name or generate.

    Raises:
        NimbleError: the program takes inputs, and the options name none.
        ExecutionError: an input cannot be read or generated.
    """
    types = executable.input_types
    if getattr(options, "args", None) is not None:
        from ..jax.interpreter import inputs_from_text

        return inputs_from_text(options.args)
    if options.random is not None and not options.input:
        return random_inputs(types, options.random)
    if types and not options.input:
        count = f"{len(types)} input{'s' if len(types) > 1 else ''}"
        raise NimbleError(f"@{options.entry} takes {count}: pass --input X.npy ..., or --random SEED")
    if options.names is None:
        return load_inputs(options.input, types, executable.input_names)
    names = names_from_file(options.names, executable.input_names)
    return load_inputs(options.input, types, names, must_have_names=True)


def names_from_file(file: str, own: Sequence[str | None]) -> list[str | None]:
    """The name of each argument's array, as a file says.

    Args:
        file: JSON: a list of names, null for an argument that has a .npy file; or an object from an
            argument's number or own name to the name of its array. Arguments that it leaves out keep their
            own names.
        own: the names that the program gives the arguments.

    Raises:
        ExecutionError: the file has another structure.
    """
    try:
        names = json.loads(Path(file).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExecutionError(f"{file} is not a file of names (.json): {error}") from error
    if isinstance(names, list) and len(names) == len(own) and all(map(_is_name, names)):
        return names
    keys = [{str(index), name} for index, name in enumerate(own)]
    if isinstance(names, dict) and all(map(_is_name, names.values())) and names.keys() <= set().union(*keys):
        return [
            next((names[key] for key in each if key in names), name)
            for each, name in zip(keys, own, strict=True)
        ]
    raise ExecutionError(
        f"{file} must have a list of {counted(len(own), 'name')}, one for each argument, or an object from "
        "arguments' numbers or own names to names"
    )


def _is_name(name: object) -> bool:
    return name is None or isinstance(name, str)
