"""MLIR bytecode and VHLO portable artifacts to text, through jaxlib.

jaxlib runs in a process of its own: bytecode that is broken can end the process that reads it.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Final

from ..errors import ParseError, UnsupportedError
from . import jaxlib_modules

_MAX_WAIT_SECONDS: Final = 30.0
"""Timeout in seconds; one more second is added for each 2 MB of bytecode."""
_NOT_INSTALLED: Final = 3
_MALFORMED: Final = 4

# Text goes out as bytes, without a check of the module: what it holds is checked when it is parsed.
_READER: Final = f"""
import runpy, sys
jaxlib_modules = runpy.run_path({jaxlib_modules.__file__!r})
content = sys.stdin.buffer.read()
try:
    module = jaxlib_modules["read_module"](content)
except ImportError:
    sys.exit({_NOT_INSTALLED})
except ValueError:
    print("reads " + jaxlib_modules["latest_version"](), file=sys.stderr)
    sys.exit({_MALFORMED})
text = module.operation.get_asm(
    binary=True, enable_debug_info=True, print_generic_op_form=True, assume_verified=True
)
sys.stdout.buffer.write(text)
"""


def bytecode_to_text(content: bytes, name: str) -> str:
    """The text of MLIR bytecode or of a VHLO portable artifact.

    Args:
        content: the bytecode.
        name: what errors call it.

    Raises:
        ParseError: the bytecode is malformed.
        UnsupportedError: jaxlib is not installed, or the artifact's version is later than jaxlib's.
    """
    import subprocess

    if not sys.executable:
        raise UnsupportedError("reading bytecode needs a Python interpreter that can be started")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        finished = subprocess.run(
            [sys.executable, "-c", _READER],
            input=content,
            capture_output=True,
            env=environment,
            timeout=_MAX_WAIT_SECONDS + len(content) / 2e6,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ParseError(f"{name}: reading the bytecode takes too long") from None
    if finished.returncode == _NOT_INSTALLED:
        raise UnsupportedError("reading bytecode needs jaxlib: install nimblehlo[jax]")
    if finished.returncode:
        _require_version(content, finished.stderr, name)
        raise ParseError(f"{name}: {_reason(finished.returncode, finished.stderr)}")
    return finished.stdout.decode("utf-8", "surrogateescape")


def _require_version(content: bytes, diagnostics: bytes, name: str) -> None:
    """Check the version of what the reader could not read, by the version that the reader prints."""
    read = re.search(rb"^reads (\d+\.\d+\.\d+)$", diagnostics, re.MULTILINE)
    if read:
        require_version(content, read[1].decode(), name)


def require_version(content: bytes, limit: str, name: str) -> None:
    """Check the version of what jaxlib could not read.

    Args:
        content: the bytecode.
        limit: the latest version of StableHLO that jaxlib reads, such as ``"1.16.1"``.
        name: what errors call the bytecode.

    Raises:
        UnsupportedError: it is a portable artifact of a later version.
    """
    written = re.search(jaxlib_modules.PORTABLE + rb"(\d+\.\d+\.\d+)", content[:64])
    version = written[1].decode() if written else limit
    if tuple(map(int, version.split("."))) > tuple(map(int, limit.split("."))):
        raise UnsupportedError(
            f"{name}: the artifact is of StableHLO {version}, but jaxlib reads versions up to {limit}: "
            "install a newer jaxlib"
        )


def _reason(status: int, diagnostics: bytes) -> str:
    """The error text for bytecode that jaxlib cannot read."""
    lines = diagnostics.decode("utf-8", "replace").strip().splitlines()
    message = next((line.partition("error: ")[2] for line in lines if "error: " in line), "")
    if status == _MALFORMED:
        return f"malformed bytecode: {message}" if message else "malformed bytecode"
    return f"malformed bytecode: jaxlib ended with status {status}{': ' if message else ''}{message}"
