"""Shardings of results of programs for several devices, for a jaxlib that does not ask the plugin for them.

PJRT's extension for shardings came with jaxlib 0.9. An earlier one reads them from XLA's modules, which the
plugin has none of: the function here stands in for the one of JAX that asks jaxlib.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import compatibility
from .lowering import PLATFORM
from .pjrt.program import loaded_program

Shardings = tuple[Sequence[Any], Sequence[Any]]


def install() -> None:
    """Have JAX know the shardings of results. Calling it again changes nothing.

    Raises:
        UnsupportedError: the installed JAX lacks a name that this needs.
    """
    compatibility.wrap(compatibility.EXECUTABLE_SHARDINGS, _asking_the_program)


def _asking_the_program(shardings: Callable[[Any], Shardings]) -> Callable[[Any], Shardings]:
    def shardings_of(executable: Any) -> Shardings:
        arguments, results = shardings(executable)
        if results or executable.client.platform != PLATFORM:
            return arguments, results
        program = loaded_program(executable.fingerprint)
        if program is None:
            return arguments, results
        return _decoded(program.argument_shardings), _decoded(program.result_shardings)

    return shardings_of


def _decoded(serialized: Sequence[bytes]) -> list[Any]:
    """jaxlib's objects of serialized OpShardings."""
    decoded = []
    for message in serialized:
        sharding = compatibility.OP_SHARDING.get()()
        sharding.ParseFromString(message)
        decoded.append(sharding)
    return decoded
