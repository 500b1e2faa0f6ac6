"""The interface of a backend; Python functions and NimbleHLO itself as backends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...api import execute, load
from ...errors import NimbleError, raised_by_signal_handler
from ...options import Options
from ...program.frontend.parser import parse
from ...program.ir import Module
from ...program.ops.collectives.process_grid import Grid
from ...types import Array

Runnable = Callable[[Module, Sequence[Array]], Sequence[Any]]


class BackendError(NimbleError):
    """A backend rejected a program, or failed while it compiled or ran it."""


class BackendExit(BackendError):
    """A backend ended its process."""


class BackendTimeout(BackendError):
    """A backend took too long."""


@dataclass(frozen=True)
class Description:
    """What a backend reports of itself.

    Attributes:
        platform: the name of the platform.
        version: its version.
        library: the library that runs programs, such as ``"xla:cpu"``, which several backends may have; empty
            where it is not known.
    """

    platform: str = ""
    version: str = ""
    library: str = ""


class Backend(ABC):
    """Runs modules.

    Attributes:
        name: the text by which `backend` finds it, such as ``"jax:cpu"``.
        processor_seconds: the processor time that processes other than this one have spent on its programs.
    """

    name: str
    processor_seconds: float = 0.0

    @property
    def description(self) -> Description:
        """What the backend reports of itself.

        Raises:
            BackendError: the backend cannot be used.
        """
        return Description()

    @abstractmethod
    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """The results of the function ``@main``.

        Args:
            module: a verified program.
            inputs: an array for each argument, of its shape and dtype.

        Raises:
            BackendError: the backend rejects the program or fails.
        """

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        """The results of the function ``@main`` of a program that may break constraints of the specification.

        Args:
            text: the program in MLIR's generic form.
            inputs: an array for each argument, of its shape and dtype.

        Raises:
            BackendError: the backend rejects the program or fails.
            NimbleError: the text cannot be parsed.
        """
        return self.run(parse(text), inputs)

    def run_on_grid(
        self, text: str, inputs: Sequence[Sequence[Array]], grid: Grid
    ) -> Sequence[Sequence[Array]]:
        """The results of the function ``@main`` in each process of a grid.

        Args:
            text: the program in MLIR's generic form.
            inputs: for each process, in row-major order of the grid, an array for each argument.
            grid: the processes that run the program at the same time.

        Raises:
            BackendError: the backend has no such grid, rejects the program or fails.
            NimbleError: the text cannot be parsed.
        """
        raise BackendError(f"{self.name} runs a program as one process only")


class CallableBackend(Backend):
    """A Python function that is given the module and the inputs.

    Args:
        function: returns the results in order; what it raises becomes a `BackendError`.
        name: for messages.
    """

    def __init__(self, function: Runnable, name: str | None = None) -> None:
        self.name = name or str(getattr(function, "__name__", "callable"))
        self._function = function

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        try:
            return [np.asarray(result) for result in self._function(module, inputs)]
        except NimbleError:
            raise
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            raise BackendError(f"{self.name} raised {type(error).__name__}: {error}") from error


class NimbleBackend(Backend):
    """NimbleHLO itself, under options.

    Args:
        options: how programs run; None: the defaults.
    """

    name = "nimblehlo"

    def __init__(self, options: Options | None = None) -> None:
        self._options = options

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run_text`."""
        return self.run(load(text), inputs)

    def run_on_grid(
        self, text: str, inputs: Sequence[Sequence[Array]], grid: Grid
    ) -> Sequence[Sequence[Array]]:
        """See `Backend.run_on_grid`."""
        results = execute(load(text), inputs, options=self._options, grid=grid)
        return [[np.asarray(one) for one in of_process] for of_process in results]

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        return [np.asarray(result) for result in execute(module, inputs, options=self._options)]
