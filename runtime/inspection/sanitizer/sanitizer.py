"""The checks for each operation, and their evaluation together with its step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...compiler.plan import Implementation, Plan, Prepared, choose, lower
from ...compiler.plan.implementations.run_time_types import has_unknown_sizes
from ...compiler.specialize import Budget, bind
from ...errors import ExecutionError, UndefinedBehaviorError, VerifyError
from ...execution.executor import Limits, Runner
from ...options import Options
from ...program.ir import Function, Module, Operation, Region, captured_values, operation_module, source_line
from ...program.ops.control.control import Case, If, While
from ...program.ops.custom_calls.custom_call import CustomCall
from ...program.ops.custom_calls.targets import BUILT_IN
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.indexing.scatter import Scatter
from ...program.ops.intermediate.partial_windows import indices_without_partial_windows, may_drop_windows
from ...program.ops.numerics.quantized_operation import has_quantized_types
from ...program.ops.reduction.bodies import monoid
from ...program.ops.shape.run_time_sizes import RunTimeShaped
from ...types import Array, Type
from . import elements, indices
from .elements import Inspect
from .findings import Finding, Findings, Violation
from .memory import Shadows, ShadowUpdate, may_be_unwritten
from .non_finite import non_finite

_INSPECTED: Final[dict[str, Callable[[Op], Inspect | None]]] = {
    "unique_indices": indices.unique_indices,
    "indices_are_sorted": indices.indices_are_sorted,
    "clamped_indices": indices.clamped_indices,
    "dropped_updates": indices.dropped_updates,
    "division_by_zero": elements.division_by_zero,
    "division_overflow": elements.division_overflow,
    "shift_amount": elements.shift_amount,
    "float_to_integer": elements.float_to_integer,
    "quantized_saturation": elements.quantized_saturation,
    "non_finite": non_finite,
}
"""For each check that looks at the operands and results of one operation what says how it is done."""

MAX_TRIAL_ELEMENTS: Final = 1 << 12
"""Elements of the constants for which an operation with regions is run once, before all calls."""

_DIVISIONS: Final = ("arith.divsi", "arith.remsi")
"""Operations that fail where the divisor is zero."""


class Sanitizer:
    """The checks that `options` enable, for the runs of one program.

    Args:
        options: those of the program.

    Attributes:
        findings: what was found.
    """

    def __init__(self, options: Options) -> None:
        assert isinstance(options.sanitize, frozenset)
        self.options = options
        self.checks: frozenset[str] = options.sanitize
        self.findings = Findings(options.sanitize_action)

    def bind(self, module: Module, entry: str, types: Sequence[Type]) -> Function:
        """The function `entry` specialized for known sizes, with all operations that a check concerns.

        Raises:
            NimbleError: see `nimblehlo.compiler.specialize.bind`.
        """
        try:
            return bind(
                module,
                entry,
                types,
                Budget(evaluate=self._on_constants),
                rounds_correctly=self.options.functions == "correctly_rounded",
            )
        except ExecutionError as error:
            if _is_mismatch(error, None):
                self._report_mismatch(error, ())
            raise

    def instrument(self, function: Function) -> SanitizedFunction:
        """The functions with which `Program` runs a function under the checks."""
        return SanitizedFunction(self, function)

    def inspections(self, view: Op) -> list[tuple[str, Inspect]]:
        """The checks that concern an operation."""
        inspections = [(name, make(view)) for name, make in _INSPECTED.items() if name in self.checks]
        return [(name, inspect) for name, inspect in inspections if inspect is not None]

    def _on_constants(self, operation: Operation, operands: Sequence[Array]) -> Any:
        """The result of an operation on constants; None if there is a finding, so that it has to run."""
        view = Op.of(operation)
        if operation.regions:
            return self._trial(operation, operands) if _is_cheap(operation, operands) else None
        results = _as_tuple(view.bind()(*operands))
        has_violation = any(inspect(operands, results) is not None for _, inspect in self.inspections(view))
        return None if has_violation else results[0]

    def _trial(self, operation: Operation, operands: Sequence[Array]) -> Any:
        """Try an operation with regions, in a program of it alone."""
        trial = Sanitizer(replace(self.options, sanitize_action="collect", compile="never"))
        sanitized = trial.instrument(operation_module(operation).functions["main"])
        plan = lower(sanitized.function, trial.options, sanitized.choose)
        (result,) = sanitized.runner(plan).run(list(operands))
        return None if trial.findings else result

    def report(self, check: str, operation: Operation, violation: Violation) -> None:
        """Add a finding of a check.

        Raises:
            UndefinedBehaviorError: findings are raised.
        """
        self.findings.report(
            Finding(
                check,
                operation.name,
                str(operation.location),
                violation.index,
                violation.value,
                violation.message,
                violation.count,
                source_line(operation.location),
            )
        )

    def report_failure(self, error: ExecutionError, view: Op, operands: Sequence[Any]) -> None:
        """Add the error of a step, if it concerns a check.

        Raises:
            UndefinedBehaviorError: findings are raised.
        """
        if error.operation in _DIVISIONS and "division_by_zero" in self.checks:
            pair = tuple([elements.number(operand) for operand in operands])
            self.report("division_by_zero", view.operation, Violation((), pair, f"{pair[0]} is divided by 0"))
        elif _is_mismatch(error, view):
            shapes = tuple([np.shape(operand) for operand in operands])
            self._report_mismatch(error, shapes, source_line(view.operation.location))

    def _report_mismatch(
        self, error: ExecutionError, shapes: tuple[Any, ...], source: str | None = None
    ) -> None:
        if "shape_mismatch" in self.checks:
            label = f"{error.label}: " if error.label else ""
            message = f"{label}{error.reason}"
            location = str(error.location)
            self.findings.report(
                Finding("shape_mismatch", str(error.operation), location, (), shapes, message, source=source)
            )


def _is_cheap(operation: Operation, operands: Sequence[Array]) -> bool:
    """Whether an operation with regions, which take nothing from outside, ends soon."""
    loops = any(inner.name == While.name for inner in operation.walk())
    small = sum(operand.size for operand in operands) <= MAX_TRIAL_ELEMENTS
    return small and not loops and not captured_values(operation.regions)


def _is_mismatch(error: ExecutionError, view: Op | None) -> bool:
    """Whether an error reports shapes that do not agree: a violated constraint, or a failed assertion."""
    if isinstance(error, UndefinedBehaviorError) or error.__cause__ is not None:
        return False
    if error.label is not None or isinstance(error.__context__, VerifyError):
        return True
    if view is None:
        return error.operation == CustomCall.name
    if error.operation != view.name:
        return False
    if isinstance(view, CustomCall):
        return view.call_target_name == "shape_assertion" or view.call_target_name not in BUILT_IN
    return isinstance(view, RunTimeShaped) or has_unknown_sizes(view)


def _as_tuple(results: object) -> tuple[Any, ...]:
    """Results of a step's function, as arrays."""
    if type(results) is np.ndarray:
        return (results,)
    values = results if type(results) is tuple else (results,)
    return tuple([np.asarray(value) if isinstance(value, np.generic) else value for value in values])


class SanitizedFunction:
    """A function whose operations run with the checks of a sanitizer."""

    def __init__(self, sanitizer: Sanitizer, function: Function) -> None:
        self.sanitizer = sanitizer
        self.function = function
        is_traceable = "uninitialized_memory" in sanitizer.checks and may_be_unwritten(function)
        self.shadows = Shadows() if is_traceable else None

    def choose(self, view: Op, options: Options) -> Implementation:
        """The implementation of an operation: the usual one, except for regions with checks, which are
        interpreted.
        """
        as_written = self._drops_windows(view) or self._has_checked_regions(view)
        choice = choose(view, options if as_written else self.sanitizer.options)
        if isinstance(view, (While, If, Case)):
            return choice
        function = choice.function
        checked = self._checked(view, function)
        if checked is function:
            return choice
        return Prepared(checked, choice.kind, choice.reason, choice.takes_regions)

    def _drops_windows(self, view: Op) -> bool:
        is_asked_for = self.sanitizer.options.scatter_out_of_bounds == "window"
        return is_asked_for and isinstance(view, Scatter) and may_drop_windows(view)

    def _has_checked_regions(self, view: Op) -> bool:
        """Whether the operations in the regions of an operation have checks, so that the regions must run."""
        if isinstance(view, (While, If, Case)) or self.shadows is not None:
            return True
        regions = [region for region in view.operation.regions if not _is_one_operation(region)]
        inner = [one for region in regions for one in region.walk()]
        computing = [one for one in inner if not declaration_of(one).is_terminator]
        return any(self.sanitizer.inspections(Op.of(one)) for one in computing)

    def runner(self, plan: Plan) -> Any:
        """The `Runner` of a plan, and the observer of its results."""
        runner = Runner(plan)
        return runner if self.shadows is None else _ResultCheckingRunner(runner, self)

    def _checked(self, view: Op, function: Callable[..., object]) -> Callable[..., Any]:
        """A step's function, followed by the checks; itself where there is nothing to check."""
        inspections = self.sanitizer.inspections(view)
        follow = self.shadows.follow(view) if self.shadows is not None else None
        if self._drops_windows(view):
            return _dropping_windows(self.sanitizer, view, function, inspections, follow)
        if not inspections and follow is None and not _may_fail(view):
            return function
        return _checked(self.sanitizer, view, function, inspections, follow)


def _is_one_operation(region: Region) -> bool:
    """Whether a region is one operation on plain elements, so that reductions never run it."""
    return monoid(region) is not None and not has_quantized_types(region.block.operations[0])


def _may_fail(view: Op) -> bool:
    """Whether an error of an operation may be a finding."""
    return isinstance(view, (RunTimeShaped, CustomCall)) or view.name in _DIVISIONS or has_unknown_sizes(view)


def _checked(
    sanitizer: Sanitizer,
    view: Op,
    function: Callable[..., object],
    inspections: Sequence[tuple[str, Inspect]],
    follow: ShadowUpdate | None,
) -> Callable[..., Any]:
    operation = view.operation

    def report_read(violation: Violation) -> None:
        sanitizer.report("uninitialized_memory", operation, violation)

    def run(*operands: Any, **regions: Any) -> Any:
        try:
            returned = function(*operands, **regions)
        except ExecutionError as error:
            sanitizer.report_failure(error, view, operands)
            raise
        results = _as_tuple(returned)
        for check, inspect in inspections:
            violation = inspect(operands, results)
            if violation is not None:
                sanitizer.report(check, operation, violation)
        if follow is not None:
            follow(operands, results, report_read)
        return results if type(returned) is tuple else results[0]

    return run


def _dropping_windows(
    sanitizer: Sanitizer,
    view: Op,
    function: Callable[..., object],
    inspections: Sequence[tuple[str, Inspect]],
    follow: ShadowUpdate | None,
) -> Callable[..., Any]:
    """A scatter without partial windows, whose index checks see the original indices."""
    index_inspections = [
        inspection for inspection in inspections if inspection[0] in ("dropped_updates", "indices_are_sorted")
    ]
    inner = _checked(
        sanitizer,
        view,
        function,
        [inspection for inspection in inspections if inspection not in index_inspections],
        follow,
    )
    outer = _checked(sanitizer, view, lambda *operands, **regions: None, index_inspections, None)

    def run(*operands: Any, **regions: Any) -> Any:
        outer(*operands)
        return inner(*_without_partial_windows(view, operands), **regions)

    return run


def _without_partial_windows(view: Any, operands: Sequence[Array]) -> list[Array]:
    """The operands of a scatter, with indices that exclude the windows which are partly out of bounds."""
    count = len(view.inputs)
    arguments = list(operands)
    shapes = operands[0].shape, operands[count + 1].shape
    arguments[count] = indices_without_partial_windows(view, shapes[0], operands[count], shapes[1])
    return arguments


class _ResultCheckingRunner:
    """Runs a plan and checks its results for uninitialized memory."""

    def __init__(self, runner: Runner, sanitized: SanitizedFunction) -> None:
        assert sanitized.function.body is not None
        self._runner = runner
        self._sanitized = sanitized
        self._terminator = sanitized.function.body.block.terminator

    def run(self, arguments: Any, limits: Limits | None = None) -> list[Any]:
        """The results; see `Runner.run`."""
        results: list[Any] = self._runner.run(arguments, limits)
        shadows = self._sanitized.shadows
        assert shadows is not None

        def report_read(violation: Violation) -> None:
            self._sanitized.sanitizer.report("uninitialized_memory", self._terminator, violation)

        for number, result in enumerate(results):
            shadows.read(result, f"result {number}", report_read)
        return results
