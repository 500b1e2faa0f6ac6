"""Functions that users register for custom calls and composites."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ....errors import NimbleError, counted, raised_by_signal_handler
from ....types import BufferType, TensorType, Type
from ..framework.declaration import Op
from ..framework.rules import shapes_agree

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Registered functions by name. Threads may use it concurrently; the last registration counts.

    Attributes:
        changes: how often any registry has changed: programs compiled before the last change may be stale.
    """

    changes: ClassVar[int] = 0
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def register(self, name: str, entry: Entry) -> None:
        """Add an entry, which replaces an earlier one of the same name."""
        with self._lock:
            self._entries[name] = entry
            Registry.changes += 1

    def unregister(self, name: str) -> None:
        """Remove an entry; KeyError if there is none."""
        with self._lock:
            del self._entries[name]
            Registry.changes += 1

    def find(self, name: str) -> Entry | None:
        """The entry of that name, or None."""
        with self._lock:
            return self._entries.get(name)


def call_user(
    view: Op,
    name: str,
    function: Callable[..., object],
    inputs: Sequence[object],
    options: Mapping[str, object],
    types: Sequence[Type],
) -> tuple[Any, ...]:
    """Call a registered function and check its results.

    Args:
        view: the operation that it stands for, for messages.
        name: under which it is registered.
        function: returns a result, or a tuple of results; None if there are none.
        inputs, options: what it is called with.
        types: of the results.

    Raises:
        ExecutionError: the function raises, or what it returns has other types.
    """
    try:
        returned = function(*inputs, **options)
    except (NimbleError, MemoryError):
        raise
    except Exception as error:
        if raised_by_signal_handler(error):
            raise
        message = f"the function of @{name} raised {type(error).__name__}: {error}"
        raise view.execution_error(message) from error
    values = returned if type(returned) is tuple else () if returned is None else (returned,)
    if len(values) != len(types):
        numbers = f"{counted(len(values), 'value')} for {counted(len(types), 'result')}"
        raise view.execution_error(f"@{name} returned {numbers}")
    return tuple([_checked(view, name, value, type) for value, type in zip(values, types, strict=True)])


def _checked(view: Op, name: str, value: object, type: Type) -> Any:
    """A returned value as an array of the declared type."""
    if not isinstance(type, (TensorType, BufferType)):
        return value
    from .buffers import tensor_of

    array = np.asarray(value)
    if array.dtype == tensor_of(type).dtype and shapes_agree(array.shape, type.shape):
        return array
    raise view.execution_error(f"@{name} returned {array.dtype} of shape {array.shape} for {type}")
