"""Finds the first operation whose result exceeds its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...api import execute, load
from ...errors import NimbleError
from ...inspection.tables import Table, report_html
from ...options import Options
from ...program.ir import Module, Operation, Value, source_line
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import RegionRole
from ...program.ops.test_dialects.array_files import for_file
from ...types import Array
from ..backends import Backend, BackendError, backend
from ..backends.backend import Runnable
from ..error_bounds import BoundViolation, accuracy
from ..error_bounds.bounds import violation_of
from ..error_bounds.monte_carlo import NoisyProgram, NoisyRun, converted, perturbed
from ..error_bounds.rounding_rules import loses_digits
from ..error_bounds.ulps import SIGMAS, distance, is_inexact, root_mean_square, ulp
from .extraction import (
    body_arguments,
    body_program,
    constant_array,
    main_block,
    observable_values,
    operation_program,
    operations_before,
    region_program,
    returning,
    returning_alone,
    static_program,
)
from .operation_checks import OperationCheck, OperationChecks, checks_table

MAX_ITERATIONS: Final = 10_000
"""Iterations of a loop in which the first wrong one is looked for."""
MAX_ISOLATED_ITERATIONS: Final = 4
"""Iterations in which each operation runs in a program of its own."""
MAX_BODY_RUNS: Final = 12
"""Runs in which the body of a reduction, a scatter, a sort or a map is checked."""
BODY_ELEMENTS: Final = 64
"""Elements of each vector on which a body is checked in one such run."""
MAX_PREFIXES: Final = 32
"""Prefixes of a program that are tried one by one if bisection finds none that is wrong."""
_OPERAND_RUNS: Final = 6
"""Runs that measure the change of an operation's result if its operands are not rounded."""


@dataclass(frozen=True)
class FaultyOperation:
    """The first operation whose result exceeds its bound.

    Attributes:
        operation: its name.
        location: its source location.
        source: ``file:line`` of the user's code, or None.
        within: the regions around it, outermost first: ``"iteration 3 of stablehlo.while at model.mlir:7"``.
        violation: how its result exceeds its bound, for the operands that the backend computed.
        module: a program of this operation alone; or one that ends with it, where those before it are needed.
        inputs: the inputs of that program.
        ours, theirs: NimbleHLO's results of that program, and the backend's.
        fails_alone: whether the program of this operation alone has a wrong result as well. Otherwise the
            operations around it are needed, as where the backend fuses them.
    """

    operation: str
    location: str
    source: str | None
    within: tuple[str, ...]
    violation: BoundViolation
    module: Module
    inputs: Sequence[Array]
    ours: Sequence[Array]
    theirs: Sequence[Array]
    fails_alone: bool

    def __str__(self) -> str:
        where = "".join(f" in {one}" for one in reversed(self.within))
        alone = "alone as well" if self.fails_alone else "only together with the operations around it"
        return f"{self.operation} at {self.source or self.location}{where}, {alone}: {self.violation}"

    def save(self, folder: Path) -> None:
        """Write ``operation.mlir``, its operands ``operand_0.npy``, ... and ``results.npz`` of both sides."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "operation.mlir").write_text(str(self.module), encoding="utf-8")
        for index, array in enumerate(self.inputs):
            np.save(folder / f"operand_{index}.npy", for_file(array))
        results: dict[str, Any] = {f"ours_{index}": for_file(one) for index, one in enumerate(self.ours)}
        results |= {f"theirs_{index}": for_file(one) for index, one in enumerate(self.theirs)}
        np.savez(folder / "results.npz", **results)


@dataclass(frozen=True)
class Report:
    """The result of `find_faulty_operation`.

    Attributes:
        backend: the name of the backend.
        violations: results of the program that lie beyond their bounds.
        first: the first operation whose result exceeds its bound; None if there is none, or if no search took
            place.
        operations: the operations that the search compared, up to the first faulty one; with
            `every_operation` all of them.
    """

    backend: str
    violations: Sequence[BoundViolation] = ()
    first: FaultyOperation | None = None
    operations: Sequence[OperationCheck] = ()

    @property
    def departures(self) -> Sequence[BoundViolation]:
        """The former name of `violations`."""
        return self.violations

    @property
    def differs(self) -> bool:
        """Whether a result of the program or of an operation exceeds its bound."""
        return bool(self.violations) or self.first is not None

    def __str__(self) -> str:
        if not self.differs:
            return f"{self.backend}: all results lie within their bounds"
        lines = [f"{self.backend}: {violation}" for violation in self.violations]
        if self.first is not None:
            lines.append(f"first: {self.first}")
        else:
            lines.append("no operation exceeds its bound by itself or in a prefix of the program")
        return "\n".join(lines)

    def table(self) -> Table:
        """The operations whose results differ."""
        return checks_table(self.operations)

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        title = "beyond the bounds" if self.differs else "within the bounds"
        tables = [self.table()] if self.table().rows else []
        return report_html(f"Compared with {self.backend}: {title}", str(self).splitlines(), *tables)


def find_faulty_operation(
    module: object,
    inputs: Sequence[object],
    against: str | Backend | Runnable,
    *,
    entry: str = "main",
    every_operation: bool = False,
) -> Report:
    """Compare a backend's results with ours, and find the first operation whose result exceeds its bound.

    The backend runs the program with all intermediate results as outputs. Each operation is checked on the
    operands that the backend computed, so that errors before it do not count. Branches are entered, and loops
    iteration by iteration. Where every operation is right, because the outputs keep the backend from fusing
    operations, bisection finds the shortest prefix of the program whose result exceeds its bound.

    Args:
        module: what `nimblehlo.load` takes.
        inputs: what `nimblehlo.execute` takes.
        against: what `nimblehlo.checks.backends.backend` takes.
        entry: the function to run.
        every_operation: whether operations are checked although all results lie within their bounds, each of
            them also in a program of its own.

    Raises:
        NimbleError: what `nimblehlo.execute` raises.
        BackendError: the backend does not run the program.
    """
    other = backend(against)
    loaded = load(module)
    arguments = converted(loaded, entry, inputs)
    program = static_program(loaded, entry, arguments)
    violations = accuracy(program, arguments).violations(other.run(program, arguments))
    if not violations and not every_operation:
        return Report(other.name)
    search = _Search(other, every_operation)
    first = search.search_program(program, arguments, ())
    if first is None and violations:
        first = search.bisect_prefixes(program, arguments, violations[0].result)
    return Report(other.name, violations, first, search.checks.listed())


def first_faulty_operation(
    program: Module, inputs: Sequence[Array], other: Backend
) -> FaultyOperation | None:
    """The first operation whose result exceeds its bound, for the operands that the backend computed; None if
    none does by itself.

    Args:
        program: what `static_program` gives.
        inputs: arrays of the types of its arguments.
        other: the backend.

    Raises:
        NimbleError: what `nimblehlo.execute` raises.
    """
    return _Search(other, runs_each_operation=False).search_program(program, inputs, ())


def faulty_prefix(
    program: Module, inputs: Sequence[Array], other: Backend, result: int
) -> FaultyOperation | None:
    """The last operation of the shortest prefix of a program with a wrong result; None if none has one.

    Args:
        program, inputs, other: see `first_faulty_operation`.
        result: the index of a result of the program that exceeds its bound.

    Raises:
        NimbleError: what `nimblehlo.execute` raises.
        BackendError: the backend does not run a prefix.
    """
    return _Search(other, runs_each_operation=False).bisect_prefixes(program, inputs, result)


def _faulty(
    operation: Operation,
    module: Module,
    inputs: Sequence[Array],
    ours: Sequence[Array],
    theirs: Sequence[Array],
    violation: BoundViolation,
    *,
    fails_alone: bool = False,
) -> FaultyOperation:
    name, location, source = operation.name, str(operation.location), source_line(operation.location)
    return FaultyOperation(name, location, source, (), violation, module, inputs, ours, theirs, fails_alone)


class _Search:
    """The search for the first operation whose result exceeds its bound.

    Args:
        other: the backend.
        runs_each_operation: whether each operation also runs in a program of its own.
    """

    def __init__(self, other: Backend, runs_each_operation: bool) -> None:
        self._backend = other
        self._runs_each_operation = runs_each_operation
        self.checks = OperationChecks()

    def search_program(
        self, program: Module, inputs: Sequence[Array], within: tuple[str, ...]
    ) -> FaultyOperation | None:
        """The first faulty operation of @main.

        One that is wrong neither alone nor in a program that ends with it gives way to a later one that is
        wrong alone: a backend that fuses operations may have kept more digits of its operands than it shows.
        """
        observed = observable_values(program)
        runs_each_operation = self._runs_each_operation
        values: dict[Value, Array] = dict(zip(main_block(program).arguments, inputs, strict=True))
        try:
            observed_values = self._backend.run(returning(program, observed), inputs)
        except BackendError:
            # The backend does not run the program with all values as outputs: each operation runs alone, on
            # the operands that NimbleHLO computes.
            observed_values = [np.asarray(one) for one in execute(returning(program, observed), inputs)]
            runs_each_operation = True
        values.update(zip(observed, observed_values, strict=True))
        doubtful: FaultyOperation | None = None
        for operation in main_block(program).operations[:-1]:
            constant = constant_array(operation)
            if constant is not None:
                values[operation.result] = constant
                continue
            faulty = self.check_operation(operation, values, runs_each_operation)
            if faulty is not None:
                inner = self.search_regions(operation, values, within)
                if inner is not None or faulty.fails_alone:
                    return inner or replace(faulty, within=within)
                if doubtful is None:
                    proven = self.check_with_operations_before(program, inputs, operation)
                    doubtful = replace(proven or faulty, within=within)
                    if proven is not None:
                        return doubtful
                continue
            if self._runs_each_operation and operation.regions:
                # A difference within a body is within the bounds of the operation.
                inner = self.search_regions(operation, values, within)
                if inner is not None:
                    return inner
        return doubtful

    def check_operation(
        self, operation: Operation, values: Mapping[Value, Array], runs_each_operation: bool
    ) -> FaultyOperation | None:
        """The operation if a result exceeds its bound; None if none does, or if it does not run alone."""
        try:
            module, inputs = operation_program(operation, values)
            theirs = [values[result] for result in operation.results]
        except KeyError:
            return None
        try:
            faulty = self.check_in_context(operation, module, inputs, theirs)
            if faulty is None and not runs_each_operation:
                return None
            alone = self.check_in_isolation(operation, module, inputs)
        except NimbleError:
            return None
        if faulty is None:
            return alone
        return replace(faulty, fails_alone=alone is not None)

    def check_with_operations_before(
        self, program: Module, inputs: Sequence[Array], operation: Operation
    ) -> FaultyOperation | None:
        """The operation, if its result exceeds its bound in a program that ends with it; else None."""
        try:
            for result in operation.results:
                faulty = self.check_prefix(program, inputs, result)
                if faulty is not None:
                    return faulty
        except NimbleError:
            pass
        return None

    def check_in_context(
        self, operation: Operation, module: Module, inputs: Sequence[Array], theirs: Sequence[Array]
    ) -> FaultyOperation | None:
        """The operation, if `theirs`, computed within the whole program, exceed their bounds for these
        operands.
        """
        ours = [np.asarray(one) for one in execute(module, inputs)]
        faulty = self.compare_in_context(operation, module, inputs, ours, theirs)
        self.checks.add(operation, ours, theirs, faulty is None)
        return faulty

    def compare_in_context(
        self,
        operation: Operation,
        module: Module,
        inputs: Sequence[Array],
        ours: Sequence[Array],
        theirs: Sequence[Array],
    ) -> FaultyOperation | None:
        """The operation, if `theirs` exceed their bounds for these operands."""
        if all(same_values(a, b) for a, b in zip(ours, theirs, strict=True)):
            return None
        computed = accuracy(module, inputs)
        if not computed.violations(theirs):
            return None
        operand_errors = _operand_errors(operation, module, inputs, ours)
        bounds = [
            replace(bound, bound=bound.bound + error, may_vary=bound.may_vary | (error > 0))
            for bound, error in zip(computed.results, operand_errors, strict=True)
        ]
        for index, (bound, one) in enumerate(zip(bounds, theirs, strict=True)):
            violation = violation_of(index, bound, one)
            if violation is not None:
                return _faulty(operation, module, inputs, ours, theirs, violation)
        return None

    def check_in_isolation(
        self, operation: Operation, module: Module, inputs: Sequence[Array]
    ) -> FaultyOperation | None:
        """The operation, if the backend's results of a program of it alone exceed their bounds."""
        try:
            theirs = self._backend.run(module, inputs)
        except BackendError:
            return None
        ours = [np.asarray(one) for one in execute(module, inputs)]
        if all(same_values(a, b) for a, b in zip(ours, theirs, strict=True)):
            return None
        violations = accuracy(module, inputs).violations(theirs)
        self.checks.add(operation, ours, theirs, not violations)
        if not violations:
            return None
        return _faulty(operation, module, inputs, ours, theirs, violations[0], fails_alone=True)

    def search_regions(
        self, operation: Operation, values: Mapping[Value, Array], within: tuple[str, ...]
    ) -> FaultyOperation | None:
        """The first faulty operation within a branch, a loop or another region."""
        name = f"{operation.name} at {source_line(operation.location) or operation.location}"
        try:
            role = declaration_of(operation).region_role
            if role is RegionRole.BRANCHES:
                return self.search_branch(operation, values, (*within, name))
            if role is RegionRole.LOOP:
                return self.search_loop(operation, values, within, name)
            return self.search_bodies(operation, values, (*within, f"the body of {name}"))
        except (KeyError, NimbleError):
            # A value is not known, or a region does not run in a program of its own.
            return None

    def search_bodies(
        self, operation: Operation, values: Mapping[Value, Array], within: tuple[str, ...]
    ) -> FaultyOperation | None:
        for region in operation.regions:
            module, captured = body_program(region, values, BODY_ELEMENTS)
            reduced: list[Array] = []
            for seed in range(MAX_BODY_RUNS):
                elements = body_arguments(operation, region, values, BODY_ELEMENTS, seed)
                if not elements:
                    break
                # Partial results of a reduction have more digits than its operands.
                arguments = [*reduced, *elements[len(reduced) :], *captured]
                first = self.search_program(module, arguments, within)
                if first is not None:
                    return first
                results = [np.asarray(one) for one in execute(module, arguments)]
                is_reducer = [one.dtype for one in results] * 2 == [one.dtype for one in elements]
                reduced = results if is_reducer else []
        return None

    def search_branch(
        self, operation: Operation, values: Mapping[Value, Array], within: tuple[str, ...]
    ) -> FaultyOperation | None:
        selector = values[operation.operands[0]]
        count = len(operation.regions)
        # A predicate selects the first branch if it is true.
        branch = int(not selector if selector.dtype == np.bool_ else selector)
        region = operation.regions[branch if 0 <= branch < count else count - 1]
        module, inputs = region_program(region, values)
        return self.search_program(module, inputs, within)

    def search_loop(
        self, operation: Operation, values: Mapping[Value, Array], within: tuple[str, ...], name: str
    ) -> FaultyOperation | None:
        condition, captured_by_condition = region_program(operation.regions[0], values)
        body, captured_by_body = region_program(operation.regions[1], values)
        state = [values[operand] for operand in operation.operands]
        for iteration in range(MAX_ITERATIONS):
            within_loop = (*within, f"iteration {iteration} of {name}")
            for region, captured in ((condition, captured_by_condition), (body, captured_by_body)):
                inputs = [*state, *captured]
                ours = [np.asarray(one) for one in execute(region, inputs)]
                theirs = self._backend.run(region, inputs)
                same = all(same_values(a, b) for a, b in zip(ours, theirs, strict=True))
                is_isolated = self._runs_each_operation and iteration < MAX_ISOLATED_ITERATIONS
                if is_isolated or (not same and accuracy(region, inputs).violations(theirs)):
                    first = self.search_program(region, inputs, within_loop)
                    if first is not None:
                        return first
                if region is condition and not ours[0]:
                    return None
            state = theirs
        return None

    def bisect_prefixes(
        self, program: Module, inputs: Sequence[Array], result: int
    ) -> FaultyOperation | None:
        """The last operation of the shortest prefix of the program whose result exceeds its bound.

        Operations on which the program's wrong result does not depend are left out.
        """
        terminator = main_block(program).terminator
        before = set(operations_before(terminator.operands[min(result, len(terminator.operands) - 1)]))
        observed = [value for value in observable_values(program) if value.owner in before]
        low, high = 0, len(observed)
        while low < high:
            middle = (low + high) // 2
            if self.check_prefix(program, inputs, observed[middle]) is None:
                low = middle + 1
            else:
                high = middle
        # A later operation may hide what is wrong, so that bisection goes past it.
        for value in (observed[low:] + observed[:low])[:MAX_PREFIXES]:
            faulty = self.check_prefix(program, inputs, value)
            if faulty is not None:
                return faulty
        return None

    def check_prefix(self, program: Module, inputs: Sequence[Array], value: Value) -> FaultyOperation | None:
        """The operation that defines `value`, if a program that returns it alone exceeds its bound."""
        operation = value.owner
        assert isinstance(operation, Operation)
        module = returning_alone(program, [value])
        theirs = self._backend.run(module, inputs)
        violations = accuracy(module, inputs).violations(theirs)
        if not violations:
            return None
        ours = [np.asarray(one) for one in execute(module, inputs)]
        return _faulty(operation, module, inputs, ours, theirs, violations[0])


def same_values(a: Array, b: Array) -> bool:
    """Whether results have the same type, shape and values, NaN being equal to NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.tobytes() == b.tobytes():
        return True
    return is_inexact(a.dtype) and not distance(a, b).any()


def _operand_errors(
    operation: Operation, module: Module, inputs: Sequence[Array], ours: Sequence[Array]
) -> list[Array]:
    """The change of results if operands keep digits that the program rounds away.

    A compiler that fuses operations may keep such digits of intermediate values. Arguments and constants have
    none, nor have copies of them. For integers and booleans the change is 1. A float may also be rounded to
    its other neighbour where no run shows it.
    """
    rounds = [any(map(loses_digits, operations_before(one))) for one in operation.operands]
    rounds += [False] * (len(inputs) - len(rounds))
    errors = [np.zeros(one.shape) for one in ours]
    if not any(is_inexact(one.dtype) and flag for one, flag in zip(inputs, rounds, strict=False)):
        return errors
    random = np.random.default_rng(0)
    program = NoisyProgram(module, "main", inputs, Options(compile="never"))
    distances: list[list[Array]] = [[] for _ in ours]
    for _ in range(_OPERAND_RUNS):
        changed = [
            perturbed(one, ulp(one), random) if flag and is_inexact(one.dtype) else one
            for one, flag in zip(inputs, rounds, strict=False)
        ]
        for ulps, one, result in zip(distances, ours, program.run(NoisyRun(), changed), strict=True):
            is_float = is_inexact(one.dtype)
            ulps.append(distance(result, one) if is_float else (result != one).astype(np.float64))
    changes = [root_mean_square(ulps, SIGMAS) for ulps in distances]
    return [
        change + ulp(one) if is_inexact(one.dtype) else change
        for change, one in zip(changes, ours, strict=True)
    ]
