"""Runs test methods of one of JAX's test files on the platform that `JAX_PLATFORMS` names. A process of its
own.

    python -m tests.jax_suite.backend_worker PLAN

PLAN is a JSON file with the fields of `worker.Plan`. What happens goes to the journal, line by line.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from .journal import Journal
from .worker import LEFT, Plan, failure_of, name_of, outcome_of, tests_of

LACKING = "jax._src.hypothesis_test_util"
"""A module that test files import and that the wheel of JAX does not have; the checkout has it."""


def main() -> int:
    """Exit status 0 where all is done, LEFT where tests are left for another worker."""
    plan = Plan(**json.loads(Path(sys.argv[1]).read_text()))
    sys.argv[1:] = []
    sys.path.insert(0, os.path.join(plan.jax, "tests"))
    _load_lacking(Path(plan.jax))
    import_with_stand_ins(plan.file)
    _declare_device("cpu")
    tests = list(tests_of(plan))
    journal = Journal(Path(plan.journal))
    done = journal.finished()
    left = [test for test in tests if name_of(test) not in done]
    for test in left[: plan.most]:
        journal.begin(name_of(test))
        start = time.time()
        result = unittest.TestResult()
        test.run(result)
        journal.end(name_of(test), outcome_of(result), time.time() - start, {"failure": failure_of(result)})
    return LEFT if len(left) > plan.most else 0


def _load_lacking(checkout: Path) -> None:
    """Import from the checkout what the wheel lacks."""
    path = checkout.joinpath(*LACKING.split(".")).with_suffix(".py")
    if importlib.util.find_spec(LACKING) is None and path.exists():
        specification = importlib.util.spec_from_file_location(LACKING, path)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[LACKING] = module
        specification.loader.exec_module(module)


def import_with_stand_ins(name: str) -> None:
    """Import a test file of another version of JAX, in which tests of names that JAX lacks are skipped.

    Args:
        name: the module's name. Each name that it fails to import from a module becomes a function there that
            skips the test that calls it.

    Raises:
        ImportError: it imports a module that does not exist.
    """
    while True:
        try:
            importlib.import_module(name)
        except ImportError as error:
            # Python 3.12 and newer say which name the module lacks.
            lacking, module = getattr(error, "name_from", None), sys.modules.get(error.name or "")
            if lacking is None or module is None or hasattr(module, lacking):
                raise
            setattr(module, lacking, _stand_in(module.__name__, lacking))
        else:
            return


def _stand_in(module: str, name: str) -> Callable[..., None]:
    """A function in place of a name that a module lacks."""

    def skip(*_arguments: object, **_named: object) -> None:
        raise unittest.SkipTest(f"{module} has no {name}")

    return skip


def _declare_device(kind: str) -> None:
    """Have JAX's tests take the device for one of a kind: on unknown kinds they skip tests."""
    import jax
    import jax._src.test_util  # declares the flag

    config: object = jax.config
    config.update("jax_test_dut", kind)  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
