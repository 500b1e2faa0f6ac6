"""A program whose operations with an undefined order run under a schedule of their own."""

from __future__ import annotations

import copy
import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...api import Executable
from ...compiler.implementation import ImplementationKind
from ...compiler.plan import Implementation, Prepared, choose
from ...compiler.specialize.framework.operation_classes import has_no_effect
from ...execution.inputs import convert_input
from ...execution.program import Program
from ...options import Options
from ...program.ir import Function, Module, Operation
from ...program.ops.control.control import While
from ...program.ops.framework.declaration import Op
from ...program.ops.indexing.scatter import Scatter
from ...types import Array
from .grouped import GroupedComparisons, GroupedResult, GroupedScatter
from .open_orders import OrderOption, contains_open_order, max_updates, order_option_of, unexplored
from .schedules import Schedule

MAX_IMPLEMENTATIONS: Final = 4
"""Maximum number of implementations that a step caches: drawn schedules may take memory."""

Observer = Callable[["ExploredStep", tuple[Array, ...], Mapping[str, Any], tuple[Array, ...]], None]
"""Called after each call of an explored step with the step, its operands, regions and results."""


@dataclass(eq=False, repr=False)
class Run:
    """The configuration of one run of a program.

    Attributes:
        schedule: the schedule of the steps in `only`.
        only: the numbers of the steps that follow the schedule, while others follow the base; None: all do.
        observer: called after each explored step, or None.
        grouped_results: results of scatters that group their updates, by the identity of the array.
    """

    schedule: Schedule
    only: frozenset[int] | None = None
    observer: Observer | None = None
    grouped_results: dict[int, GroupedResult] = field(default_factory=dict)

    def schedule_of(self, step: ExploredStep) -> Schedule:
        return self.schedule if self.only is None or step.number in self.only else step.base


_CURRENT = threading.local()


@contextmanager
def running(run: Run) -> Iterator[None]:
    """Apply `run` to explored steps on this thread."""
    outer_run = getattr(_CURRENT, "run", None)
    _CURRENT.run = run
    try:
        yield
    finally:
        _CURRENT.run = outer_run


class ExploredStep:
    """The step of an operation with an open order.

    Attributes:
        number: its position among the explored steps of the program.
        view: the operation.
        order_option: the option that decides its order.
        base: the schedule of a baseline run.
    """

    def __init__(self, number: int, view: Op, order_option: OrderOption, options: Options) -> None:
        self.number = number
        self.view = view
        self.order_option: OrderOption = order_option
        self.base = Schedule(options.scatter_schedule, options.reduction_tree)
        self._options = options
        self._grouped = GroupedScatter.of(view, options.threads) if isinstance(view, Scatter) else None
        self._lock = threading.Lock()
        self._functions: OrderedDict[Any, tuple[Callable[..., Any], bool]] = OrderedDict()

    def __call__(self, *operands: Array, **regions: Any) -> tuple[Array, ...]:
        run: Run | None = getattr(_CURRENT, "run", None)
        schedule = self.base if run is None else run.schedule_of(self)
        results = self.results(schedule, operands, regions, run)
        if run is not None and run.observer is not None:
            run.observer(self, operands, regions, results)
        return results

    def results(
        self,
        schedule: Schedule,
        operands: tuple[Array, ...],
        regions: Mapping[str, Any],
        run: Run | None = None,
    ) -> tuple[Array, ...]:
        """The results of the operation under a schedule; a grouped result is recorded in the run."""
        grouped = self.grouped_result(schedule, operands, with_result=True)
        if grouped is not None:
            assert grouped.result is not None
            if run is not None:
                run.grouped_results[id(grouped.result)] = grouped
            return (grouped.result,)
        function, takes_regions = self._function(getattr(schedule, self.order_option))
        returned = function(*operands, **regions) if takes_regions else function(*operands)
        return returned if type(returned) is tuple else (returned,)

    def grouped_result(
        self, schedule: Schedule, operands: tuple[Array, ...], with_result: bool
    ) -> GroupedResult | None:
        """The result of a scatter that groups its updates under a schedule; None if it does not."""
        if self._grouped is None or not self.groups(schedule):
            return None
        return self._grouped(schedule.scatter_schedule, operands, with_result)

    def groups(self, schedule: Schedule) -> bool:
        """Whether the operation is a scatter that groups its updates under a schedule."""
        return self._grouped is not None and self._grouped.supports(schedule.scatter_schedule)

    def compare(self, baseline: GroupedResult, schedules: Sequence[Schedule]) -> GroupedComparisons:
        """The differences of a grouped scatter's results under some schedules from its result in the baseline
        run.
        """
        assert self._grouped is not None
        return self._grouped.compare(baseline, [schedule.scatter_schedule for schedule in schedules])

    def _function(self, option: Any) -> tuple[Callable[..., Any], bool]:
        """The function that runs the operation for a value of its option, and whether it takes regions."""
        with self._lock:
            cached = self._functions.get(option)
            if cached is None:
                options = dataclasses.replace(self._options, **{self.order_option: option})
                view = copy.copy(self.view)
                view.ordering = options.ordering
                implementation = choose(view, options)
                cached = implementation.function, implementation.takes_regions
                self._functions[option] = cached
                if len(self._functions) > MAX_IMPLEMENTATIONS:
                    self._functions.popitem(last=False)
            return cached


class ExploredExecutable(Executable):
    """An Executable whose operations with an undefined order follow the current `Run`.

    Attributes:
        steps: those operations, by number.
        unexplored: the number of operations, by name, whose order is open but has no option.
        max_updates: the largest number of updates of a scatter.
        only_returns: whether the program has no effects and only returns the result of one explored step.
    """

    _outlines_subgraphs = False

    def __init__(self, module: Module, entry: str, options: Options) -> None:
        self.steps: list[ExploredStep] = []
        self.unexplored: dict[str, int] = {}
        self.max_updates = 0
        self.only_returns = False
        super().__init__(module, entry, options)

    def converted(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Convert the inputs to arrays once, if their number is right."""
        if len(inputs) != len(self.input_types):
            return inputs
        return tuple(
            [
                convert_input(value, type, index) if isinstance(value, np.ndarray) else value
                for index, (value, type) in enumerate(zip(inputs, self.input_types, strict=True))
            ]
        )

    def run(self, run: Run, inputs: tuple[Any, ...]) -> list[Any]:
        with running(run):
            return self(*inputs)

    def _lowered(self, function: Function) -> Program:
        self.unexplored = unexplored(function)
        self.max_updates = max(self.max_updates, max_updates(function))
        # Reductions have their own steps for every tree except the default one.
        reference_options = dataclasses.replace(self.options, reduction_tree="left")
        program = Program(function, reference_options, self._choose)
        self.only_returns = len(self.steps) == 1 and _is_only_returned(function, self.steps[0].view.operation)
        return program

    def _choose(self, view: Op, options: Options) -> Implementation:
        options, view.ordering = self.options, self.options.ordering
        order_option = order_option_of(view)
        if order_option is not None:
            step = ExploredStep(len(self.steps), view, order_option, options)
            self.steps.append(step)
            return Prepared(step, ImplementationKind.EXPLORED, f"follows {order_option}")
        if isinstance(view, While) and contains_open_order(view.operation):
            return Prepared(view.reference, reason="holds an explored step")
        return choose(view, options)


def _is_only_returned(function: Function, operation: Operation) -> bool:
    """Whether a function only returns the one result of an operation, uses it once, and has no effects."""
    if function.body is None or len(operation.results) != 1:
        return False
    *operations, last = function.body.block.operations
    users = [user for user in function.body.walk() for operand in user.operands if operand.owner is operation]
    return users == [last] and all(map(has_no_effect, operations))
