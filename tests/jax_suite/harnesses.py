"""Command: JAX's harnesses of its primitives, each exported, run here and compared with XLA:CPU.

The installed JAX has them, in its test utilities: functions and arguments for every primitive, element type
and dimension numbers. JAX itself divides them into 25 shards. A journal holds the outcome of each harness, so
that a stopped campaign goes on. Needs absl-py.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.export
import numpy as np
from jax._src.internal_test_util.test_harnesses import all_harnesses

import nimblehlo
from nimblehlo.errors import NimbleError, UnsupportedError

from .comparison import DIFFERENCE, judge
from .journal import Journal
from .truth import xla_program

SHARDS: Final = 25
CLEARED_AFTER: Final = 200
"""Harnesses after which JAX's caches are cleared: they keep every traced function."""
FAILED: Final = "FAILED"
UNIMPLEMENTED: Final = "not compared: JAX does not implement it on a CPU"
KEYS: Final = "not compared: results are keys of random numbers"


def outcome(harness: Any) -> tuple[str, str]:
    """What came of one harness, and the details."""
    if not harness.filter("cpu"):
        return UNIMPLEMENTED, ""
    arguments = harness.dyn_args_maker(np.random.RandomState(zlib.crc32(harness.fullname.encode())))
    try:
        exported = jax.export.export(jax.jit(harness.dyn_fun))(*arguments)
        if any(jax.dtypes.issubdtype(each.dtype, jax.dtypes.extended) for each in exported.out_avals):
            return KEYS, ""
        kept = [jax.tree.leaves(arguments)[index] for index in exported.module_kept_var_idx]
        inputs = [np.asarray(jax.numpy.asarray(each)) for each in kept]
        text = exported.mlir_module()
        theirs = xla_program(text)(inputs)
    except Exception as error:
        return UNIMPLEMENTED, f"{type(error).__name__}: {error}"
    try:
        ours = nimblehlo.execute(text, inputs)
    except UnsupportedError as error:
        return f"refused: {error.reason[:80]}", str(error)
    except NimbleError as error:
        return FAILED, str(error)
    except Exception as error:
        return FAILED, f"internal error {type(error).__name__}: {error}"
    verdict = judge(text, inputs, ours, theirs)
    return verdict.kind, verdict.detail


def run(harnesses: Sequence[Any], journal: Journal, end: float) -> None:
    """Enter the outcome of each harness that the journal does not have, until the time `end`."""
    finished = journal.finished()
    pending = [harness for harness in harnesses if harness.fullname not in finished]
    for number, harness in enumerate(pending, start=1):
        start = time.monotonic()
        if start > end:
            return
        with jax.enable_x64(True), np.errstate(all="ignore"):
            kind, detail = outcome(harness)
        journal.end(harness.fullname, kind, time.monotonic() - start, {"detail": detail})
        if is_shown(kind):
            print(f"{harness.fullname}: {kind}: {detail[:400]}", flush=True)
        if number % CLEARED_AFTER == 0:
            jax.clear_caches()
            xla_program.cache_clear()


def is_shown(kind: str) -> bool:
    """Whether a person has to look at outcomes of this kind."""
    return kind in (DIFFERENCE, FAILED) or kind.startswith("refused")


def report(harnesses: Sequence[Any], finished: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """Print how many of `harnesses` came out in which way, and return these numbers."""
    names = {harness.fullname for harness in harnesses}
    counts = Counter(entry["outcome"] for name, entry in finished.items() if name in names)
    print(f"{counts.total()} of {len(names)} harnesses:")
    for kind, count in counts.most_common():
        print(f"  {count:5} {kind}")
    return counts


def main() -> int:
    """Exit status 1 if a harness failed or differs without an explanation."""
    parser = argparse.ArgumentParser(prog="python -m tests.jax_suite.harnesses", description=__doc__)
    parser.add_argument("shards", nargs="*", type=int, help="numbers from 0 to 24; none: all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--journal", type=Path, default=Path("build/jax_suite/harnesses.jsonl"))
    options = parser.parse_args()
    shards = [all_harnesses[shard::SHARDS] for shard in options.shards or range(SHARDS)]
    harnesses = [harness for shard in shards for harness in shard]
    journal = Journal(options.journal)
    run(harnesses, journal, time.monotonic() + options.seconds)
    counts = report(harnesses, journal.finished())
    return 1 if counts[DIFFERENCE] or counts[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
