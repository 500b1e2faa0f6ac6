"""Command: run JAX's own test files with every computation that they execute run here too, and compare.

    python -m tests.jax_suite --jax FOLDER lax_test nn_test

FOLDER is a checkout of JAX at the version that is installed, of which `tests/` is used; the variable
NIMBLEHLO_JAX_DIR names it as well. JAX's tests need absl-py. A campaign that is stopped goes on where
it was.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

FILES = (
    "lax_test",
    "lax_numpy_test",
    "nn_test",
    "random_lax_test",
    "random_test",
    "linalg_test",
    "sparse_test",
    "sparse_bcoo_bcsr_test",
)


def main() -> int:
    """Exit status 1 where anything went wrong."""
    options = _options()
    for package, name in (("jax", "jax"), ("absl", "absl-py")):
        if importlib.util.find_spec(package) is None:
            sys.exit(f"JAX's tests need the package {name}: pip install {name}")
    missing = [file for file in options.files if not (Path(options.jax) / "tests" / f"{file}.py").exists()]
    if missing:
        sys.exit(f"{options.jax}/tests has no {missing[0]}.py; --jax names a checkout of JAX")
    from .campaign import printed, run_file
    from .journal import Journal
    from .worker import Plan

    if options.restart:
        shutil.rmtree(options.output, ignore_errors=True)
    index, shards = (int(number) for number in options.shard.split("/"))
    environment = {
        "JAX_NUM_GENERATED_CASES": str(options.cases),
        "JAX_PLATFORMS": "cpu",
        "PYTHONHASHSEED": "0",  # some cases are drawn from sets
    }
    totals = []
    for file in options.files:
        folder = options.output / file
        plan = Plan(
            jax=str(Path(options.jax).resolve()),
            file=file,
            shard=index - 1,
            shards=shards,
            count=options.count,
            pattern=options.tests,
            modes=options.modes.split(","),
            journal=str(folder / f"journal_{index}_{shards}.jsonl"),
            output=str(folder),
            most=options.tests_per_process,
        )
        if options.again:
            Journal(Path(plan.journal)).forget_faults()
        totals.append(run_file(plan, options.time_limit, environment))
        print(printed(totals[-1:], options.examples), flush=True)
    (options.output / "report.json").write_text(json.dumps([vars(total) for total in totals], indent=1))
    return 0 if all(total.is_clean for total in totals) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.jax_suite", description=__doc__)
    parser.add_argument("files", nargs="*", default=FILES, help="test files, without .py")
    parser.add_argument("--jax", default=os.environ.get("NIMBLEHLO_JAX_DIR"), help="folder of a JAX checkout")
    parser.add_argument("--cases", type=int, default=10, help="JAX_NUM_GENERATED_CASES")
    parser.add_argument("--count", type=int, help="run at most so many test methods of each file")
    parser.add_argument("--tests", default="", help="run test methods alone whose name contains this")
    parser.add_argument("--shard", default="1/1", help="i/n: the i-th of n shards of each file")
    parser.add_argument("--modes", default="auto", help="settings of Options.compile, with commas")
    parser.add_argument("--time-limit", type=float, default=300, help="most seconds of one test method")
    parser.add_argument("--tests-per-process", type=int, default=300, help="test methods for each process")
    parser.add_argument("--examples", type=int, default=3, help="faults of each kind that are printed")
    parser.add_argument(
        "--output", type=Path, default=Path("build/jax_suite"), help="folder for what comes out"
    )
    parser.add_argument("--again", action="store_true", help="run tests with faults again")
    parser.add_argument("--restart", action="store_true", help="forget what earlier campaigns found")
    options = parser.parse_args()
    if not options.jax:
        parser.error("--jax or NIMBLEHLO_JAX_DIR names the folder of a JAX checkout")
    return options


if __name__ == "__main__":
    sys.exit(main())
