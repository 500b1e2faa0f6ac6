"""Predicates that a program shows the fault: by a command, an error, or a backend with wrong results."""

from __future__ import annotations

import shlex
import subprocess
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ...api import compile
from ...errors import NimbleError
from ...execution.array_files import random_inputs
from ...options import Options
from ...program.ir import Module
from ...program.ops.framework.verify import verify
from ..backends import Backend, IsolatedBackend
from ..error_bounds import accuracy
from .search import FaultPredicate

PLACEHOLDER: Final = "{}"
"""The placeholder of the program's file in a command."""


def by_command(command: str, seconds: float = 60.0) -> FaultPredicate:
    """A predicate that holds if a command exits with status 0.

    Args:
        command: split as a shell does; the path of the program's file replaces ``{}``, or is added at the
            end.
        seconds: after which the command is ended, and the program counts as one without the fault.
    """
    words = shlex.split(command)
    if not any(PLACEHOLDER in word for word in words):
        words.append(PLACEHOLDER)

    def shows_fault(module: Module) -> bool:
        with TemporaryDirectory(prefix="nimblehlo-reduce-") as folder:
            file = Path(folder) / "program.mlir"
            file.write_text(str(module), encoding="utf-8")
            run = [word.replace(PLACEHOLDER, str(file)) for word in words]
            try:
                ended = subprocess.run(run, capture_output=True, timeout=seconds, check=False)
            except subprocess.TimeoutExpired:
                return False
            except OSError as error:
                raise NimbleError(f"the command {run[0]!r} cannot be run: {error}") from error
            return ended.returncode == 0

    return shows_fault


def by_backend(
    against: str | Backend, *, entry: str = "main", seed: int = 0, options: Options | None = None
) -> FaultPredicate:
    """A predicate that holds if a backend's results exceed their error bounds.

    A program that the backend rejects, or that NimbleHLO cannot run, does not show it.

    Args:
        against: name of the backend (`nimblehlo.checks.backends.backend`), which runs in processes of its
            own, one for each thread; or a backend, which runs in this process.
        entry: the function to call.
        seed: of the inputs.
        options: of NimbleHLO's runs.
    """

    local = threading.local()

    def shows_fault(module: Module) -> bool:
        if not hasattr(local, "backend"):
            local.backend = IsolatedBackend(against) if isinstance(against, str) else against
        try:
            inputs = random_inputs(module.functions[entry].type.inputs, seed)
            results = local.backend.run(module, inputs)
            return bool(accuracy(module, inputs, entry=entry, options=options).violations(results))
        except NimbleError:
            return False

    return shows_fault


def by_error(
    text: str, *, entry: str = "main", seed: int = 0, options: Options | None = None
) -> FaultPredicate:
    """A predicate that holds if an error is raised whose ``TypeName: message`` contains a text.

    The error may come from verifying, compiling or calling the program.

    Args:
        text: what the error says.
        entry: the function to call.
        seed: of the inputs.
        options: see `compile`.
    """

    def shows_fault(module: Module) -> bool:
        try:
            verify(module)
            executable = compile(module, entry=entry, options=options)
            executable(*random_inputs(executable.input_types, seed))
        except NimbleError as error:
            return text in f"{type(error).__name__}: {error}"
        return False

    return shows_fault
