"""Loops of scalar work: a `while` starts with its plan, and goes on as native code where it takes long."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from ..ir import Value, captured_values
from ..ops.control import While
from ..ops.verify import view_of

PATIENCE_SECONDS = 0.02
"""Time in a loop's plan after which it is compiled: about what compiling it takes."""

FIRST_STEPS = 1 << 12
MOST_STEPS = 1 << 40
CALL_SECONDS = 0.02
"""About how long one native call lasts: between two of them a signal can stop the loop."""

MANY_STEPS = 2000
"""A loop that takes as many is compiled before its first step."""

Array = np.ndarray[Any, Any]


def native_loop_problem(view: While) -> str | None:
    """Why a `while` does not become a native loop, or None where it does."""
    from ..codegen import native_loop

    operation = view.operation
    return native_loop.native_loop_problem(operation, captured_values(operation.regions), view_of)


def is_long(view: While) -> bool:
    """Whether a loop is known to take many steps."""
    from ..codegen.blocks import count_limit

    return (count_limit(view.operation) or 0) >= MANY_STEPS


class NativeLoop:
    """The step of a `while` that has no `native_loop_problem`.

    It runs its regions' plans until that has taken PATIENCE_SECONDS, over all calls, and goes on in native
    code from there. Both give the same bits.

    Args:
        view: the operation.
        at_once: whether to be native from the first step on.
    """

    def __init__(self, view: While, at_once: bool) -> None:
        self.view = view
        self.seconds_left = 0.0 if at_once else PATIENCE_SECONDS
        self.function: Callable[[int, int, int], int] | None = None
        self.unchanged = _unchanged(view)

    def __call__(self, *operands: Any, cond: Any, body: Any) -> tuple[Any, ...]:
        values: Sequence[Any] = operands
        if self.function is None:
            values, finished = self._by_plans(values, cond, body)
            if finished:
                return tuple(values)
            self.function = self._compiled()
        return self._natively(self.function, values, body)

    def _by_plans(self, values: Sequence[Any], cond: Any, body: Any) -> tuple[Sequence[Any], bool]:
        """Steps by the regions' plans while time is left; the values, and whether the loop has ended."""
        start = perf_counter()
        finished = False
        while perf_counter() - start < self.seconds_left:
            if not cond(*values)[0]:
                finished = True
                break
            values = body(*values)
        self.seconds_left -= perf_counter() - start
        return values, finished

    def _compiled(self) -> Callable[[int, int, int], int]:
        from ..codegen import machine, native_loop

        operation = self.view.operation
        text = str(native_loop.native_loop(operation, captured_values(operation.regions), view_of))
        address = machine.function_address(machine.key_of(text), native_loop.NAME, lambda: text)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        return prototype(address)

    def _natively(
        self, function: Callable[[int, int, int], int], values: Sequence[Any], body: Any
    ) -> tuple[Array, ...]:
        state = tuple(
            [
                np.ascontiguousarray(value).reshape(value.shape) if unchanged else np.array(value, order="C")
                for value, unchanged in zip(values, self.unchanged, strict=True)
            ]
        )
        outside = [np.ascontiguousarray(value) for value in body.captures]
        state_addresses, outside_addresses = _addresses(state), _addresses(outside)
        steps = FIRST_STEPS
        while True:
            start = perf_counter()
            if not function(state_addresses.ctypes.data, outside_addresses.ctypes.data, steps):
                return state
            body.count_steps(steps)
            if perf_counter() - start < CALL_SECONDS / 2:
                steps = min(2 * steps, MOST_STEPS)


def _unchanged(view: While) -> tuple[bool, ...]:
    """For each carried value whether the body hands on what it got."""
    body = view.body.block
    handed_on: Sequence[Value] = body.terminator.operands
    return tuple([value is argument for value, argument in zip(handed_on, body.arguments, strict=True)])


def _addresses(arrays: Sequence[Array]) -> Array:
    """Where the arrays' memory begins."""
    return np.array([array.__array_interface__["data"][0] for array in arrays], np.intp)
