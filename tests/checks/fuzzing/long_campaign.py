"""Judging long programs: the same bits in every mode, on any number of threads, and at every
call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.fuzzing.generator import RandomProgram, is_constant
from nimblehlo.compiler import cost_model
from nimblehlo.compiler.plan import lowering
from nimblehlo.compiler.plan.tiering.background import BACKGROUND
from nimblehlo.program.ir import Block, Builder, Value
from nimblehlo.types import TensorType
from tests.support.internal_errors import internal_error

from . import rules
from .campaign import Failure, Tally
from .equivalents import constant
from .long_programs import long_program
from .shrink_long import shrunk_in_chunks
from .variants import constant_array, constants, module_of, observed_values

Array = np.ndarray[Any, Any]

CALLS = 10
"""How often one Executable is called."""
THREADS = (1, 2, 3, 5)
SHRINKING_SECONDS = 300.0
_PATIENCE = (0.0, 0.05, 2.0)
"""Of automatic compilation, in turn: everything is compiled at the first call, during the calls, or as
usual."""


class LongCampaign:
    """Runs long random programs.

    Args:
        operations: least operations of a program.
        eager_share: of one program of so many everything is compiled, on several numbers of threads; 0: of
            none.
        make: the program of a seed; None: `random_long_program`.
        shrinking_seconds: how long a failing program is made smaller.

    Attributes:
        tally: what was seen.
        not_finite: results that have a NaN or an infinity, in which differences could hide.
        results: how many results there were.
    """

    def __init__(
        self,
        operations: int,
        eager_share: int = 1,
        make: Callable[[int], RandomProgram] | None = None,
        shrinking_seconds: float = SHRINKING_SECONDS,
    ) -> None:
        self.eager_share = eager_share
        self.make = make or (lambda seed: random_long_program(seed, operations))
        self.shrinking_seconds = shrinking_seconds
        self.tally = Tally()
        self.not_finite = self.results = 0

    def run(self, seeds: Sequence[int]) -> Tally:
        """Judge the programs of these seeds."""
        for seed in seeds:
            program = self.make(seed)
            for operation in program.block.operations:
                self.tally.operations[operation.name] += not is_constant(operation.results[0])
            self.tally.programs += 1
            found = self.difference(program, self.modes(seed))
            if found is not None:
                self.tally.failures.append(self.failure(seed, program, *found))
        return self.tally

    def modes(self, seed: int) -> list[tuple[Options, float, int]]:
        """The modes of a program: options, patience, and how often it is called."""
        found = [(Options(compile="never"), _PATIENCE[2], 2)]
        found.append((Options(), _PATIENCE[seed % len(_PATIENCE)], CALLS))
        if self.eager_share and seed % self.eager_share == 0:
            found.append((Options(compile="eager"), _PATIENCE[2], CALLS))
            found += [(Options(compile="eager", threads=n), _PATIENCE[2], 2) for n in THREADS]
        return found

    def difference(
        self, program: RandomProgram, modes: Sequence[tuple[Options, float, int]]
    ) -> tuple[str, str, tuple[Options, float, int]] | None:
        """How the first mode that differs does so: its kind, why, and the mode; None if all agree."""
        expected: list[Array] | None = None
        for mode in modes:
            options, patience, calls = mode
            try:
                for number, got in enumerate(called(program, options, patience, calls)):
                    if expected is None:
                        expected = got
                        self.count_finite(got)
                    for value, a, b in zip(program.results, got, expected, strict=True):
                        if not rules.same_but_for_nan(a, b):
                            name = getattr(value.owner, "name", "argument")
                            reason = f"call {number} of {_name(mode)} differs: {rules.first_difference(b, a)}"
                            return f"modes: {name}", reason, mode
            except Exception as error:
                name = internal_error(error) or type(error).__name__
                return name, f"{_name(mode)}: {type(error).__name__}: {error}", mode
        return None

    def count_finite(self, arrays: Sequence[Array]) -> None:
        floats = [array for array in arrays if array.dtype.kind == "f"]
        self.results += len(floats)
        self.not_finite += sum(not np.isfinite(array).all() for array in floats)

    def failure(
        self, seed: int, program: RandomProgram, kind: str, reason: str, mode: tuple[Options, float, int]
    ) -> Failure:
        """A failure, with as small a program as fails in the same way."""
        modes = [(Options(compile="never"), _PATIENCE[2], 1), mode]
        if mode[0].compile == "never":
            modes = [mode]
        other = LongCampaign(0)

        def fails(candidate: RandomProgram) -> bool:
            found = other.difference(candidate, modes)
            return found is not None and (
                found[0] == kind or found[0].startswith("modes") == kind.startswith("modes")
            )

        try:
            values = values_of(program)
        except nimblehlo.NimbleError:
            values = None
        if values is not None and fails(program):
            program = shrunk_in_chunks(program, fails, values, self.shrinking_seconds)
        arguments = lifted(program)
        text = str(module_of(program, arguments, {}, program.results))
        return Failure(seed, kind, reason, text, inputs=[constant_array(value) for value in arguments])


def random_long_program(seed: int, operations: int) -> RandomProgram:
    """A program of at least about so many operations: any operations, or for one seed of three a training
    step."""
    if seed % 3:
        return long_program(seed, operations)
    from tests.training.steps import random_step

    step = random_step(seed, max(2, operations // 50))
    return program_of(str(step.lowered().as_text()), step.inputs())


def program_of(text: str, inputs: Sequence[Array]) -> RandomProgram:
    """A program's text with its inputs as constants."""
    module = nimblehlo.load(text)
    main = module.functions["main"]
    assert main.body is not None
    program = RandomProgram(Block(), [one for name, one in module.functions.items() if name != "main"])
    builder, mapping = Builder(program.block), {}
    for argument, array in zip(main.body.block.arguments, inputs, strict=True):
        assert isinstance(argument.type, TensorType)
        mapping[argument] = constant(builder, argument.type, array)
    for operation in main.body.block.operations[:-1]:
        builder.copy(operation, mapping)
    program.returned = [mapping[value] for value in main.body.block.terminator.operands]
    return program


def lifted(program: RandomProgram) -> list[Value]:
    """The constants that become arguments: those of several elements."""
    return [value for value in constants(program) if value.type.size > 1]  # type: ignore[union-attr]


def called(program: RandomProgram, options: Options, patience: float, calls: int) -> Iterator[list[Array]]:
    """The results of calls of one Executable; code that is compiled beside a call is there at the next but
    one."""
    arguments = lifted(program)
    text = str(module_of(program, arguments, {}, program.results))
    inputs = [constant_array(value) for value in arguments]
    before = [array.tobytes() for array in inputs]
    with _settings(patience):
        executable = nimblehlo.compile(text, options=options)
        for number in range(calls):
            yield executable(*inputs)
            if number % 2:
                BACKGROUND.wait()
    assert [array.tobytes() for array in inputs] == before, "an input was written to"


@contextmanager
def _settings(patience: float) -> Iterator[None]:
    """Let automatic compilation begin earlier, and operands of any size be overwritten that die."""
    thresholds, min_bytes = dict(cost_model.THRESHOLDS), lowering._MIN_OVERWRITTEN_BYTES
    for threshold_class in ("code", "kernel", "ufunc program", "steps", "steps in regions"):
        background_start = thresholds[threshold_class].background_start
        cost_model.THRESHOLDS[threshold_class] = cost_model.Thresholds(background_start, patience)
    lowering._MIN_OVERWRITTEN_BYTES = 1
    try:
        yield
    finally:
        cost_model.THRESHOLDS.update(thresholds)
        lowering._MIN_OVERWRITTEN_BYTES = min_bytes


def values_of(program: RandomProgram) -> dict[Value, Array]:
    """What each operation makes, by references."""
    observed = observed_values(program)
    arguments = lifted(program)
    module = module_of(program, arguments, {}, observed)
    inputs = [constant_array(value) for value in arguments]
    results = nimblehlo.execute(str(module), inputs, options=Options(compile="never"))
    known = {value: constant_array(value) for value in constants(program)}
    return known | dict(zip(observed, results, strict=True))


def _name(mode: tuple[Options, float, int]) -> str:
    options, patience, _ = mode
    threads = "" if options.threads is None else f", {options.threads} threads"
    return f"{options.compile}{threads}" + (f", patience {patience}" if options.compile == "auto" else "")
