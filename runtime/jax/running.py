"""Compiles programs that JAX passes, and runs them under their settings.

Findings of the sanitizer and explorations go to the contexts of the thread that calls a program (`findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..api import Executable
from ..api import compile as compile_module
from ..execution.stored_programs import ProgramFile
from ..program.frontend.loader import load_ir
from ..program.ir import Module
from ..program.loading import GivenProgram
from ..program.ops.collectives.process_grid import Grid
from ..program.ops.framework.verify import verify
from . import callbacks, findings
from .ffi import registry
from .settings import Settings


def load_program(
    program: object, prepare: Callable[[Module], None] | None = None
) -> tuple[Module, bool]:
    """Parse and verify a program that JAX has lowered for the platform.

    Args:
        program: what `nimblehlo.load` takes, such as the bytes of a portable artifact.
        prepare: changes the module before it is verified.

    Returns:
        The module, and whether it calls Python functions of this process: it means nothing to another one.

    Raises:
        NimbleError: see `nimblehlo.load`; a Python function that it calls is not there any more.
    """
    module = load_ir(program)
    module.producer = "JAX"  # bytes do not tell; what dropped updates of a scatter mean depends on it
    if prepare is not None:
        prepare(module)
    calls_python = callbacks.attach(module)
    registry.attach(module)
    verify(module)
    return module, calls_python


class JaxProgram:
    """A program of JAX that is ready to run. Many threads may call it at the same time.

    Args:
        given: what gives the module that `load_program` returned.
        settings: how it is compiled and run.
        donate: numbers of the inputs that a call may consume.
        grid: the processes that run it; None: one.
        file: where a program for one process may be stored.

    Attributes:
        executable: runs it; JAX's types, memory and explanations are those of this one.
        settings: those that it was compiled with.
        name: that of JAX's module.

    Raises:
        NimbleError: see `nimblehlo.compile`.
    """

    def __init__(
        self,
        given: GivenProgram,
        settings: Settings,
        donate: Sequence[int] = (),
        grid: Grid | None = None,
        file: ProgramFile | None = None,
    ) -> None:
        self.settings = settings
        stored = file.stored if file else None
        self.name = (stored.module_name if stored else given.module.name) or "main"
        # An exploration reads the inputs again.
        options = replace(settings.options, donate=() if settings.explore else tuple(donate))
        self.executable: Executable
        if file is None:
            self.executable = compile_module(given.module, options=options, grid=grid)
        else:
            self.executable = Executable(given, "main", options, file=file)
        self._given = given
        if settings.options.sanitize:
            observers = getattr(self.executable.findings, "observers", None)
            assert observers is not None
            observers.append(findings.report)

    def __call__(self, *inputs: Any) -> list[Any]:
        """Run it.

        Raises:
            NimbleError: see `Executable`; an UndefinedBehaviorError also for what the sanitizer finds.
        """
        results = self.executable(*inputs)
        if self.settings.explore:
            self._explore(inputs)
        return results

    def _explore(self, inputs: Sequence[object]) -> None:
        from ..checks.explorer import explore

        options = replace(self.settings.options, sanitize=False)
        exploration = explore(
            self._given.module,
            inputs,
            schedules=self.settings.explore,
            seed=self.settings.explore_seed,
            options=options,
        )
        findings.report_exploration(self.name, exploration)
