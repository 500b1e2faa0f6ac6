"""State that operations with effects share during one call of a program: the numbers of draws and probes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from ....options import Options
from .declaration import Op

AnyOp = TypeVar("AnyOp", bound=type[Op])


class CallState:
    """The state of one call.

    Attributes:
        options: those that the program was compiled with.
        draws: how many draws of random numbers there were.
        probes: the name and the file of each probe that was written, in order.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.draws = 0
        self.probes: list[tuple[str, str]] = []


_CURRENT: Final[ContextVar[CallState | None]] = ContextVar("call_state", default=None)
_USERS: Final[set[str]] = set()


def uses_call_state(declaration: AnyOp) -> AnyOp:
    """Declare that an operation's `reference` uses `call_state`."""
    _USERS.add(declaration.name)
    return declaration


def needs_call_state(operation: str) -> bool:
    """Whether the operation of that name uses `call_state`."""
    return operation in _USERS


def call_state() -> CallState:
    """The state of the present call; a new one outside of any call."""
    return _CURRENT.get() or CallState(Options())


@contextmanager
def new_call(options: Options) -> Iterator[None]:
    """A new state, for as long as the context lasts."""
    token = _CURRENT.set(CallState(options))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def begin_process() -> None:
    """Give the process of a grid in the present context a separate state.

    It counts its own draws, while the probes of all processes are numbered together.
    """
    shared = _CURRENT.get()
    if shared is not None:
        own = CallState(shared.options)
        own.probes = shared.probes
        _CURRENT.set(own)
