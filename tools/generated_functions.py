"""Compare generated functions of f32 with their references on all arguments, or on some.

    python tools/generated_functions.py [--stride N] [FUNCTION ...]

For each unary function: on how many of the 2^32 arguments the bits differ, and the first of those; with
`--stride` on each N-th argument only.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo.codegen.mathematics import FUNCTIONS
from nimblehlo.codegen.values import F64, rounded
from nimblehlo.ops import lookup
from nimblehlo.types import ELEMENT_TYPES
from tests.codegen.loops import looped

F32 = ELEMENT_TYPES["f32"]
BINARY = ("stablehlo.atan2", "stablehlo.power")
BLOCK = 1 << 22
Array = np.ndarray[Any, Any]


def generated(name: str, operands: int = 1) -> Any:
    """The function of arrays of f32 that is generated."""

    def emit(builder: Any, *values: Any) -> Any:
        wide = [builder.fpext(value, F64) for (value,) in values]
        return (rounded(builder, F32, FUNCTIONS[name](builder, *wide)),)

    return looped(emit, [F32] * operands, F32)


def reference(name: str) -> Any:
    """The function of arrays of f32 that the operation's declaration has."""
    declaration: Any = lookup(name)
    return declaration.function_of(F32)


def different(got: Array, want: Array) -> Array:
    """Where bits differ and not both are NaN."""
    bits = got.view(np.uint32) != want.view(np.uint32)
    bits &= ~(np.isnan(got) & np.isnan(want))
    return np.flatnonzero(bits)


def compare(name: str, stride: int) -> str:
    """A line that says how many arguments differ."""
    function, expected = generated(name), reference(name)
    count, examples, start = 0, [], time.perf_counter()
    for first in range(0, 1 << 32, BLOCK * stride):
        codes = np.arange(first, min(first + BLOCK * stride, 1 << 32), stride, dtype=np.uint64)
        array = codes.astype(np.uint32).view(np.float32)
        got, want = function(array), expected(array)
        places = different(got, want)
        count += places.size
        examples += [f"{array[k]!r}: {got[k]!r}, not {want[k]!r}" for k in places[: 4 - len(examples)]]
    seconds = time.perf_counter() - start
    return f"{name}: {count} differ ({seconds:.0f} s) {'; '.join(examples)}"


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument(
        "functions", nargs="*", metavar="FUNCTION", help="operations (default: all unary ones)"
    )
    options = parser.parse_args()
    chosen = options.functions or [name for name in FUNCTIONS if name not in BINARY]
    with np.errstate(all="ignore"):
        for name in chosen:
            print(compare(name, options.stride), flush=True)


if __name__ == "__main__":
    main()
