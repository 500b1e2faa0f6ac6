"""Compares XLA:CPU with the computed bounds: on the models and on random programs.

``python -m tests.checks.error_bounds.campaign --models`` or ``--random COUNT --seed S``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo.checks.backends import Backend, BackendError, IsolatedBackend
from nimblehlo.checks.differences import find_faulty_operation
from nimblehlo.checks.differences.extraction import static_program
from nimblehlo.checks.error_bounds import BoundViolation, accuracy
from nimblehlo.checks.fuzzing.accepted_programs import ENDED, accepted_program
from nimblehlo.checks.fuzzing.campaign import random_module
from nimblehlo.checks.fuzzing.known_causes import cause_of_result, known_cause
from nimblehlo.errors import NimbleError
from nimblehlo.program.ir import Module
from tests.models import MODELS

Array = np.ndarray[Any, Any]


def model_program(name: str) -> tuple[Module, list[Array]]:
    """A model's program and its inputs; one with symbolic shapes for the sizes of the inputs."""
    model = MODELS[name]
    if not model.symbolic:
        return nimblehlo.load(model.lowered()), model.inputs()
    inputs = model.inputs()
    return static_program(nimblehlo.load(model.exported().mlir_module()), "main", inputs), inputs


def outside(module: Module, inputs: Sequence[Array], other: Backend) -> list[BoundViolation]:
    """Which results of a backend lie outside of the bounds.

    Raises:
        BackendError: the backend does not run the program.
    """
    theirs = other.run(module, inputs)
    return accuracy(module, inputs).violations(theirs)


def cause(module: Module, inputs: Sequence[Array], violation: BoundViolation, other: Backend) -> str:
    """The title of the known cause of a difference."""
    known = cause_of_result(module, inputs, violation, other.run(module, inputs))
    if known is None:
        first = find_faulty_operation(module, inputs, other).first
        known = None if first is None else known_cause(first)
    return "no known cause" if known is None else f"cause: {known.title}"


def programs(options: argparse.Namespace) -> Iterator[tuple[str, Module, list[Array]]]:
    """The programs that the options name."""
    if options.models:
        for name in sorted(MODELS):
            yield (name, *model_program(name))
    for seed in range(options.seed, options.seed + options.random):
        yield (f"seed {seed}", *random_module(seed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what lies outside; returns 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", default="jax:cpu")
    options = parser.parse_args(arguments)
    other, inside, beyond, rejected, start = IsolatedBackend(options.against), 0, 0, 0, time.monotonic()
    parts = 0
    for name, module, inputs in programs(options):
        try:
            try:
                violations = outside(module, inputs, other)
            except BackendError as error:
                # What remains without the operations that the backend rejects is judged.
                part = None if ENDED in str(error) else accepted_program(module, inputs, other, str(error))
                if part is None:
                    raise
                parts, module, inputs = parts + 1, part.module, list(part.inputs)
                violations = outside(module, inputs, other)
        except BackendError as error:
            rejected += 1
            print(f"{name}: not run: {str(error).splitlines()[0]}", flush=True)
            continue
        except NimbleError as error:
            rejected += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        inside, beyond = inside + (not violations), beyond + bool(violations)
        for violation in violations:
            print(f"{name}: {violation}", flush=True)
        if violations:
            print(f"{name}: {cause(module, inputs, violations[0], other)}", flush=True)
    seconds = time.monotonic() - start
    print(
        f"{inside} inside, {beyond} outside, {rejected} not run, {seconds:.0f} s;"
        f" {parts} without operations that are rejected"
    )
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
