"""The results of each operation of a program as it is written: nothing is fused, rewritten or removed."""

from __future__ import annotations

import fnmatch
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...compiler.plan import Choose, Implementation, Prepared, choose
from ...compiler.specialize import Budget, bind
from ...options import Options
from ...program.ir import Function, Module, Operation, source_line
from ...program.ops.control.control import Case, If, While
from ...program.ops.framework.declaration import Op
from ...types import Type

MAX_RECORDED_ELEMENTS: Final = 64
"""Elements of an array that a trace holds itself; of a larger one it holds statistics."""

Filter = str | Callable[[Operation], bool]
"""Selects the traced operations: a pattern of names such as ``"stablehlo.dot*"``, or a predicate."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of an array, whose minimum, maximum and mean leave out NaN and infinity.

    Attributes:
        minimum, maximum, mean: of the finite elements; None if there are none, or they have no order.
        nan_count, infinity_count, zero_count: the numbers of elements that are NaN, infinite, zero.
    """

    minimum: float | None
    maximum: float | None
    mean: float | None
    nan_count: int
    infinity_count: int
    zero_count: int

    def __str__(self) -> str:
        texts = (
            []
            if self.minimum is None
            else [f"{self.minimum:.6g} to {self.maximum:.6g}, mean {self.mean:.6g}"]
        )
        counts = (("NaN", self.nan_count), ("infinite", self.infinity_count), ("zero", self.zero_count))
        return ", ".join(texts + [f"{count} {name}" for name, count in counts if count])


@dataclass(frozen=True, slots=True)
class TracedResult:
    """The results of one run of an operation.

    Attributes:
        operation: its name.
        run: how many runs of the operation came before, as in earlier iterations of a loop.
        types: of the results.
        values: for each result the array, or None if it has more elements than the trace holds.
        statistics: for each result its statistics; None if it is not an array of numbers.
        location: the operation's source location.
        source_line: ``file:line`` of the source, if the location names one.
    """

    operation: str
    run: int
    types: Sequence[Type]
    values: Sequence[Any]
    statistics: Sequence[Statistics | None]
    location: str
    source_line: str | None

    def __str__(self) -> str:
        where = f" run {self.run}" if self.run else ""
        lines = [f"{self.operation} at {self.location}{where}"]
        with np.printoptions(threshold=MAX_RECORDED_ELEMENTS, linewidth=100):
            for type, value, statistics in zip(self.types, self.values, self.statistics, strict=True):
                shown = f"{statistics}" if value is None else str(value).replace("\n", "\n      ")
                lines.append(f"    {type}: {shown}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record for JSON: arrays as nested lists of numbers or texts."""
        results = []
        for type, value, statistics in zip(self.types, self.values, self.statistics, strict=True):
            figures = (
                None
                if statistics is None
                else {name: getattr(statistics, name) for name in Statistics.__dataclass_fields__}
            )
            results.append({"type": str(type), "value": _plain(value), "statistics": figures})
        return {
            "operation": self.operation,
            "run": self.run,
            "location": self.location,
            "source_line": self.source_line,
            "results": results,
        }


def _plain(value: object) -> Any:
    """An array as nested lists; elements that JSON has no number for as text."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind == "f" and np.isfinite(array).all():
        return array.tolist()
    return np.vectorize(str, otypes=[object])(array).tolist()


@dataclass(frozen=True, slots=True)
class Trace:
    """The results of each operation of a call, in the order in which they were computed.

    Attributes:
        records: a record for each run of an operation.
        results: the results of the call.
        left_out: runs of operations that came after `max_records`.
    """

    records: Sequence[TracedResult]
    results: Sequence[Any]
    left_out: int = 0

    def __iter__(self) -> Iterator[TracedResult]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __str__(self) -> str:
        lines = [str(record) for record in self.records]
        return "\n".join(lines + ([f"{self.left_out} more runs of operations"] if self.left_out else []))

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Store the records in a JSON file."""
        text = json.dumps([record.as_dict() for record in self.records], indent=1)
        Path(path).write_text(text, encoding="utf-8")


def trace(
    module: Module,
    entry: str,
    types: Sequence[Type],
    arguments: tuple[Any, ...],
    options: Options,
    *,
    only: Filter | None = None,
    max_elements: int = MAX_RECORDED_ELEMENTS,
    max_records: int = 100_000,
    run: Callable[[Function, Options, Choose], Any],
) -> Trace:
    """Run a program as it is written, and record the results of its operations.

    The bodies of loops and branches are traced; the bodies of reductions, scatters, sorts and windows, which
    run for each element, are not.

    Args:
        module, entry, types: see `nimblehlo.compiler.specialize.bind`.
        arguments: values that fit.
        options: those of the program.
        only: which operations are traced; None: all.
        max_elements: elements of an array that is recorded itself.
        max_records: maximum number of runs of operations that are recorded.
        run: makes a program from a function, options and `choose`: `nimblehlo.execution.program.Program`.

    Raises:
        NimbleError: the run failed.
    """
    function = bind(
        module,
        entry,
        types,
        Budget(evaluate=lambda operation, operands: None),
        rounds_correctly=options.functions == "correctly_rounded",
    )
    tracer = _Tracer(only, max_elements, max_records)
    program = run(function, replace(options, compile="never", sanitize=False), tracer.choose)
    results = program.run(arguments)
    return Trace(tracer.records, results, tracer.left_out)


class _Tracer:
    """Chooses implementations that record their results."""

    def __init__(self, only: Filter | None, max_elements: int, max_records: int) -> None:
        self.is_traced = _predicate(only)
        self.max_elements, self.max_records = max_elements, max_records
        self.records: list[TracedResult] = []
        self.left_out = 0
        self.runs: Counter[Operation] = Counter()
        self.bodies: set[Operation] = set()

    def choose(self, view: Op, options: Options) -> Implementation:
        """The implementation of an operation; called for an operation before those in its regions."""
        choice, operation = choose(view, options), view.operation
        if isinstance(view, (While, If, Case)):
            return choice
        self.bodies.update(inner for region in operation.regions for inner in region.walk())
        if operation in self.bodies or not self.is_traced(operation):
            return choice
        function = choice.function

        def run(*operands: Any, **regions: Any) -> Any:
            returned = function(*operands, **regions)
            self.record(operation, returned if type(returned) is tuple else (returned,))
            return returned

        return Prepared(run, choice.kind, choice.reason, choice.takes_regions)

    def record(self, operation: Operation, results: Sequence[object]) -> None:
        """Note one run of an operation."""
        number = self.runs[operation]
        self.runs[operation] += 1
        if len(self.records) >= self.max_records:
            self.left_out += 1
            return
        arrays = [value if isinstance(value, (np.ndarray, np.generic)) else None for value in results]
        self.records.append(
            TracedResult(
                operation.name,
                number,
                [result.type for result in operation.results],
                [
                    np.array(array) if array is not None and array.size <= self.max_elements else None
                    for array in arrays
                ],
                [statistics_of(array) for array in arrays],
                str(operation.location),
                source_line(operation.location),
            )
        )


def _predicate(only: Filter | None) -> Callable[[Operation], bool]:
    if only is None:
        return lambda operation: True
    if isinstance(only, str):
        pattern = only
        return lambda operation: fnmatch.fnmatchcase(operation.name, pattern)
    return only


def statistics_of(array: Any) -> Statistics | None:
    """The statistics of an array; None for None and for arrays of no numbers."""
    if array is None or array.dtype == object:
        return None
    values = np.asarray(array)
    zero_count = int(values.size - np.count_nonzero(values))
    if values.dtype.kind == "c":
        nan_count, infinity_count = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        return Statistics(None, None, None, nan_count, infinity_count, zero_count)
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    nan_count = int(np.isnan(wide).sum())
    infinity_count = values.size - finite.size - nan_count
    if not finite.size:
        return Statistics(None, None, None, nan_count, infinity_count, zero_count)
    minimum, maximum, mean = float(finite.min()), float(finite.max()), float(finite.mean())
    return Statistics(minimum, maximum, mean, nan_count, infinity_count, zero_count)
