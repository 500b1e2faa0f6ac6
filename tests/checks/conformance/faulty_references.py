"""A fault in a reference, and a backend that runs references with it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np

from nimblehlo import Options
from nimblehlo.api import execute, load
from nimblehlo.checks.backends import Backend, BackendError
from nimblehlo.program.ir import Module
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.collectives.process_grid import ONE_PROCESS, Grid

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]
"""A reference: takes the view, operands and regions; or a function that references call."""
Wrap = Callable[[Call], Call]

_TIMEOUT: Final = 20.0
"""Seconds of a program: a fault may make a loop endless."""


class Fault(NamedTuple):
    """A fault in the reference of an operation.

    Attributes:
        operation: its name.
        kind: what is wrong.
        wrap: the wrong function, from the right one.
        function: the name of the function that is wrong.
        owner: the class or module that has it; None: the operation's declaration.
    """

    operation: str
    kind: str
    wrap: Wrap
    function: str = "reference"
    owner: Any = None


class FaultyReferences(Backend):
    """NimbleHLO's references, of which one has a fault."""

    def __init__(self, fault: Fault) -> None:
        self.name = f"{fault.operation} with {fault.kind}"
        self.calls = 0
        self._fault = fault._replace(wrap=lambda right: self._counted(fault.wrap(right)))

    def _counted(self, wrong: Call) -> Call:
        """The wrong function, whose calls are counted: an operation may be replaced before it runs."""

        def counted(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            return wrong(*arguments, **named)

        return counted

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        (results,) = self._run(module, [inputs], ONE_PROCESS)
        return results

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        return self.run(load(text), inputs)

    def run_on_grid(
        self, text: str, inputs: Sequence[Sequence[Array]], grid: Grid
    ) -> Sequence[Sequence[Array]]:
        return self._run(load(text), inputs, grid)

    def _run(self, module: Module, inputs: Sequence[Sequence[Array]], grid: Grid) -> list[list[Array]]:
        options = Options(reference=True, timeout=_TIMEOUT)
        with installed(self._fault):
            try:
                if grid == ONE_PROCESS:
                    by_process = [execute(module, inputs[0], options=options)]
                else:
                    by_process = execute(module, inputs, options=options, grid=grid)
                return [[np.asarray(one) for one in results] for results in by_process]
            except Exception as error:
                # A wrong result may have a shape with which the following operations fail.
                raise BackendError(f"{type(error).__name__}: {error}") from error


@contextmanager
def installed(fault: Fault) -> Iterator[None]:
    """Put a fault into the function that it is about, and take it out again."""
    owner = fault.owner or lookup(fault.operation)
    right, is_own = getattr(owner, fault.function), fault.function in vars(owner)
    setattr(owner, fault.function, fault.wrap(right))
    try:
        yield
    finally:
        if is_own:
            setattr(owner, fault.function, right)
        else:
            delattr(owner, fault.function)


def with_attribute(name: str, change: Callable[[Any], Any]) -> Wrap:
    """A function of a view that reads another value of an attribute."""

    def wrap(right: Call) -> Call:
        def wrong(self: Any, *arguments: Any, **named: Any) -> Any:
            view = copy.copy(self)
            view.__dict__[name] = change(self.__dict__[name])
            return right(view, *arguments, **named)

        return wrong

    return wrap
