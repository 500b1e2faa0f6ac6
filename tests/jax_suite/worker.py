"""Runs test methods of one of JAX's test files, and compares all that they execute. A process of its own.

    python -m tests.jax_suite.worker PLAN

PLAN is a JSON file with the fields of `Plan`. What happens goes to the journal, line by line.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .journal import Journal

LEFT = 3
"""Exit status of a worker that leaves tests for another one."""


@dataclass(frozen=True)
class Plan:
    """What a worker does.

    Attributes:
        jax: folder of a JAX checkout.
        file: name of a test file without its suffix, such as ``"lax_test"``.
        shard, shards: which of how many shards of the file's test methods.
        count: most test methods that are run; None: all.
        pattern: only test methods whose name contains it.
        modes: which settings of `Options.compile` each computation runs under.
        journal: where outcomes go, and where those of earlier workers stand.
        output: folder for reproducers.
        most: test methods that one worker runs before it makes room for the next.
    """

    jax: str
    file: str
    shard: int
    shards: int
    count: int | None
    pattern: str
    modes: list[str]
    journal: str
    output: str
    most: int


def main() -> int:
    """Exit status 0 where all is done, LEFT where tests are left for another worker."""
    plan = Plan(**json.loads(Path(sys.argv[1]).read_text()))
    sys.argv[1:] = []
    sys.path.insert(0, os.path.join(plan.jax, "tests"))
    tests = list(tests_of(plan))
    journal = Journal(Path(plan.journal))
    done = journal.finished()
    left = [test for test in tests if name_of(test) not in done]
    from .comparing import Comparing
    from .interception import intercepted

    comparing = Comparing(plan.modes, Path(plan.output))
    with intercepted(comparing):
        for test in left[: plan.most]:
            comparing.begin(name_of(test))
            journal.begin(name_of(test))
            start = time.time()
            result = unittest.TestResult()
            test.run(result)
            record = {**comparing.record(), "failure": failure_of(result)}
            journal.end(name_of(test), outcome_of(result), time.time() - start, record)
    return LEFT if len(left) > plan.most else 0


def tests_of(plan: Plan) -> Iterator[unittest.TestCase]:
    """The test methods of the plan's shard, in their order."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(plan.file))
    tests = [test for test in _flat(suite) if plan.pattern in name_of(test)]
    yield from tests[plan.shard :: plan.shards][: plan.count]


def name_of(test: unittest.TestCase) -> str:
    """A name that is the same in each process: `id` tells parameters too, which may print their addresses."""
    return f"{type(test).__module__}.{type(test).__qualname__}.{test._testMethodName}"


def _flat(suite: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        yield suite
    else:
        for item in suite:
            yield from _flat(item)


def failure_of(result: unittest.TestResult) -> str:
    """The end of what JAX's test itself says of its failure."""
    texts = [text for _, text in (*result.errors, *result.failures)]
    return texts[0].strip()[-500:] if texts else ""


def outcome_of(result: unittest.TestResult) -> str:
    if result.errors or result.failures:
        return "failed"
    return "skipped" if result.skipped else "passed"


if __name__ == "__main__":
    sys.exit(main())
