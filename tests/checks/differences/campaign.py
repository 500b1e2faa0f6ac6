"""Injects faults into programs, and counts how many `find_faulty_operation` finds and names.

``python -m tests.checks.differences.campaign --count N --seed S -j 2``: a program is a random one or a model,
and a fault is one wrong operation. A fault that changes no bit of its results on its operands is none. Each
of the processes has seeds of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo.checks.differences import find_faulty_operation
from nimblehlo.checks.differences.extraction import static_program
from nimblehlo.checks.fuzzing.campaign import random_module
from nimblehlo.errors import NimbleError
from nimblehlo.program.ir import Module, Operation
from tests.checks.differences.faults import Fault, changes_results, faults_of, faulty_backend
from tests.checks.error_bounds.campaign import model_program
from tests.models import MODELS

Array = np.ndarray[Any, Any]

MAX_OPERATIONS = 400
"""Larger models take minutes to judge operation by operation."""


def injections(seed: int) -> Iterator[tuple[str, Module, list[Array], str, Operation, Fault]]:
    """Programs with a fault each, without end; one of three is a model."""
    choose = random.Random(seed)
    names = sorted(name for name in MODELS if not MODELS[name].symbolic and MODELS[name].reference is None)
    while True:
        name = choose.choice(names) if choose.random() < 1 / 3 else f"seed {choose.randrange(10**6)}"
        try:
            loaded, inputs = model_program(name) if name in MODELS else random_module(int(name[5:]))
            module = nimblehlo.load(str(static_program(loaded, "main", inputs)))
        except NimbleError:
            continue
        operations = list(module.walk())
        candidates = [(one, kind, fault) for one in operations for kind, fault in faults_of(one)]
        if len(operations) > MAX_OPERATIONS or not candidates:
            continue
        kind = choose.choice(sorted({kind for _, kind, _ in candidates}))
        operation, kind, fault = choose.choice([one for one in candidates if one[1] == kind])
        yield name, module, inputs, kind, operation, fault


def campaign(count: int, seed: int) -> Counter[str]:
    """Print each fault that is not found or not named, and count.

    Args:
        count: how many faults.
        seed: chooses programs and faults.
    """
    counts = Counter[str]()
    for name, module, inputs, kind, operation, fault in injections(seed):
        if counts["faults"] == count:
            break
        wrong = faulty_backend(operation.location, fault)
        try:
            if not changes_results(module, inputs, operation, fault):
                counts["no fault"] += 1
                continue
            report = find_faulty_operation(module, inputs, wrong, every_operation=True)
        except NimbleError as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            counts["errors"] += 1
            continue
        is_named = report.first is not None and report.first.location == str(operation.location)
        counts["faults"] += 1
        counts[f"{kind}: all"] += 1
        counts["found by results"] += bool(report.violations)
        counts["found"] += report.differs
        counts[f"{kind}: found"] += report.differs
        counts["named"] += is_named
        if not is_named:
            first = "nothing" if report.first is None else str(report.first)
            print(f"{name}: {kind} of {operation.name} at {operation.location}: {first}", flush=True)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    start = time.monotonic()
    shares = [
        (options.count // options.jobs + (job < options.count % options.jobs), options.seed + job)
        for job in range(options.jobs)
    ]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        counts = sum(pool.starmap(campaign, shares), Counter[str]())
    for key, number in sorted(counts.items()):
        print(f"{key}: {number}")
    print(f"{time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
