"""``nimblehlo convert``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from ..api import load
from ..errors import UnsupportedError
from ..program.frontend.bytecode import write_artifact, write_bytecode
from ..program.ir import Module
from ..program.ir.printer import print_module
from .shared import source_of

_FORMATS: Final = {".mlir": "text", ".mlirbc": "bytecode"}
"""The formats of files by their suffixes; files with other suffixes are artifacts."""


def add(commands: Any) -> None:
    """Add the command's parser to those of the command line."""
    command = commands.add_parser(
        "convert", help="convert a program to text, MLIR bytecode or a portable artifact of any version"
    )
    command.add_argument(
        "file", metavar="IN", help="text, MLIR bytecode or a portable artifact; - reads standard input"
    )
    command.add_argument("output", metavar="OUT", help="the file to write; - writes to standard output")
    command.add_argument(
        "--format",
        choices=("text", "bytecode", "artifact"),
        help="default: text for .mlir and standard output, MLIR bytecode of the stablehlo dialect for "
        ".mlirbc, a portable artifact for other files and with --target",
    )
    command.add_argument(
        "--target",
        metavar="VERSION",
        help="the version of StableHLO that reads the artifact, such as 1.9.0 (default: the latest)",
    )
    command.add_argument("--locations", action="store_true", help="print the location of each operation")
    command.set_defaults(command=_convert)


def _convert(options: argparse.Namespace) -> int:
    content = _converted(load(source_of(options), verify=False), options)
    if options.output == "-":
        sys.stdout.buffer.write(content)
    else:
        Path(options.output).write_bytes(content)
    return 0


def _converted(module: Module, options: argparse.Namespace) -> bytes:
    """The program in the format that the options name."""
    file_format = options.format or _default_format(options)
    if options.target is not None and file_format != "artifact":
        raise UnsupportedError(f"--target is for portable artifacts, but the format is {file_format}")
    if options.locations and file_format != "text":
        raise UnsupportedError(f"--locations is for text, but the format is {file_format}")
    if file_format == "artifact":
        return write_artifact(module, options.target)
    if file_format == "bytecode":
        return write_bytecode(module)
    return print_module(module, options.locations).encode("utf-8", "surrogateescape")


def _default_format(options: argparse.Namespace) -> str:
    if options.target is not None:
        return "artifact"
    return "text" if options.output == "-" else _FORMATS.get(Path(options.output).suffix, "artifact")
