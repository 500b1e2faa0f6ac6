"""Supplies properties of compiled programs that JAX reads and jaxlib lacks.

This module replaces functions of JAX that ask jaxlib. They find the program by the executable's fingerprint.

- Shardings of results: PJRT's extension for them came with jaxlib 0.9. Earlier versions read them from XLA's
  modules, which the plugin does not have.
- Whether a program calls Python functions. JAX knows it of programs for its own CPU client; where it does,
  `jax.effects_barrier` waits for a call, and raises what a function of `jax.pure_callback` has raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..program.frontend import jax_names as compatibility
from .lowering import PLATFORM
from .pjrt.compilation import LoadedProgram, loaded_program

Shardings = tuple[Sequence[Any], Sequence[Any]]


def install() -> None:
    """Replace these functions of JAX. Idempotent.

    Raises:
        UnsupportedError: the installed JAX lacks a name that this needs.
    """
    compatibility.wrap(compatibility.EXECUTABLE_SHARDINGS, _wrap_shardings)
    compatibility.wrap(compatibility.INITIALIZE_EXECUTION, _wrap_execution_init)


def _program_of(executable: Any) -> LoadedProgram | None:
    """The program of jaxlib's executable; None if it is not of this platform."""
    if executable.client.platform != PLATFORM:
        return None
    return loaded_program(executable.fingerprint)


def _wrap_shardings(shardings: Callable[[Any], Shardings]) -> Callable[[Any], Shardings]:
    def shardings_of(executable: Any) -> Shardings:
        arguments, results = shardings(executable)
        program = None if results else _program_of(executable)
        if program is None:
            return arguments, results
        return _decoded(program.argument_shardings), _decoded(program.result_shardings)

    return shardings_of


def _decoded(serialized: Sequence[bytes]) -> list[Any]:
    """Deserialize OpShardings to jaxlib's objects."""
    decoded = []
    for message in serialized:
        sharding = compatibility.OP_SHARDING.get()()
        sharding.ParseFromString(message)
        decoded.append(sharding)
    return decoded


def _wrap_execution_init(initialize: Callable[..., None]) -> Callable[..., None]:
    def init(execution: Any, executable: Any, *arguments: object, **keywords: object) -> None:
        initialize(execution, executable, *arguments, **keywords)
        program = _program_of(executable)
        if program is not None and program.calls_python:
            execution.has_host_callbacks = True

    return init
