"""The command that this package's documentation names."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from tests.jax.children import run_on_platform

BOUNDS = {
    "flax_training": 1e-4,
    "diffrax_fit": 1e-3,
    # The chain amplifies differences in the last bit: means of 100 samples agree within their standard error.
    "numpyro_regression": 5e-2,
}
"""How far numbers may lie apart, relative to those of JAX's CPU backend."""


def main() -> int:
    """Returns 1 if a script fails, or its numbers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.jax.training", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a script (default: all)")
    failed = 0
    for name in parser.parse_args().names or BOUNDS:
        numbers = []
        for platform in ("nimblehlo", "cpu"):
            start = time.perf_counter()
            done = run_on_platform(Path(__file__).with_name(f"{name}.py"), platforms=platform)
            if done.returncode:
                print(f"{name} on {platform} FAILED\n{done.stderr}")
                return 1
            numbers.append(json.loads(done.stdout.splitlines()[-1]))
            print(f"{name} on {platform}: {numbers[-1]} in {time.perf_counter() - start:.1f} s", flush=True)
        here, there = numbers
        for key, expected in there.items():
            if not np.allclose(here[key], expected, rtol=BOUNDS[name], atol=BOUNDS[name]):
                print(f"{name}: {key} differs")
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
