"""Judging programs: against the reference interpreter, and one mode against the others."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import NimbleError, Options
from nimblehlo.checks.fuzzing.generator import RandomProgram, is_constant
from nimblehlo.program.ir import Operation, Value, captured_values
from nimblehlo.types import TensorType
from tests.support.internal_errors import internal_error
from tests.support.reference_interpreter import NoAnswer, ReferenceInterpreter

from . import rules, thresholds
from .equivalents import lacks
from .programs import random_program
from .shrink import shrunk
from .variants import (
    concatenated_components,
    constant_array,
    constants,
    for_interpreter,
    for_runtime,
    observed_values,
    single_operation,
    text_of,
)

Array = np.ndarray[Any, Any]

BATCH = 50
"""Programs that one process of the interpreter is given."""
MOST_ROUNDS = 40
REFERENCE_SHARE = 10


@dataclass
class Failure:
    """A program that did not do what it should.

    Attributes:
        seed: of the program.
        kind: the operation whose result differs, or what else went wrong.
        reason: in words.
        text: the program, as small as it could be made.
        is_alone: whether that is a single operation already.
        inputs: what the program is called with.
    """

    seed: int
    kind: str
    reason: str
    text: str
    is_alone: bool = False
    inputs: Sequence[Array] = ()


@dataclass
class Tally:
    """What a campaign has seen.

    Attributes:
        programs: how many programs were judged.
        operations: how often each operation was judged.
        differing: how often a result of an operation differed where it may.
        without_answer: what the interpreter could not run, by reason.
        failures: what differs and may not.
    """

    programs: int = 0
    operations: collections.Counter[str] = field(default_factory=collections.Counter)
    differing: collections.Counter[str] = field(default_factory=collections.Counter)
    without_answer: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[Failure] = field(default_factory=list)


class Campaign:
    """Runs random programs.

    Args:
        eager_share: one program of so many is also run with everything compiled; 0: none. One program of
            REFERENCE_SHARE is run by references, unless they are large.
        large: whether programs are large, and only modes are compared, without the interpreter.
        at_thresholds: whether they are drawn as `thresholds` says, large ones then with products that are
            compared with wider sums.
    """

    def __init__(self, eager_share: int = 20, large: bool = False, at_thresholds: bool = False) -> None:
        self.eager_share = eager_share
        self.large = large
        self.at_thresholds = at_thresholds
        self.sizes = thresholds.sizes() if at_thresholds else ()
        self.interpreter = ReferenceInterpreter()
        self.tally = Tally()

    def run(self, seeds: Sequence[int]) -> Tally:
        """Judge the programs of these seeds."""
        for start in range(0, len(seeds), BATCH):
            chosen = seeds[start : start + BATCH]
            programs = [random_program(seed, self.large, self.sizes) for seed in chosen]
            self.judge_all(chosen, programs)
        return self.tally

    def judge_all(
        self, seeds: Sequence[int], programs: Sequence[RandomProgram], *, shrink: bool = True
    ) -> None:
        """Judge programs, each under its seed."""
        if self.large:
            for seed, program in zip(seeds, programs, strict=True):
                self._enter(seed, program, functools.partial(self._judge, seed, program, None, {}), shrink)
            return
        observed = [observed_values(program) for program in programs]
        own = [stand_ins(program) for program in programs]
        texts = [for_interpreter(*parts) for parts in zip(programs, observed, own, strict=True)]
        answers = self.interpreter.evaluate(texts)
        for seed, program, values, given, answer in zip(seeds, programs, observed, own, answers, strict=True):
            wanted = None
            if isinstance(answer, NoAnswer):
                self._without_answer(seed, program, answer)
            else:
                wanted = dict(zip(values, concatenated_components(answer, values), strict=True))
            judge = functools.partial(self._judge, seed, program, wanted, given)
            self._enter(seed, program, judge, shrink)

    def _enter(
        self, seed: int, program: RandomProgram, judge: Callable[[], Failure | None], shrink: bool
    ) -> None:
        """Count a program, and its failure where it has one."""
        try:
            failure = judge()
        except Exception as error:
            name = internal_error(error) or type(error).__name__
            failure = Failure(seed, name, str(error), text_of(program))
        self.tally.programs += 1
        if failure is not None:
            self.tally.failures.append(self._shrunk(failure, program) if shrink else failure)

    def _without_answer(self, seed: int, program: RandomProgram, answer: NoAnswer) -> None:
        if answer.rejected and "failed to legalize operation 'chlo." not in answer.reason:
            failure = Failure(seed, "rejected by StableHLO", answer.reason, text_of(program))
            self.tally.failures.append(failure)
        else:
            lines = [line for line in answer.reason.splitlines() if "error" in line.lower()]
            self.tally.without_answer[(lines or [answer.reason])[0][:110]] += 1

    def _shrunk(self, failure: Failure, program: RandomProgram) -> Failure:
        """The failure with as small a program as shows one of the same kind."""
        if failure.is_alone:
            return failure

        def fails(candidate: RandomProgram) -> bool:
            other = Campaign(self.eager_share, self.large, self.at_thresholds)
            other.interpreter = self.interpreter
            other.judge_all([failure.seed], [candidate], shrink=False)
            return any(found.kind == failure.kind for found in other.tally.failures)

        try:
            values = run(program, observed_values(program), {})
        except NimbleError:
            values = {}
        failure.text = text_of(shrunk(program, fails, values))
        return failure

    def _judge(
        self,
        seed: int,
        program: RandomProgram,
        wanted: Mapping[Value, Array] | None,
        given: Mapping[Value, Array],
    ) -> Failure | None:
        """Why a program failed, or None."""
        observed = observed_values(program)
        first: dict[Value, Array] | None = None
        if wanted is not None:
            first, failure = self._compare(seed, program, wanted, given)
            if failure is not None:
                return failure
        elif self.large:
            first = run(program, observed, {})
            for operation in program.block.operations:
                self.tally.operations[operation.name] += not is_constant(operation.results[0])
            wrong = self._wrong_product(program, first)
            if wrong is not None:
                return Failure(seed, *wrong, text_of(program))
        return self._run_every_mode(seed, program, first, observed)

    def _wrong_product(self, program: RandomProgram, values: Mapping[Value, Array]) -> tuple[str, str] | None:
        """The kind and the reason of a failure, where products are judged by themselves."""
        if not self.at_thresholds:
            return None
        known = {value: constant_array(value) for value in constants(program)}
        return thresholds.wrong_product(program, known | dict(values))

    def _compare(
        self,
        seed: int,
        program: RandomProgram,
        wanted: Mapping[Value, Array],
        given: Mapping[Value, Array],
    ) -> tuple[dict[Value, Array], Failure | None]:
        """Compare each value with the interpreter's; returns the values of the first run too."""
        known = {value: constant_array(value) for value in constants(program)} | dict(wanted)
        cuts: dict[Value, Array] = dict(given)
        first: dict[Value, Array] = {}
        for round in range(MOST_ROUNDS):
            got = run(program, list(wanted), cuts)
            first = first or (got if not cuts else run(program, list(wanted), {}))
            reason, new_cuts = self._differences(seed, program, known, got, cuts, count=round == 0)
            if reason is None and not new_cuts:
                reason = self._lacking(seed, program, known, got)
            if reason is not None or not new_cuts:
                return first, reason
            cuts |= {value: wanted[value] for value in new_cuts}
        return first, Failure(seed, "rounds", "too many rounds", text_of(program))

    def _lacking(
        self, seed: int, program: RandomProgram, known: Mapping[Value, Array], got: Mapping[Value, Array]
    ) -> Failure | None:
        """Judge the operations that the interpreter cannot run, as far as that can be done."""
        for operation in program.block.operations:
            if operation.results[0] in got and lacks(operation):
                operands = [known[value] for value in operation.operands]
                reason = rules.independent(operation, operands, [got[value] for value in operation.results])
                if reason is not None:
                    text = text_of(single_operation(operation, [], known))
                    return Failure(seed, operation.name, reason, text, is_alone=True)
        return None

    def _differences(
        self,
        seed: int,
        program: RandomProgram,
        known: Mapping[Value, Array],
        got: Mapping[Value, Array],
        cuts: Mapping[Value, Array],
        count: bool,
    ) -> tuple[Failure | None, list[Value]]:
        """The first result that may not differ as it does; else the values that differ and may."""
        differing: list[Value] = []
        unclear: set[Value] = set()
        for operation in program.block.operations:
            if is_constant(operation.results[0]):
                continue
            needed = [*operation.operands, *captured_values(operation.regions)]
            if not unclear.isdisjoint(needed):
                unclear.update(operation.results)
                continue
            tensors = [value for value in operation.results if value in got]
            if count and not all(value in cuts for value in tensors):
                self.tally.operations[operation.name] += bool(tensors)
            if all(identical(got[value], known[value]) for value in tensors):
                continue
            unclear.update(value for value in operation.results if value not in cuts)
            if all(value in cuts for value in operation.results):
                continue
            reason = rules.difference(
                operation,
                [known.get(value) for value in operation.operands],
                [known[value] for value in tensors],
                [got[value] for value in tensors],
            )
            if reason is not None:
                return self._failure(seed, program, operation, known, reason), []
            self.tally.differing[operation.name] += 1
            differing += [value for value in tensors if value not in cuts]
        return None, differing

    def _failure(
        self,
        seed: int,
        program: RandomProgram,
        operation: Operation,
        known: Mapping[Value, Array],
        reason: str,
    ) -> Failure:
        """A failure, with the operation alone where that fails too."""
        text = text_of(program)
        needed = [*operation.operands, *captured_values(operation.regions)]
        if all(value in known for value in needed):
            alone = single_operation(operation, program.functions, known)
            values = observed_values(alone)
            got = list(run(alone, values, {}).values())
            answer = [known[value] for value in operation.results]
            inputs = [known.get(value) for value in operation.operands]
            if rules.difference(operation, inputs, answer, got) is not None:
                return Failure(seed, operation.name, reason, text_of(alone), is_alone=True)
        return Failure(seed, operation.name, f"{reason} (not where the operation is alone)", text)

    def _run_every_mode(
        self,
        seed: int,
        program: RandomProgram,
        first: Mapping[Value, Array] | None,
        observed: Sequence[Value],
    ) -> Failure | None:
        """All modes must give the same bits."""
        results = program.results
        modes = {"never": Options(compile="never"), "auto": Options()}
        if seed % REFERENCE_SHARE == 0 and not self.large:
            modes["reference"] = Options(reference=True)
        if self.eager_share and seed % self.eager_share == 0:
            modes["eager"] = Options(compile="eager")
            if self.large:
                modes |= {f"{n} threads": Options(compile="eager", threads=n) for n in (1, 3)}
        expected = None if first is None else [first.get(value) for value in results]
        expected_mode = "returning every value"
        for mode, options in modes.items():
            got = list(run(program, results, {}, options).values())
            if expected is not None:
                for value, a, b in zip(results, got, expected, strict=True):
                    if b is not None and not rules.same_but_for_nan(a, b):
                        if _same_from_same_nans(program, value, options):
                            continue
                        reason = f"{mode} and {expected_mode} differ: {rules.first_difference(b, a)}"
                        name = value.owner.name if isinstance(value.owner, Operation) else "argument"
                        return Failure(seed, f"modes: {name}", reason, text_of(program))
            expected, expected_mode = got, mode
        return None


def _same_from_same_nans(program: RandomProgram, value: Value, options: Options) -> bool:
    """Whether a mode gives the same value where operations that tell NaNs apart are given the same ones."""
    telling = [operation for operation in program.block.operations if rules.tells_nans_apart(operation)]
    read = {operand for operation in telling for operand in operation.operands if not is_constant(operand)}
    if not read:
        return False
    cuts = run(program, [operand for operand in read if isinstance(operand.type, TensorType)], {})
    (a,), (b,) = (run(program, [value], cuts, how).values() for how in (None, options))
    return rules.same_but_for_nan(a, b)


def stand_ins(program: RandomProgram) -> dict[Value, Array]:
    """What the runtime itself computes for operations that the interpreter cannot run."""
    lacking = [operation for operation in program.block.operations if lacks(operation)]
    if not lacking:
        return {}
    return run(program, [value for operation in lacking for value in operation.results], {})


def run(
    program: RandomProgram,
    returned: Sequence[Value],
    cuts: Mapping[Value, Array],
    options: Options | None = None,
) -> dict[Value, Array]:
    """The values that a program computes."""
    module, inputs = for_runtime(program, returned, cuts)
    loaded = nimblehlo.load(str(module))
    before = [array.tobytes() for array in inputs]
    results = nimblehlo.execute(loaded, inputs, options=options or Options(compile="never"))
    assert [array.tobytes() for array in inputs] == before, "an input was written to"
    for value, result in zip(returned, results, strict=True):
        assert isinstance(value.type, TensorType)
        assert result.dtype == value.type.dtype and result.shape == value.type.shape, (
            f"{value.type} came as {result.dtype}{result.shape}"
        )
    return dict(zip(returned, results, strict=True))


def identical(a: Array, b: Array) -> bool:
    """Whether all bits are the same."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
