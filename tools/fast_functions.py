"""Measure the errors of the fast functions of f32 on all arguments, and compare generated loops with ufuncs.

    python tools/fast_functions.py [--stride N] [--write] [--speed] [FUNCTION ...]

For each function: the largest error in ulps and where, against the function of f64, whose own error is below
2^-28 ulps of f32; on how many arguments results are not the nearest values of f32; on how many the bits of
the generated loop differ from the ufunc's; of how many arguments, all 2^32 or with `--stride` each N-th; and
how many times as fast the generated loop is as the one that rounds correctly, on arrays that fit into the L2
cache. Infinities, NaNs and the signs of zeros must be those of correct rounding.

`--write` puts the rows into docs/numerics.md, `--speed` measures the speed alone. All arguments of one
function take a minute. NIMBLEHLO_CPU selects the processor's level.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo.compiler.loops.llvm.values import F64
from nimblehlo.compiler.loops.mathematics import Function, function_of
from nimblehlo.program.ops.elementwise.base import Elementwise
from nimblehlo.program.ops.framework.declaration import declarations
from nimblehlo.program.ops.numerics.real_functions import RealFunction
from nimblehlo.types import ELEMENT_TYPES, FLOAT
from tests.compiler.loops.loops import looped
from tools.marked_text import replace_marked

Array = np.ndarray[Any, Any]

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "numerics.md"
BEGIN, END = "<!-- begin: tools/fast_functions.py -->\n", "<!-- end: tools/fast_functions.py -->\n"
BLOCK = 1 << 15
"""Arguments that are measured together, in the L2 cache."""
F32 = ELEMENT_TYPES["f32"]
MANTISSA_BITS, MIN_EXPONENT = 23, -126
F64_MANTISSA_BITS, F64_BIAS = 52, 1023


def _declarations() -> dict[str, type[Elementwise]]:
    fast = [one for one in declarations() if issubclass(one, Elementwise) and one.emit.fast_function]
    return {one.name: one for one in sorted(fast, key=lambda one: (one.name.startswith("chlo."), one.name))}


DECLARATIONS = _declarations()
"""The operations that have a fast function."""


class Measurement(NamedTuple):
    """The errors of a function.

    Attributes:
        error: the largest, in ulps.
        argument: of that.
        inexact: on how many arguments the result is not the nearest value.
        differing: on how many arguments generated loop and ufunc differ.
        total: the number of arguments.
    """

    error: float = 0.0
    argument: float = 0.0
    inexact: int = 0
    differing: int = 0
    total: int = 0


def real_function(name: str) -> RealFunction:
    """The function of an operation on real numbers."""
    function = DECLARATIONS[name].functions[FLOAT]
    assert isinstance(function, RealFunction)
    return function


def in_f32(function: Function) -> Callable[[Array], Array]:
    """The generated loop of a function of f32."""
    return looped(lambda builder, operand: (function(builder, *operand),), [F32], F32)


def in_f64(function: Function) -> Callable[[Array], Array]:
    """The generated loop of a function of f64 between f32 and f32."""

    def emit(builder: Any, operand: Any) -> Any:
        (value,) = operand
        return (builder.fptrunc(function(builder, builder.fpext(value, F64)), value.type),)

    return looped(emit, [F32], F32)


def errors(values: Array, true: Array) -> Array:
    """The distances of f32 values from true ones of f64, in ulps of the true ones; infinite where only one of
    both is NaN, or rounds to an infinity, or zeros differ in their sign.
    """
    exponent = (np.abs(true).view(np.int64) >> F64_MANTISSA_BITS) - F64_BIAS
    places = MANTISSA_BITS - np.maximum(exponent, MIN_EXPONENT)
    distance = np.abs(values - true) * ((places + F64_BIAS) << F64_MANTISSA_BITS).view(np.float64)
    nearest = true.astype(np.float32)
    is_special = ~np.isfinite(nearest) | ~np.isfinite(values) | (true == 0)
    if is_special.any():
        same = (values == nearest) & (np.signbit(values) == np.signbit(nearest))
        same |= np.isnan(values) & np.isnan(nearest)
        distance[is_special] = np.where(same, 0.0, np.inf)[is_special]
    return distance


def measure(name: str, stride: int = 1) -> Measurement:
    """The errors of an operation's fast function on each `stride`-th value of f32."""
    function = real_function(name)
    generated = in_f32(function_of(DECLARATIONS[name].emit.fast_function))
    result = Measurement()
    for first in range(0, 1 << 32, BLOCK * stride):
        codes = np.arange(first, min(first + BLOCK * stride, 1 << 32), stride, dtype=np.uint64)
        arguments = codes.astype(np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            values, true = function.fast(arguments), function(arguments.astype(np.float64))
            distances, nearest = errors(values, true), true.astype(np.float32)
        bits = generated(arguments).view(np.uint32) != values.view(np.uint32)
        worst = int(np.argmax(distances))
        is_worse = distances[worst] > result.error
        result = Measurement(
            float(distances[worst]) if is_worse else result.error,
            float(arguments[worst]) if is_worse else result.argument,
            result.inexact + int(np.count_nonzero((values != nearest) & ~np.isnan(nearest))),
            result.differing + int(np.count_nonzero(bits & ~np.isnan(values))),
            result.total + arguments.size,
        )
    return result


def speedup(name: str) -> float:
    """How many times as fast the loop of the fast function is, by the least times of both."""
    emit = DECLARATIONS[name].emit
    operand = np.random.default_rng(0).uniform(0.01, 5, 1 << 16).astype(np.float32)
    loops = in_f32(function_of(emit.fast_function)), in_f64(function_of(emit.function))
    least = [np.inf, np.inf]
    for _ in range(200):
        for which, loop in enumerate(loops):
            start = time.perf_counter()
            loop(operand)
            least[which] = min(least[which], time.perf_counter() - start)
    return float(least[1] / least[0])


def write(rows: dict[str, str]) -> None:
    """Put rows into the document's table, in place of those of the same functions."""
    table = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    heading, rule, *lines = table.splitlines()
    kept = {line.split("`")[1]: line for line in lines} | rows
    text = "\n".join([heading, rule, *[kept[name] for name in DECLARATIONS if name in kept]]) + "\n"
    replace_marked(DOCUMENT, BEGIN, text, END)


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="measure each N-th value only")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/numerics.md")
    parser.add_argument("--speed", action="store_true", help="measure the speed instead")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help="operations (default: all)")
    options = parser.parse_args()
    for name in options.functions or DECLARATIONS:
        if options.speed:
            print(f"{name}: {speedup(name):.2f}", flush=True)
            continue
        found = measure(name, options.stride)
        share = f"{found.inexact / found.total:.2%}"
        cells = (f"{found.error:.3f}", f"{found.argument:.9g}", share, found.differing, f"{found.total:,}")
        row = f"| `{name}` | {' | '.join(map(str, cells))} | {speedup(name):.2f} |"
        print(row, flush=True)
        if options.write:
            write({name: row})


if __name__ == "__main__":
    main()
