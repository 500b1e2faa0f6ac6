"""What is done with a mutant of a replacement: every mode must reject it alike, or give the declared results.

Programs run at the level of verification ``"steps"``: each operation of the specialized program satisfies its
declaration, and each step returns what its types say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from nimblehlo import Grid, NimbleError, Options, compile, load
from nimblehlo.compiler.partitioner.partitioner import device_program
from nimblehlo.execution.verification import verification_level
from nimblehlo.execution.verification.declared_types import type_violation
from nimblehlo.jax.pjrt.partitioned import PartitionedProgram
from nimblehlo.kernels.compiling import closures  # noqa: F401 - an import must not be stopped half-way
from nimblehlo.program.ir import Module
from nimblehlo.program.ops.sharding.scope import meshes_of
from tests.support.internal_errors import internal_error
from tests.support.running import same_bits

from .trial import Outcome, Phase, is_cheap, run, value_of

MODES: Final[Mapping[str, Options]] = {
    "never": Options(compile="never"),
    "eager": Options(compile="eager"),
    "auto": Options(compile="auto", threads=1),
}
"""How each accepted mutant is run."""


MAX_DEVICES: Final = 64
"""Devices of the largest mesh on which a mutant is run: each is a process of a grid here."""


LONGEST_RUN: Final = 60.0
"""Seconds after which a run is stopped, later than the supervisor replaces the process: Numba, which compiles
kernels in a run, cannot bear to be stopped."""


MAX_STEPS: Final = 1000
"""Steps after which a run of a program with a loop ends; an iteration counts as one. Mutated loops often do
not end, and would take `LONGEST_RUN` in each mode."""


class WrongResult(AssertionError):
    """A mutant was accepted, and a result is none of its declared type, or differs between modes."""


def compare(
    text: str, enter: Callable[[Phase], None], outcomes: dict[bytes, Outcome] | None = None
) -> Outcome:
    """Load, compile and run a text in every mode, and compare the results.

    Args:
        text: the program.
        enter: called as each phase begins.
        outcomes: those of programs that were right, by a digest of their text, which are not run again: few
            mutants are accepted, and most of these differ in a name, a blank or a comment alone.

    Raises:
        WrongResult: see there.
        Exception: anything else that came out: a defect.
    """
    enter(Phase.LOAD)
    try:
        module = load(text)
    except NimbleError as error:
        _require_reason(error)
        return Outcome(Phase.LOAD)
    enter(Phase.COMPILE)
    key = hashlib.blake2b(str(module).encode(errors="surrogateescape")).digest()
    if outcomes is not None and key in outcomes:
        return outcomes[key]._replace(is_repeated=True)
    reached = Phase.DONE if is_cheap(module) else Phase.COMPILE
    with verification_level("steps"):
        for name, function in module.functions.items():
            if function.body is not None:
                reached = min(reached, _compare_function(module, name, enter))
    outcome = Outcome(reached)
    if outcomes is not None:
        outcomes[key] = outcome
    return outcome


def _compare_function(module: Module, name: str, enter: Callable[[Phase], None]) -> Phase:
    """How far a function gets; its results must be the same in every mode."""
    outcomes = {mode: _outcome(module, name, options, enter) for mode, options in MODES.items()}
    if name == "main":
        partitioned = _partitioned_outcome(module)
        if partitioned is not None:
            outcomes["partitioned"] = partitioned
    (first_mode, first), *others = outcomes.items()
    for mode, outcome in others:
        if "stopped" in (first, outcome):
            continue
        if isinstance(first, str) or isinstance(outcome, str):
            if first is not outcome and first != outcome:
                raise WrongResult(f"{first_mode}: {_text(first)}; {mode}: {_text(outcome)}")
            continue
        for number, (a, b) in enumerate(zip(first, outcome, strict=True)):
            if isinstance(a, np.ndarray) and not same_bits(a, b):
                raise WrongResult(f"result {number} differs between {first_mode} and {mode}")
    return Phase.DONE if not isinstance(first, str) else Phase.RUN


def _text(outcome: str | Sequence[Any]) -> str:
    """An outcome without what depends on the mutant alone."""
    return re.sub(r"\d+", "N", outcome) if isinstance(outcome, str) else "results"


def _outcome(
    module: Module, name: str, options: Options, enter: Callable[[Phase], None]
) -> str | Sequence[Any]:
    """The results in a mode, which have the declared types, or the kind and the label of the error."""
    if any(operation.name == "stablehlo.while" for operation in module.walk()):
        options = replace(options, max_steps=MAX_STEPS)
    try:
        executable = compile(module, entry=name, options=options)
        inputs = [value_of(type) for type in executable.input_types]
        if any(value is None for value in inputs) or not is_cheap(module):
            return "stopped"
        enter(Phase.RUN)
        results = run(executable, inputs, LONGEST_RUN)
    except NimbleError as error:
        _require_reason(error)
        if f"max_steps = {MAX_STEPS}" in error.reason:
            return "stopped"
        return f"{type(error).__name__} ({error.label})"
    if results is None:
        return "stopped"
    for number, (declared, result) in enumerate(zip(executable.output_types, results, strict=True)):
        reason = type_violation(declared, result)
        if reason is not None:
            raise WrongResult(f"result {number} {re.sub(r'[0-9]+', 'N', reason)}")
    return results


def _partitioned_outcome(module: Module) -> Sequence[Any] | None:
    """The results that devices compute together; None where the program is not divided."""
    try:
        meshes = {mesh for mesh in meshes_of(module).values() if mesh.total_size > 1}
        devices = next(iter(meshes)).total_size if len(meshes) == 1 else 0
        if not 0 < devices <= MAX_DEVICES:
            return None
        local = device_program(module, devices)
        if local is None or not is_cheap(local):
            return None
        executable = compile(local, grid=Grid(1, devices), options=MODES["never"])
        program = PartitionedProgram(module, devices, executable, is_local=True)
        values = [value_of(type) for type in module.functions["main"].type.inputs]
        if any(not isinstance(value, np.ndarray) for value in values):
            return None
        cut = [shards.cut(value) for shards, value in zip(program.arguments, values, strict=True)]
        results = program([tuple(shards) for shards in zip(*cut, strict=True)] or [()] * devices)
    except NimbleError as error:
        _require_reason(error)
        return None
    columns = zip(*results, strict=True)
    return [shards.assembled(list(own)) for shards, own in zip(program.results, columns, strict=True)]


def _require_reason(error: NimbleError) -> None:
    """An error must state a reason, and no internal exception may lie behind it."""
    if internal_error(error) is not None or (error.__cause__ is not None and not error.reason):
        raise error.__cause__ or error
