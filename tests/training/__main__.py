"""Command: training steps over 30, 100, 300 and 1,000 parameters, in every mode."""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np

COUNTS = (30, 100, 300, 1000)


def main() -> int:
    """Exit status 1 where a step is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.training", description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="numbers of parameters")
    parser.add_argument("--models", nargs="+", default=None, help="names of models")
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2, 3, 5), help="numbers of threads")
    parser.add_argument("--calls", type=int, default=10, help="of each Executable")
    parser.add_argument("--xla-most", type=int, default=100, help="most parameters compared with XLA:CPU")
    options = parser.parse_args()
    # Numbers of threads beyond that of the processors are modes, too.
    os.environ.setdefault("NUMBA_NUM_THREADS", str(max(options.threads)))
    from nimblehlo.kernels.launch.native import assume_processors

    from .modes import differences
    from .steps import MODELS

    assume_processors(max(options.threads))
    failed = 0
    for name in options.models or MODELS:
        for count in options.counts:
            start = time.time()
            step = MODELS[name](count, np.random.default_rng(count))
            expected = step.expected() if count <= options.xla_most else None
            try:
                found = differences(step, threads=options.threads, calls=options.calls, expected=expected)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            parameters = len(step.arguments[0])
            seconds = time.time() - start
            print(f"{name}, {parameters} parameters: {len(found)} differences, {seconds:.0f} s", flush=True)
            for one in found[:5]:
                print(f"  {one[:500]}", flush=True)
            failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
