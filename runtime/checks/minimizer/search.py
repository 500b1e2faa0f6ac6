"""The search for smaller programs: tries candidates in parallel, and takes the first one with the fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from ...errors import NimbleError
from ...program.ir import Module
from ...program.ops.framework.verify import verify
from .removal import CannotMinimize

Item = TypeVar("Item")
FaultPredicate = Callable[[Module], bool]
"""Whether a program shows the fault."""
Make = Callable[[], Module]


class OutOfTime(Exception):
    """The search has reached its time limit."""


class Search:
    """Tries candidates, and takes the first one in their order that shows the fault, for any number of jobs.

    Args:
        shows_fault: whether a program shows the fault.
        jobs: the number of programs that are tried at the same time.
        seconds: the time limit; None: no limit.
        only_valid: whether only programs that satisfy all constraints are tried.
        on_trial: called after each trial.

    Attributes:
        trials: the number of programs that were tried.
    """

    def __init__(
        self,
        shows_fault: FaultPredicate,
        jobs: int,
        seconds: float | None,
        only_valid: bool,
        on_trial: Callable[[], object],
    ) -> None:
        self.only_valid = only_valid
        self.predicate = shows_fault
        self.on_trial = on_trial
        self.jobs = jobs
        self.trials = 0
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.pool = ThreadPoolExecutor(jobs, "nimblehlo reduce") if jobs > 1 else None

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown()

    def shows_fault(self, module: Module) -> bool:
        """Whether a program is valid and shows the fault."""
        if self.only_valid:
            try:
                verify(module)
            except NimbleError:
                return False
        return self.predicate(module)

    def tried(self, make: Make) -> Module | None:
        """A candidate, if it can be made, is valid and shows the fault."""
        try:
            module = make()
        except (CannotMinimize, NimbleError):
            return None
        return module if self.shows_fault(module) else None

    def first(self, candidates: Iterable[Make]) -> tuple[int, Module] | None:
        """The number of the first good candidate, and that itself.

        Raises:
            OutOfTime: the time is over.
        """
        numbered: Iterator[tuple[int, Make]] = enumerate(candidates)
        while batch := list(islice(numbered, self.jobs)):
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise OutOfTime
            makes = [make for _, make in batch]
            results = map(self.tried, makes) if self.pool is None else self.pool.map(self.tried, makes)
            tried = list(results)
            self.trials += len(tried)
            self.on_trial()
            for (number, _), module in zip(batch, tried, strict=True):
                if module is not None:
                    return number, module
        return None

    def drop_in_chunks(
        self,
        items: Callable[[], Sequence[Item]],
        candidates: Callable[[Sequence[Item]], Sequence[Make]],
        accept: Callable[[Module], None],
    ) -> bool:
        """Drop chunks of items, of half the size once no chunk of a size can be dropped.

        Args:
            items: what there is, as long as some are dropped.
            candidates: the programs without some items, of which the first good one is taken.
            accept: is given each program that is taken.

        Returns:
            Whether something was dropped.

        Source: A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).
        """
        size, has_dropped = max(1, len(items())), False
        while True:
            start, is_smaller = 0, False
            while start < (count := len(items())):
                starts = range(start, count, size)
                makes = [
                    (first, make) for first in starts for make in candidates(items()[first : first + size])
                ]
                good = self.first([make for _, make in makes])
                if good is None:
                    break
                start = makes[good[0]][0]
                accept(good[1])
                is_smaller = has_dropped = True
            if size == 1 and not is_smaller:
                return has_dropped
            size = max(1, min(size, len(items())) // 2) if size > 1 else 1
