"""Loops of scalar work and on small arrays: a `while` starts with its plan, and goes on as native code."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...ir import Operation, Value, captured_values
from ...ir.record import Record
from ...ops.control.control import While
from ...ops.framework.verify import views_under
from ...specialize.outlining.loop_sharding import Carried, LoopPart, loop_part
from ...types import TensorType
from ..tiering.background import BACKGROUND, Job
from ..tiering.cost_model import loading_seconds
from ..tiering.tiers import QUICK_SECONDS

if TYPE_CHECKING:
    from ...codegen.coverage import ViewOf
    from ...kernels.launch.native_loop import LoopFunction, Parts

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

_LEAST_PART_WORK = 1 << 15
"""What a step of a part must take at least, in products."""
_MOST_REPEATED = 1.25
"""How many times the loop's work all parts may have together: what all rows share is computed by each."""
_PRODUCTS_A_BYTE = 2
"""What making a byte of an array takes, in products."""
_PRODUCT_SECONDS = 1e-11
"""What a product takes."""

MANY_STEPS = 2000
"""A loop that takes as many is compiled before its first step, if they are expected to take as long."""


class NativeForm(Record):
    """What becomes native code of a `while`: the whole, or one of the parts into which it is cut.

    Attributes:
        operation: the loop that is generated.
        part: where it is one part, that.
    """

    operation: Operation
    part: LoopPart | None = None

    @property
    def count(self) -> int:
        """How many parts there are."""
        return 1 if self.part is None else self.part.count

    @property
    def captured(self) -> list[Value]:
        """The values that its regions use from outside: that of a part's first row is the last one."""
        first = None if self.part is None else self.part.first
        values = [value for value in captured_values(self.operation.regions) if value is not first]
        return values if first is None else [*values, first]


def native_form(view: While, threads: int | None) -> NativeForm | str:
    """What becomes native code of a `while`, or why nothing does.

    Args:
        threads: most threads that it may use; None: all.
    """
    from ...codegen import native_loop
    from ...codegen.arrays.control import MOST_WORK
    from ...kernels.launch.threads import way_of_running

    views, whole = views_under(view.ordering), NativeForm(view.operation)
    count = way_of_running(threads)[1]
    form = _cut(whole, views, count, MOST_WORK) if count > 1 else None
    if form is not None:
        return form
    most_work = MOST_WORK if count == 1 else None
    return native_loop.native_loop_problem(whole.operation, whole.captured, views, most_work) or whole


def _cut(whole: NativeForm, views: ViewOf, most_parts: int, most_work: int) -> NativeForm | None:
    """One of the parts into which a `while` is cut, as many as its work is worth; None where it is not cut.

    Args:
        most_parts: how many there may be.
        most_work: products that a step of a part may multiply.
    """
    from ...codegen import native_loop

    if not native_loop.is_plain_loop(whole.operation):
        return None
    work = _step_work(whole, views)
    part = loop_part(whole.operation, min(most_parts, work // _LEAST_PART_WORK))
    if part is None or not _keeps_windows(part):
        return None
    form = NativeForm(part.operation, part)
    is_shared = part.count * _step_work(form, views) <= _MOST_REPEATED * work
    problem = native_loop.native_loop_problem(form.operation, form.captured, views, most_work)
    return form if is_shared and problem is None else None


def _keeps_windows(part: LoopPart) -> bool:
    """Whether a part leaves the other parts' windows alone: it copies no array of which they update some."""
    from ...codegen import native_loop

    pairs = zip(part.carried, part.operation.operands, strict=True)
    shared = [operand.type for kind, operand in pairs if kind is Carried.WINDOWS]
    return all(native_loop.leaves_in_place(part.operation, type) for type in shared)


def _step_work(form: NativeForm, views: ViewOf) -> int:
    """What a step takes, about, in products."""
    from ...codegen import native_loop

    needed, products = native_loop.native_loop_needs(form.operation, views)
    return products + _PRODUCTS_A_BYTE * needed


def is_long(view: While) -> bool:
    """Whether a loop is known to take many steps."""
    from ...codegen.blocks import count_limit

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
        form: what becomes native code of it.
        threads: most threads that it may use; None: all.
        at_once: whether to be native from the first step on.

    Attributes:
        accepts_out: it takes `out`, for each carried value None or its array, which dies with the call.
    """

    accepts_out = True

    def __init__(self, view: While, form: NativeForm, threads: int | None, at_once: bool) -> None:
        self.view, self.form, self.threads = view, form, threads
        self.taken = _taken(view, form)
        self.unchanged = _unchanged(view)
        self.may_overwrite = tuple([(k, k) for k, unchanged in enumerate(self.unchanged) if not unchanged])
        self.patience = patience(view)
        self.seconds_left = 0.0 if at_once else self.patience
        self.seconds_to_look = QUICK_SECONDS + loading_seconds()
        self.native: LoopFunction | None = None
        self.job: Job | None = None

    def __call__(self, *operands: Any, cond: Any, body: Any, out: Any = None) -> tuple[Any, ...]:
        if self.native is not None:
            return self.native(operands, self._captures(body.captures), body.count_steps, out)
        values, finished = self._by_plans(operands, cond, body)
        if finished:
            self._compile_early()
            return tuple(values)
        if self.job is not None:
            BACKGROUND.finish(self.job)
        native = self.native = self.native or self._compiled()
        return native(values, self._captures(body.captures), body.count_steps)

    def _captures(self, captures: Sequence[Any]) -> Sequence[Any]:
        """What the native code uses of the captured values, in its order."""
        return captures if self.taken is None else [captures[index] for index in self.taken]

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
        from ...codegen.description import operation_description
        from ...codegen.llvm.machine import key_of

        return key_of("loop\n" + operation_description(self.form.operation, self.form.captured))

    def _is_quick(self) -> bool:
        """Whether the native code need not be compiled."""
        from ...codegen.llvm import machine

        return machine.is_quick(self._key)

    def _compiled(self) -> LoopFunction:
        from ...codegen import native_loop
        from ...codegen.blocks import count_limit
        from ...codegen.llvm import machine
        from ...kernels.launch.native_loop import LoopFunction

        form, views = self.form, views_under(self.view.ordering)

        def text() -> str:
            return str(native_loop.native_loop(form.operation, form.captured, views))

        address = machine.function_address(self._key, native_loop.NAME, text)
        needed, work = native_loop.native_loop_needs(form.operation, views)
        steps = min(FIRST_STEPS, FIRST_WORK // (needed + work + 1) + 1)
        steps = max(1, min(steps, count_limit(self.view.operation) or steps))
        return LoopFunction(address, self.unchanged, needed, steps, CALL_SECONDS, self._parts(views))

    def _parts(self, views: ViewOf) -> Parts | None:
        """How the memory of parts lies, where the loop is cut into some."""
        from ...kernels.launch.native_loop import Parts

        form, part = self.form, self.form.part
        if part is None:
            return None
        seconds = form.count * _step_work(form, views) * _PRODUCT_SECONDS
        distances = [
            0 if unchanged else _distance(kind, operand.type)
            for kind, operand, unchanged in zip(
                part.carried, part.operation.operands, self.unchanged, strict=True
            )
        ]
        return Parts(form.count, part.rows, tuple(distances), seconds, self.threads)


def _distance(kind: Carried, type: Any) -> int | None:
    """The bytes between the memory of parts, whose carried value has that type; None: each has its own."""
    if kind is Carried.ROWS:
        return int(type.size * type.dtype.itemsize)
    return 0 if kind is Carried.WINDOWS else None


def _taken(view: While, form: NativeForm) -> list[int] | None:
    """Which of the values that a loop captures a part's native code uses; None where it is the whole loop."""
    if form.part is None:
        return None
    captured = captured_values(view.operation.regions)
    return [captured.index(value) for value in form.captured[:-1]]


def _unchanged(view: While) -> tuple[bool, ...]:
    """For each carried value whether the body hands on what it got."""
    body = view.body.block
    handed_on: Sequence[Value] = body.terminator.operands
    return tuple([value is argument for value, argument in zip(handed_on, body.arguments, strict=True)])
