"""Compare the kernels' functions of f32 with those of f64, rounded, on all values of f32.

    python tools/single_functions.py [--stride N] [FUNCTION ...]

For each function: on how many arguments bits differ and not both results are NaN, of all 2^32 or with
`--stride` of each N-th. All arguments of one function take half a minute.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo.kernels.math import real_functions
from tools.generated_functions import different, unary_arguments

FUNCTIONS = [
    name
    for name, value in vars(real_functions).items()
    if isinstance(value, np.ufunc) and any(types.endswith("d") for types in value.types)
]
"""Those of f64; fast ones have none."""


def differences(name: str, stride: int) -> tuple[int, int]:
    """How many arguments differ, of how many."""
    function = getattr(real_functions, name)
    count, total = 0, 0
    for (values,) in unary_arguments(stride):
        wide = function(values.astype(np.float64)).astype(np.float32)
        count, total = count + different(function(values), wide).size, total + values.size
    return count, total


def main() -> None:
    """Print a row for each function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", choices=[[], *FUNCTIONS])
    parser.add_argument("--stride", type=int, default=1)
    options = parser.parse_args()
    for name in options.functions or FUNCTIONS:
        with np.errstate(all="ignore"):
            count, total = differences(name, options.stride)
        print(f"{name}: {count} of {total:,} arguments differ", flush=True)


if __name__ == "__main__":
    main()
