"""Command: JAX's harnesses of its primitives, each exported, run here and compared with XLA:CPU.

The installed JAX has them, in its test utilities: functions and arguments for every primitive, element type
and dimension numbers. JAX itself divides them into 25 shards. Needs absl-py.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from collections import Counter
from typing import Any, Final

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.export
import numpy as np
from jax._src.internal_test_util.test_harnesses import all_harnesses

import nimblehlo
from nimblehlo.errors import NimbleError, UnsupportedError

from .comparison import DIFFERENCE, judge

SHARDS: Final = 25
UNIMPLEMENTED: Final = "not compared: JAX does not implement it on a CPU"
KEYS: Final = "not compared: results are keys of random numbers"


def outcome(harness: Any) -> tuple[str, str]:
    """What came of one harness, and the details."""
    if not harness.filter("cpu"):
        return UNIMPLEMENTED, ""
    arguments = harness.dyn_args_maker(np.random.RandomState(zlib.crc32(harness.fullname.encode())))
    function = jax.jit(harness.dyn_fun)
    try:
        theirs = jax.tree.leaves(function(*arguments))
        exported = jax.export.export(function)(*arguments)
    except Exception as error:
        return UNIMPLEMENTED, f"{type(error).__name__}: {error}"
    if any(jax.dtypes.issubdtype(each.dtype, jax.dtypes.extended) for each in theirs):
        return KEYS, ""
    kept = [jax.tree.leaves(arguments)[index] for index in exported.module_kept_var_idx]
    inputs = [np.asarray(jax.numpy.asarray(each)) for each in kept]
    text = exported.mlir_module()
    try:
        ours = nimblehlo.execute(text, inputs)
    except UnsupportedError as error:
        return f"refused: {error.reason[:80]}", str(error)
    except NimbleError as error:
        return "FAILED", str(error)
    verdict = judge(text, inputs, ours, [np.asarray(each) for each in theirs])
    return verdict.kind, verdict.detail


def main() -> int:
    """Exit status 1 if a harness failed or differs without an explanation."""
    parser = argparse.ArgumentParser(prog="python -m tests.jax_suite.harnesses", description=__doc__)
    parser.add_argument("shards", nargs="*", type=int, help="numbers from 0 to 24; none: all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    end = time.monotonic() + options.seconds
    for shard in options.shards or range(SHARDS):
        for harness in all_harnesses[shard::SHARDS]:
            if time.monotonic() > end:
                break
            with jax.enable_x64(True), np.errstate(all="ignore"):
                kind, detail = outcome(harness)
            counts[kind] += 1
            if kind in (DIFFERENCE, "FAILED") or kind.startswith("refused"):
                print(f"{harness.fullname}: {kind}: {detail[:400]}", flush=True)
    print(f"{counts.total()} of {len(all_harnesses)} harnesses:")
    for kind, count in counts.most_common():
        print(f"  {count:5} {kind}")
    return 1 if counts[DIFFERENCE] or counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
