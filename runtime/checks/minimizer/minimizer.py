"""`minimize`: runs passes that make a program smaller until none of them succeeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ...api import compile, load
from ...compiler.specialize.inline import contains_calls, inline_calls
from ...errors import ExecutionError, NimbleError
from ...execution.array_files import random_inputs
from ...options import Options
from ...program.ir import Module, Value
from . import regions, simplification
from .removal import (
    CannotMinimize,
    Replacement,
    entry_of,
    is_replaceable,
    non_constant_operations,
    with_results,
    without,
)
from .search import FaultPredicate, Make, OutOfTime, Search

MAX_SIMPLIFIED_OPERATIONS: Final = 40
"""Operations of programs whose sizes, types, constants and attributes are simplified: each takes a trial."""


@dataclass(frozen=True, slots=True)
class MinimizedProgram:
    """The result of `minimize`.

    Attributes:
        module: the smallest program that was found.
        operations: the number of its operations, those in regions too, without constants and terminators.
        operations_before: the number of operations of the original program.
        trials: the number of programs that were tried.
        seconds: the duration.
        is_finished: whether no pass makes the program smaller; False if the time limit was reached.
    """

    module: Module
    operations: int
    operations_before: int
    trials: int
    seconds: float
    is_finished: bool

    def __str__(self) -> str:
        return str(self.module)


def minimize(
    module: object,
    shows_fault: FaultPredicate,
    *,
    entry: str = "main",
    inputs: Sequence[object] | None = None,
    jobs: int = 1,
    seconds: float | None = None,
    only_valid: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> MinimizedProgram:
    """Make a program that shows a fault smaller, with fewer operations, smaller sizes, simpler types and
    values.

    Each program that is tried is valid (see `only_valid`). The result does not depend on `jobs`, if
    `shows_fault` always gives the same answer for the same program and the time is not limited.

    Args:
        module: what `load` takes.
        shows_fault: whether a program shows the fault; called from several threads if `jobs` is more than 1.
            The arguments and results of the entry function are others than those of `module`.
        entry: the function to make smaller.
        inputs: inputs for which the program shows the fault: values that are computed from them become
            constants. None: random ones.
        jobs: the number of programs that are tried at the same time.
        seconds: the time limit, after which the smallest program so far is returned; None: no limit.
        only_valid: whether only programs that satisfy all constraints of the specification are tried. With
            False, the fault may be that a program is rejected; `module` may be an unverified `Module`.
        progress: called after each trial with the numbers of trials and of operations that are left.

    Raises:
        NimbleError: what `load` raises; or the program itself does not show the fault.
    """
    loaded = load(module)
    minimization = _Minimization(
        loaded, entry, shows_fault, jobs, seconds, only_valid, progress or _no_progress
    )
    start = time.monotonic()
    before = minimization.size
    if not minimization.search.shows_fault(loaded):
        raise NimbleError("the program does not show the fault")
    try:
        minimization.run(inputs)
        is_finished = True
    except OutOfTime:
        is_finished = False
    finally:
        minimization.search.close()
    return MinimizedProgram(
        minimization.module,
        minimization.size,
        before,
        minimization.search.trials,
        time.monotonic() - start,
        is_finished,
    )


def _no_progress(trials: int, operations: int) -> None:
    """The default callback after a trial, which does nothing."""


class _Minimization:
    """The program as small as it is so far."""

    def __init__(
        self,
        module: Module,
        entry: str,
        shows_fault: FaultPredicate,
        jobs: int,
        seconds: float | None,
        only_valid: bool,
        progress: Callable[[int, int], object],
    ) -> None:
        self.module, self.entry = module, entry
        self.search = Search(
            shows_fault, jobs, seconds, only_valid, lambda: progress(self.search.trials, self.size)
        )
        self.values: Mapping[Value, Any] = {}
        self.values_of_candidates: dict[int, Mapping[Value, Any]] = {}
        has_arguments = bool(module.functions[entry].type.inputs) if entry in module.functions else False
        self.replacements: list[Replacement] = (
            ["argument", "value", "zero"] if has_arguments else ["value", "argument"]
        )

    @property
    def size(self) -> int:
        """Operations without constants and terminators."""
        return len(non_constant_operations(entry_of(self.module, self.entry))) + len(
            regions.nested(self.module, self.entry)
        )

    def run(self, inputs: Sequence[Any] | None) -> None:
        """Run all passes until none makes the program smaller.

        Raises:
            OutOfTime: the time is over.
        """
        self.inline_calls()
        self.values = self.observed(inputs)
        while True:
            is_smaller = self.drop_operations()
            is_smaller |= self.inline_regions()
            if self.size == 0 or not is_smaller:
                break
        if self.search.drop_in_chunks(self.nested, self.without_nested, self.accept):
            self.values = self.observed(None)
            self.drop_operations()
        if self.results():
            self.search.drop_in_chunks(self.results, self.without_results, self.accept)
        if self.size <= MAX_SIMPLIFIED_OPERATIONS:
            self.simplify()

    def accept(self, module: Module) -> None:
        """Continue with a smaller program."""
        self.module = module
        self.values = self.values_of_candidates.pop(id(module), {})
        self.values_of_candidates.clear()

    def inline_calls(self) -> None:
        """Inline calls, if the program then still shows the fault."""
        function = self.module.functions[self.entry]
        if not contains_calls(self.module):
            return
        with suppress(NimbleError):
            inlined = Module([inline_calls(self.module, function)], name=self.module.name)
            good = self.search.first([lambda: inlined])
            if good is not None:
                self.module = inlined

    def observed(self, inputs: Sequence[object] | None) -> dict[Value, Any]:
        """The value of each operation's result, as far as the program runs."""
        block = entry_of(self.module, self.entry)
        values = [
            value
            for operation in non_constant_operations(block)
            for value in operation.results
            if is_replaceable(value.type)
        ]
        try:
            module = with_results(self.module, self.entry, values)
            executable = compile(module, entry=self.entry, options=Options(compile="never"))
            arguments = random_inputs(executable.input_types, 0) if inputs is None else inputs
            return dict(zip(values, executable(*arguments), strict=True))
        except (NimbleError, ExecutionError):
            return {}

    def drop_operations(self) -> bool:
        """Drop operations of the entry function; returns whether some were dropped."""
        return self.search.drop_in_chunks(self.operations, self.without_operations, self.accept)

    def operations(self) -> Sequence[Any]:
        """The operations of the entry function, the last ones first."""
        return non_constant_operations(entry_of(self.module, self.entry))[::-1]

    def without_operations(self, chunk: Sequence[object]) -> list[Make]:
        """Candidates without some operations, one for each kind of replacement of their results."""
        return [partial(self._without, chunk, replacement) for replacement in self.replacements]

    def _without(self, chunk: Sequence[Any], replacement: Replacement) -> Module:
        module, values = without(self.module, self.entry, chunk, replacement, self.values)
        if len(non_constant_operations(entry_of(module, self.entry))) >= len(self.operations()):
            raise CannotMinimize("no operation can be dropped")
        self.values_of_candidates[id(module)] = values
        return module

    def nested(self) -> Sequence[Any]:
        """The operations in regions."""
        return regions.nested(self.module, self.entry)[::-1]

    def without_nested(self, chunk: Sequence[Any]) -> list[Make]:
        """The candidate without some operations in regions."""
        return [partial(regions.without_nested, self.module, self.entry, chunk)]

    def results(self) -> Sequence[Any]:
        """The values that the program returns."""
        return entry_of(self.module, self.entry).terminator.operands

    def without_results(self, chunk: Sequence[object]) -> list[Make]:
        """The candidate that returns less."""
        dropped = set(chunk)
        left = [value for value in self.results() if value not in dropped]
        return [partial(with_results, self.module, self.entry, left)] if left else []

    def inline_regions(self) -> bool:
        """Replace operations of control flow by one of their regions; returns whether one was replaced."""
        has_inlined = False
        while True:
            pairs = regions.inlinable(self.module, self.entry)
            good = self.search.first(
                [partial(regions.with_region_inlined, self.module, self.entry, *pair) for pair in pairs]
            )
            if good is None:
                return has_inlined
            self.accept(good[1])
            self.values = self.observed(None)
            has_inlined = True

    def simplify(self) -> None:
        """Simplify constants, sizes, types and attributes while the program still shows the fault."""
        passes: list[Callable[[], Any]] = [
            lambda: simplification.plain_constants(self.module, self.entry),
            lambda: simplification.smaller_sizes(self.module),
            lambda: simplification.common_types(self.module),
            lambda: simplification.plain_constants(self.module, self.entry),
            lambda: simplification.fewer_attributes(self.module, self.entry),
        ]
        for candidates in passes:
            while (good := self.search.first(candidates())) is not None:
                self.accept(good[1])
