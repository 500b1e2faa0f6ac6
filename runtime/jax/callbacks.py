"""Python functions that JAX's programs call: `jax.pure_callback`, `io_callback`, `jax.debug`,
`buffer_callback`.

A program has an index for each function. JAX numbers the functions of each module, and passes them only to
its CPU client. Here an index is unique in the process, and a table maps it to the function until the program
is compiled.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ..program.ir import Module
from ..program.ops.custom_calls.host_functions import attach_functions


class HostCallback:
    """A Python function, which the lowered modules that call it keep alive.

    The table holds this object, not the function, by a weak reference: code elsewhere may keep the function.

    Attributes:
        function: takes and returns arrays, and None for tokens.
    """

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function


_TABLE: weakref.WeakValueDictionary[int, HostCallback] = weakref.WeakValueDictionary()
_INDICES: Iterator[int] = itertools.count()


class ModuleCallbacks:
    """A list of the host callbacks of a module that JAX lowers.

    A lowering rule appends a function and uses its position as the index, in one thread.

    Args:
        keep: makes the lowered module own a callback.
    """

    def __init__(self, keep: Callable[[HostCallback], None]) -> None:
        self._keep = keep
        self._last = -1

    def append(self, function: Callable[..., Any]) -> None:
        """Add a function under a new index."""
        callback = HostCallback(function)
        self._last = next(_INDICES)
        _TABLE[self._last] = callback
        self._keep(callback)

    def __len__(self) -> int:
        """One more than the index of the last function: JAX takes ``len(callbacks) - 1`` for the index of the
        function that it has appended.
        """
        return self._last + 1


def function_of(index: int) -> Callable[..., Any] | None:
    """The function with an index; None once no program calls it any more."""
    callback = _TABLE.get(index)
    return None if callback is None else callback.function


def attach(module: Module) -> bool:
    """Store the functions that a program calls in its operations, so that the program owns them.

    This comes before verification, which rejects calls without a function.

    Returns:
        Whether it calls any: such a program means nothing to another process.
    """
    return attach_functions(module, function_of) > 0
