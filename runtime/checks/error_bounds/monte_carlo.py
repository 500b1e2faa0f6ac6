"""Runs a program as written, with random errors that the rounding rules of its operations allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...compiler.plan import Implementation, Prepared, choose
from ...compiler.specialize import Budget, bind, entry_function
from ...errors import ExecutionError
from ...execution.inputs import convert_input
from ...execution.program import Program
from ...options import Options
from ...program.ir import Function, Module, Operation
from ...program.ops.control.control import Case, If, While
from ...program.ops.framework.declaration import Op, declaration_of
from ...types import COMPLEX, FLOAT, Array, TensorType
from .bitcasts import BitcastRule, bitcast_rule
from .initial_values import alternatives
from .open_values import OpenRule, filled, open_rule
from .operation_kinds import is_correctly_rounded
from .reduction_bounds import Rule
from .rounding_rules import rounding_rule
from .ulps import SIGMAS, is_flushable, is_inexact, is_subnormal, layout_of, ulp, wide_dtype

NOISE: Final = math.sqrt(3) / SIGMAS
"""The largest random error relative to an operation's bound, which is `SIGMAS` deviations of the errors."""
MAX_RECORDED_BYTES: Final = 64 << 20
"""Bytes of intermediate results that are kept for comparing runs operation by operation."""


@dataclass
class Call:
    """One execution of an operation.

    Attributes:
        step: the operation's step.
        operands: the operands.
        results: the results, including their random errors.
    """

    step: NoisyStep
    operands: Sequence[Array]
    results: Sequence[Array]


@dataclass
class NoisyRun:
    """One run of a `NoisyProgram`: its settings, and what is counted and recorded meanwhile.

    Attributes:
        random: draws the errors; None: there are none.
        is_alone: whether one call alone rounds. Its errors are the largest that its rule allows, with random
            signs. Otherwise errors are uniform with `NOISE` of that, and correctly rounded operations are off
            too: a compiler that contracts a product and a sum, or computes in a wider type, does not round in
            between.
        rounds: whether operations have rounding errors. Otherwise only the choices are random that the
            specification leaves open.
        choice: the index of the result that reductions return if initial values allow several, 0 being ours;
            None: a random one.
        records: whether calls are recorded.
        calls: the recorded calls.
        rounding_calls: the number of calls with rounding errors.
        flushing_calls: the number of calls with subnormal operands, which processors may flush to zero.
        open_calls: the number of calls with elements that the specification leaves open.
        choosing_calls: the number of calls with several valid results because of initial values.
        choices: the maximum number of results of such a call.
    """

    random: np.random.Generator | None = None
    is_alone: bool = False
    rounds: bool = True
    choice: int | None = 0
    records: bool = False
    calls: list[Call] = field(default_factory=list)
    rounding_calls: int = 0
    flushing_calls: int = 0
    open_calls: int = 0
    choosing_calls: int = 0
    choices: int = 1
    recorded_bytes: int = 0


class NoisyStep:
    """An operation that adds random errors to its results.

    Args:
        view: the operation.
        function: the function that computes its results.
        takes_regions: whether `function` takes the regions.
        program: holds the current run.
    """

    def __init__(
        self, view: Op, function: Callable[..., Any], takes_regions: bool, program: NoisyProgram
    ) -> None:
        self.operation: Operation = view.operation
        self.rule: Rule | None = rounding_rule(view)
        self.is_basic = is_correctly_rounded(view.operation) and _is_float(view.operation)
        self._open = open_rule(view)
        self._alternatives = alternatives(view)
        self._function = function
        self._takes_regions = takes_regions
        self._program = program
        self.bitcast = bitcast_rule(view)

    def __call__(self, *operands: Any, **regions: Any) -> Any:
        run = self._program.current_run
        if run.random is not None and run.rounds:
            operands = self._flushed(run, run.random, operands)
        returned = self._function(*operands, **regions) if self._takes_regions else self._function(*operands)
        # A value of a tuple type is a `TupleValue`, not a tuple.
        is_several = type(returned) is tuple
        results: Sequence[Any] = returned if is_several else (returned,)
        if self._alternatives is not None and (run.random is not None or run.choice):
            results = self._chosen(run, operands, results, regions["body"])
        if run.random is not None:
            if run.rounds and (self.rule is not None or self.is_basic):
                results = self._perturbed_results(run, run.random, operands, results)
            if self._open is not None:
                results = self._filled(run, run.random, self._open, operands, results)
            if self.bitcast is not None and run.rounds:
                results = self._filled(run, run.random, self.bitcast, operands, results)
        elif self.bitcast is not None and not run.choice:
            self.bitcast.record(np.asarray(results[0]))
        if run.records and run.recorded_bytes < MAX_RECORDED_BYTES:
            _record(run, self, operands, results)
        return tuple(results) if is_several else results[0]

    def _chosen(
        self, run: NoisyRun, operands: Sequence[object], results: Sequence[object], body: Any
    ) -> Sequence[Any]:
        """The computed results, or other correct results that the initial values allow."""
        assert self._alternatives is not None
        arrays = [np.asarray(operand) for operand in operands], [np.asarray(result) for result in results]
        others = self._alternatives(*arrays, body)
        if not others:
            return results
        run.choosing_calls += 1
        run.choices = max(run.choices, len(others) + 1)
        choice = run.choice
        if choice is None:
            assert run.random is not None
            choice = int(run.random.integers(0, len(others) + 1))
        return tuple(others[choice - 1]) if 0 < choice <= len(others) else results

    def _filled(
        self,
        run: NoisyRun,
        random: np.random.Generator,
        rule: OpenRule,
        operands: Sequence[object],
        results: Sequence[object],
    ) -> tuple[Any, ...]:
        """The results with random values in the elements that a rule marks as open."""
        inputs = [np.asarray(operand) for operand in operands]
        arrays = [np.asarray(result) for result in results]
        marks = rule(inputs, arrays)
        run.open_calls += any(mask is not None for mask in marks)
        return tuple(
            [
                result if mask is None else filled(array, mask, inputs, random)
                for result, array, mask in zip(results, arrays, marks, strict=True)
            ]
        )

    def _flushed(
        self, run: NoisyRun, random: np.random.Generator, operands: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """The operands; in half of the runs, subnormal numbers of some are flushed to zero."""
        flushable = [isinstance(one, np.ndarray) and is_flushable(one) for one in operands]
        if not any(flushable):
            return operands
        run.flushing_calls += 1
        if random.random() < 0.5:
            return operands
        # One operand may be flushed, and another one not, as where it stays in a wider type.
        flags = random.random(len(operands)) < 0.5
        return tuple(flushed(one) if flag else one for one, flag in zip(operands, flags, strict=True))

    def _perturbed_results(
        self,
        run: NoisyRun,
        random: np.random.Generator,
        operands: Sequence[object],
        results: Sequence[object],
    ) -> tuple[Any, ...]:
        arrays = [np.asarray(result) for result in results]
        amounts = self.amounts(run, [np.asarray(operand) for operand in operands], arrays)
        if any(amount is not None and np.any(amount) for amount in amounts):
            run.rounding_calls += 1
        return tuple(
            [
                result if amount is None else perturbed(array, amount, random, extreme=run.is_alone)
                for result, array, amount in zip(results, arrays, amounts, strict=True)
            ]
        )

    def amounts(
        self, run: NoisyRun, operands: Sequence[Array], results: Sequence[Array]
    ) -> Sequence[Array | None]:
        """The largest error of each element."""
        if self.rule is not None:
            bounds = self.rule(operands, results)
            if run.is_alone:
                return bounds
            # Errors below a unit in the last place would be lost when they are rounded.
            return [
                None if bound is None else np.where(bound > 0, np.maximum(NOISE * bound, ulp(result)), 0.0)
                for bound, result in zip(bounds, results, strict=True)
            ]
        if run.is_alone:
            return [None for _ in results]
        return [_rounding_error(self.operation, operands, results[0])]


def flushed(operand: object) -> Any:
    """A value with its subnormal numbers flushed to zero."""
    if not isinstance(operand, np.ndarray) or not is_flushable(operand):
        return operand
    if operand.dtype.kind == "c":
        result = operand.copy()
        result.real, result.imag = flushed(operand.real), flushed(operand.imag)
        return result
    return np.where(is_subnormal(operand), np.zeros((), operand.dtype), operand)


def _is_float(operation: Operation) -> bool:
    type = operation.results[0].type
    return isinstance(type, TensorType) and bool(type.category & (FLOAT | COMPLEX))


def _record(run: NoisyRun, step: NoisyStep, operands: Sequence[object], results: Sequence[object]) -> None:
    arrays = [np.asarray(one) for one in operands], [np.asarray(one) for one in results]
    run.recorded_bytes += sum(one.nbytes for one in arrays[1])
    run.calls.append(Call(step, *arrays))


def _rounding_error(operation: Operation, operands: Sequence[Array], result: Array) -> Array:
    """One ulp for each element that a correctly rounded operation does not compute exactly, otherwise 0."""
    function = _EXACTLY.get(declaration_of(operation).wider)
    if function is None:
        return ulp(result)
    extended = np.clongdouble if result.dtype.kind == "c" else np.longdouble
    with np.errstate(all="ignore"):
        try:
            exact = function(*[_extended(operand, extended) for operand in operands])
        except ValueError:
            # Operands that CHLO broadcasts along other dimensions than NumPy.
            return ulp(result)
        rounds = exact != _extended(result, extended)
    return np.where(rounds, ulp(result), 0.0)


def _extended(array: Array, extended: Any) -> Any:
    wide = array.astype(wide_dtype(array.dtype)) if is_inexact(array.dtype) else array
    return wide.astype(extended)


_EXACTLY: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "sqrt": np.sqrt,
    "square": np.square,
    "convert": lambda operand: operand,
}


def perturbed(array: Array, amount: Array, random: np.random.Generator, *, extreme: bool = False) -> Array:
    """An array with a random error added to each element.

    In half of the calls, subnormal numbers become zero, as on processors that flush them.

    Args:
        array: of floats or complex numbers.
        amount: the largest error of each element; where it is infinite, the element becomes any value, also
            one that is not finite.
        random: draws the errors.
        extreme: whether errors are as large as `amount`, with random signs, and not uniform.
    """
    if array.dtype.kind == "c":
        joined = np.empty_like(array)
        for component in ("real", "imag"):
            setattr(joined, component, perturbed(getattr(array, component), amount, random, extreme=extreme))
        return joined
    wide = array.astype(np.float64)
    extended = wide.astype(np.longdouble) if array.dtype == np.float64 else wide
    with np.errstate(all="ignore"):
        bounded = np.where(np.isfinite(amount), amount, np.abs(wide))
        factors = random.uniform(-1, 1, array.shape)
        wanted = extended + bounded * (np.sign(factors) if extreme else factors)
        lower = float(layout_of(array.dtype).min)
        if lower > 0:
            # A type without zero and negative numbers.
            wanted = np.maximum(wanted, lower)
        shifted = wanted.astype(array.dtype)
        result = np.where(np.isfinite(wide) & (amount > 0), shifted, array)
        if np.isposinf(amount).any():
            specials = random.choice([np.nan, np.inf, -np.inf], array.shape).astype(array.dtype)
            is_special = np.isposinf(amount) & (random.random(array.shape) < 0.5)
            result = np.where(is_special, specials, result)
    if random.random() < 0.5:
        result = np.where(is_subnormal(result), np.zeros((), array.dtype), result)
    return np.asarray(result, array.dtype)


def converted(module: Module, entry: str, inputs: Sequence[object]) -> tuple[Array, ...]:
    """The inputs as arrays of the types of a function's arguments.

    Raises:
        ExecutionError: they do not fit.
    """
    types = entry_function(module, entry).type.inputs
    if len(types) != len(inputs):
        raise ExecutionError(f"@{entry} takes {len(types)} inputs, but got {len(inputs)}")
    return tuple([convert_input(value, types[index], index) for index, value in enumerate(inputs)])


def static_function(module: Module, entry: str, arguments: Sequence[Array]) -> Function:
    """A function as it is written, with calls inlined, for arguments of these sizes."""
    types = entry_function(module, entry).type.inputs
    sizes = [
        type.with_shape(value.shape) if isinstance(type, TensorType) else type
        for value, type in zip(arguments, types, strict=True)
    ]
    return bind(module, entry, sizes, Budget(evaluate=_fold_integers))


class NoisyProgram:
    """A program whose operations run as they are written, each by its reference.

    Args:
        module: a verified program.
        entry: the function to run.
        inputs: the inputs, whose sizes the program is specialized for.
        options: the options of the run, such as seeds and orders.

    Attributes:
        current_run: the settings and counts of the current run.
        arguments: the inputs as arrays of the arguments' types.
    """

    def __init__(self, module: Module, entry: str, inputs: Sequence[object], options: Options) -> None:
        self.current_run = NoisyRun()
        self._inner: set[int] = set()
        self.arguments = converted(module, entry, inputs)
        function = static_function(module, entry, self.arguments)
        self._bitcasts: list[BitcastRule] = []
        self._has_exact_bits = False
        self._program = Program(function, options, self._choose)

    def run(self, run: NoisyRun, arguments: Sequence[Array] | None = None) -> list[Array]:
        """The results of a run.

        Raises:
            ExecutionError: the run failed.
        """
        if self._bitcasts and not self._has_exact_bits:
            self._has_exact_bits = True
            self.run(NoisyRun())
        self.current_run = run
        for bitcast in self._bitcasts:
            bitcast.restart()
        chosen = self.arguments if arguments is None else tuple(arguments)
        return [np.asarray(result) for result in self._program.run(chosen)]

    def _choose(self, view: Op, options: Options) -> Implementation:
        choice = choose(view, options)
        operation = view.operation
        if isinstance(view, (While, If, Case)) or id(operation) in self._inner:
            return choice
        # The rule of an operation with a body covers what the body computes.
        self._inner.update(id(inner) for region in operation.regions for inner in region.walk())
        step = NoisyStep(view, choice.function, choice.takes_regions, self)
        if step.bitcast is not None:
            self._bitcasts.append(step.bitcast)
        return Prepared(step, choice.kind, choice.reason)


def _fold_integers(operation: Operation, operands: Sequence[Array]) -> Any:
    """Constants of integers are folded, so that sizes are known; floats are left to the run."""

    if operation.regions or any(is_inexact(np.asarray(operand).dtype) for operand in operands):
        return None
    result = Op.of(operation).bind()(*operands)
    return None if is_inexact(np.asarray(result).dtype) else result
