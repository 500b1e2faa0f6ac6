"""Convert MLIR bytecode and VHLO portable artifacts to text with jaxlib.

jaxlib runs in a process of its own, because malformed bytecode can abort the process that reads it.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Final

from ..errors import ParseError, UnsupportedError
from . import jaxlib_modules

_MAX_WAIT_SECONDS: Final = 30.0
"""Timeout in seconds; each 2 MB of bytecode add one second."""
_READER_ARGUMENTS: Final = ("-P", jaxlib_modules.__file__)
"""Arguments of the interpreter; ``-P`` keeps the modules beside the script out of the import path."""


def bytecode_to_text(content: bytes, name: str) -> str:
    """The text of MLIR bytecode or of a VHLO portable artifact.

    Args:
        content: the bytecode.
        name: the name of the bytecode in errors.

    Raises:
        ParseError: the bytecode is malformed, or reading it exceeds the timeout.
        UnsupportedError: jaxlib is not installed, or the artifact's version is later than jaxlib's.
    """
    import subprocess

    if not sys.executable:
        raise UnsupportedError("reading bytecode needs a Python interpreter that can be started")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        process = subprocess.run(
            [sys.executable, *_READER_ARGUMENTS],
            input=content,
            capture_output=True,
            env=environment,
            timeout=_MAX_WAIT_SECONDS + len(content) / 2e6,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ParseError(f"{name}: reading the bytecode takes too long") from None
    if process.returncode == jaxlib_modules.NOT_INSTALLED:
        reason = _message(process.stderr)
        raise UnsupportedError(f"reading bytecode needs jaxlib ({reason}): install nimblehlo[jax]")
    if process.returncode:
        _require_reported_version(content, process.stderr, name)
        raise ParseError(f"{name}: {_reason(process.returncode, process.stderr)}")
    return process.stdout.decode("utf-8", "surrogateescape")


def _require_reported_version(content: bytes, diagnostics: bytes, name: str) -> None:
    """Check the artifact's version against jaxlib's, which the reader's diagnostics contain."""
    reported = re.search(rb"^reads (\d+\.\d+\.\d+)$", diagnostics, re.MULTILINE)
    if reported:
        require_version(content, reported[1].decode(), name)


def require_version(content: bytes, limit: str, name: str) -> None:
    """Raise if jaxlib could not read a portable artifact because of its version.

    Args:
        content: the bytecode.
        limit: the latest version of StableHLO that jaxlib reads, such as ``"1.16.1"``.
        name: the name of the bytecode in errors.

    Raises:
        UnsupportedError: the bytecode is a portable artifact of a later version.
    """
    match = re.search(jaxlib_modules.PORTABLE + rb"(\d+\.\d+\.\d+)", content[:64])
    version = match[1].decode() if match else limit
    if tuple(map(int, version.split("."))) > tuple(map(int, limit.split("."))):
        raise UnsupportedError(
            f"{name}: the artifact is of StableHLO {version}, but jaxlib reads versions up to {limit}: "
            "install a newer jaxlib"
        )


def _reason(status: int, diagnostics: bytes) -> str:
    """The error text for bytecode that jaxlib cannot read."""
    message = _message(diagnostics)
    if status == jaxlib_modules.MALFORMED:
        return f"malformed bytecode: {message}" if message else "malformed bytecode"
    return f"malformed bytecode: jaxlib ended with status {status}{': ' if message else ''}{message}"


def _message(diagnostics: bytes) -> str:
    """The first error in the reader's diagnostics; empty if there is none."""
    lines = diagnostics.decode("utf-8", "replace").strip().splitlines()
    return next((line.partition("error: ")[2] for line in lines if "error: " in line), "")
