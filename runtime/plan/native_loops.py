"""Loops of scalar work and on small arrays: a `while` starts with its plan, and goes on as native code."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..ir import Value, captured_values
from ..ops.control import While
from ..ops.verify import views_under
from ..types import TensorType
from .background import BACKGROUND, Job
from .estimates import loading_seconds
from .tiering import QUICK_SECONDS

if TYPE_CHECKING:
    from ..kernels.native_loop import LoopFunction

PATIENCE_SECONDS, PATIENCE_AN_ARRAY = 0.02, 0.003
"""Time in a loop's plan after which a call waits for its native code, more for each array that a step makes:
about what compiling it takes."""
_FEW_ELEMENTS = 16
"""Arrays have more."""
_STEP_SECONDS = 1e-6
"""What an operation in a loop's plan takes."""
EARLY_SHARE = 0.05
"""The part of that time after which it is compiled beside the calls."""

FIRST_STEPS, FIRST_WORK = 1 << 12, 1 << 24
"""Most steps of the first native call of a loop, and products and bytes of these; later ones do more, up to
CALL_SECONDS."""
CALL_SECONDS = 0.02
"""About how long one native call lasts: between two of them a signal can stop the loop."""

MANY_STEPS = 2000
"""A loop that takes as many is compiled before its first step, if they are expected to take as long."""


def native_loop_problem(view: While) -> str | None:
    """Why a `while` does not become a native loop, or None where it does."""
    from ..codegen import native_loop

    operation = view.operation
    views = views_under(view.ordering)
    return native_loop.native_loop_problem(operation, captured_values(operation.regions), views)


def is_long(view: While) -> bool:
    """Whether a loop is known to take many steps."""
    from ..codegen.blocks import count_limit

    count = count_limit(view.operation) or 0
    if count < MANY_STEPS:
        return False
    operations = sum(1 for region in view.operation.regions for _ in region.walk())
    return count * operations * _STEP_SECONDS >= patience(view) / 2


def patience(view: While) -> float:
    """How long a loop's plan may take before a call waits for its native code."""
    made = [
        value.type
        for region in view.operation.regions
        for operation in region.walk()
        for value in operation.results
    ]
    arrays = sum(isinstance(type, TensorType) and type.size > _FEW_ELEMENTS for type in made)
    return PATIENCE_SECONDS + PATIENCE_AN_ARRAY * arrays


class NativeLoop:
    """The step of a `while` that has no `native_loop_problem`.

    It runs its regions' plans until that has taken as long as compiling does, over all calls, and goes on in
    native code from there; before, where that code is kept on the disk or was compiled beside the calls. Both
    give the same bits.

    Args:
        view: the operation.
        at_once: whether to be native from the first step on.

    Attributes:
        accepts_out: it takes `out`, for each carried value None or its array, which dies with the call.
    """

    accepts_out = True

    def __init__(self, view: While, at_once: bool) -> None:
        self.view = view
        self.captured = captured_values(view.operation.regions)
        self.unchanged = _unchanged(view)
        self.may_overwrite = tuple([(k, k) for k, unchanged in enumerate(self.unchanged) if not unchanged])
        self.patience = patience(view)
        self.seconds_left = 0.0 if at_once else self.patience
        self.seconds_to_look = QUICK_SECONDS + loading_seconds()
        self.native: LoopFunction | None = None
        self.job: Job | None = None

    def __call__(self, *operands: Any, cond: Any, body: Any, out: Any = None) -> tuple[Any, ...]:
        if self.native is not None:
            return self.native(operands, body.captures, body.count_steps, out)
        values, finished = self._by_plans(operands, cond, body)
        if finished:
            self._compile_early()
            return tuple(values)
        if self.job is not None:
            BACKGROUND.finish(self.job)
        native = self.native = self.native or self._compiled()
        return native(values, body.captures, body.count_steps)

    def _compile_early(self) -> None:
        """Begin to compile beside the calls, if the time has come."""
        if self.job is None and self.seconds_left < (1 - EARLY_SHARE) * self.patience:
            self.job = BACKGROUND.submit(Job(self._prepare, is_quick=True))

    def _prepare(self) -> None:
        self.native = self._compiled()

    def _by_plans(self, values: Sequence[Any], cond: Any, body: Any) -> tuple[Sequence[Any], bool]:
        """Steps by the regions' plans while time is left; the values, and whether the loop has ended."""
        while self.seconds_left > 0:
            budget = min(self.seconds_left, self.seconds_to_look)
            start = perf_counter()
            finished = False
            while not finished and perf_counter() - start < budget:
                finished = not cond(*values)[0]
                if not finished:
                    values = body(*values)
            seconds = perf_counter() - start
            self.seconds_left -= seconds
            self.seconds_to_look -= seconds
            if finished:
                return values, True
            if self.seconds_to_look <= 0:
                self.seconds_to_look = float("inf")
                if self._is_quick():
                    break
        return values, False

    @functools.cached_property
    def _key(self) -> str:
        """Of the native code: equal loops share it."""
        from ..codegen.description import operation_description
        from ..codegen.machine import key_of

        return key_of("loop\n" + operation_description(self.view.operation, self.captured))

    def _is_quick(self) -> bool:
        """Whether the native code need not be compiled."""
        from ..codegen import machine

        return machine.is_quick(self._key)

    def _compiled(self) -> LoopFunction:
        from ..codegen import machine, native_loop
        from ..kernels.native_loop import LoopFunction

        operation, views = self.view.operation, views_under(self.view.ordering)

        def text() -> str:
            return str(native_loop.native_loop(operation, self.captured, views))

        address = machine.function_address(self._key, native_loop.NAME, text)
        needed, work = native_loop.native_loop_needs(operation, views)
        steps = min(FIRST_STEPS, FIRST_WORK // (needed + work + 1) + 1)
        return LoopFunction(address, self.unchanged, needed, steps, CALL_SECONDS)


def _unchanged(view: While) -> tuple[bool, ...]:
    """For each carried value whether the body hands on what it got."""
    body = view.body.block
    handed_on: Sequence[Value] = body.terminator.operands
    return tuple([value is argument for value, argument in zip(handed_on, body.arguments, strict=True)])
