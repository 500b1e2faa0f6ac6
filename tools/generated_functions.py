"""Compare generated functions of f32 with their references, and measure their errors.

    python tools/generated_functions.py [--stride N] [--write] [--without-tables] [FUNCTION ...]

For each function: the largest error of its f64 value, before it is rounded to f32, in ulps of f64 against
mpmath; and on how many arguments the bits of f32 differ from the reference's, of all 2^32 or with `--stride`
of each N-th, for functions of two arguments of 2^24 pairs. The first that differ are printed. `--write` puts
the rows into docs/numerics.md. `--without-tables` takes the code for CPUs that read tables slowly. All
arguments of one function take some minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo.compiler.loops.llvm.values import F64, rounded
from nimblehlo.compiler.loops.mathematics import error_functions, exponential, function_of, roots
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.declaration import declarations
from nimblehlo.types import ELEMENT_TYPES, ElementType
from tests.compiler.loops.loops import looped
from tools import accuracy
from tools.marked_text import replace_marked
from tools.operand_pairs import random_pairs

BEGIN, END = "<!-- begin: tools/generated_functions.py -->\n", "<!-- end: tools/generated_functions.py -->\n"
BINARY = ("stablehlo.atan2", "stablehlo.power")
BLOCK = 1 << 22
Array = np.ndarray[Any, Any]
FUNCTIONS = {
    one.name: function_of(one.emit.function)
    for one in sorted(declarations(), key=lambda one: (one.name.startswith("chlo."), one.name))
    if one.emit.function
}
"""The functions that are generated, by the names of operations."""

WITHIN = {"chlo.erf": (-3.9, 3.9), "chlo.erfc": (-3.9, 9.9), "stablehlo.tanh": (-9.1, 9.1)}
"""Beyond, the f64 value is only as good as f32 needs it."""


def generated(name: str, type: ElementType) -> Any:
    """The function of arrays that is generated; of f64 what is computed before rounding."""

    def emit(builder: Any, *values: Any) -> Any:
        wide = [value if value.type == F64 else builder.fpext(value, F64) for (value,) in values]
        return (rounded(builder, type, FUNCTIONS[name](builder, *wide)),)

    return looped(emit, [type] * (2 if name in BINARY else 1), type)


def reference(name: str) -> Any:
    """The function of arrays of f32 that the operation's declaration has."""
    declaration: Any = lookup(name)
    return declaration.function_of(ELEMENT_TYPES["f32"])


def different(got: Array, want: Array) -> Array:
    """Where bits differ and not both are NaN."""
    bits = got.view(np.uint32) != want.view(np.uint32)
    bits &= ~(np.isnan(got) & np.isnan(want))
    return np.flatnonzero(bits)


def unary_arguments(stride: int) -> Iterator[tuple[Array, ...]]:
    """Each `stride`-th value of f32, in blocks."""
    for first in range(0, 1 << 32, BLOCK * stride):
        codes = np.arange(first, min(first + BLOCK * stride, 1 << 32), stride, dtype=np.uint64)
        yield (codes.astype(np.uint32).view(np.float32),)


def differences(name: str, stride: int) -> tuple[int, int, list[str]]:
    """How many arguments differ, of how many, and the first of them."""
    function, expected = generated(name, ELEMENT_TYPES["f32"]), reference(name)
    count, total, examples = 0, 0, []
    generator = np.random.default_rng(2026)
    for arrays in random_pairs(generator, BLOCK) if name in BINARY else unary_arguments(stride):
        got, want = function(*arrays), expected(*arrays)
        differing = different(got, want)
        count, total = count + differing.size, total + got.size
        for k in differing[: 4 - len(examples)]:
            examples.append(f"{[a[k] for a in arrays]}: {got[k]!r}, not {want[k]!r}")
    return count, total, examples


def error(name: str) -> float:
    """The largest error of the f64 value in ulps, where f32 has normal numbers."""
    function = next(f for f in accuracy.FUNCTIONS if f.name == name)
    operands = [array.astype(np.float64) for array in accuracy.arguments(function, "f32")]
    low, high = WITHIN.get(name, (-math.inf, math.inf))
    worst = 0.0
    with mpmath.workprec(function.bits):
        for *values, got in zip(*operands, generated(name, ELEMENT_TYPES["f64"])(*operands), strict=True):
            true = function.true(*[mpmath.mpf(float(value)) for value in values])
            if 2.0**-126 < abs(true) < 2.0**127 and all(low <= value <= high for value in values):
                ulp = mpmath.ldexp(1, int(mpmath.floor(mpmath.log(abs(true), 2))) - 52)
                worst = max(worst, float(abs(mpmath.mpf(float(got)) - true) / ulp))
    return worst


def write(rows: dict[str, str]) -> None:
    """Put rows into the document's table, in place of those of the same functions."""
    table = accuracy.DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    heading, rule, *lines = table.splitlines()
    kept = {line.split("`")[1]: line for line in lines} | rows
    text = "\n".join([heading, rule, *[kept[name] for name in FUNCTIONS if name in kept]]) + "\n"
    replace_marked(accuracy.DOCUMENT, BEGIN, text, END)


def main() -> None:
    """Compare, measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="compare on each N-th value only")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/numerics.md")
    parser.add_argument("--without-tables", action="store_true", help="compute what tables would give")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help="operations (default: all)")
    options = parser.parse_args()
    if options.without_tables:
        for module in (exponential, error_functions):
            module.has_fast_gather = lambda: False
        exponential.has_two_register_permute = lambda: False
        roots.has_rsqrt14 = lambda: False
    for name in options.functions or FUNCTIONS:
        if name == "chlo.tan":  # The same as stablehlo.tan.
            continue
        with np.errstate(all="ignore"):
            count, total, examples = differences(name, options.stride)
        row = f"| `{name}` | {error(name):.2f} | {count} | {total:,} |"
        print(row, *examples, sep="\n    ", flush=True)
        if options.write:
            write({name: row})


if __name__ == "__main__":
    main()
