"""Measure the errors of the fast functions of f32 on all arguments, and compare generated loops with ufuncs.

    python tools/fast_functions.py [--stride N] [--write] [--speed] [FUNCTION ...]

For each function: the largest error in ulps and where, against the function that is computed in f64 to be
rounded correctly, whose own error is below 2^-25 ulps of f32; on how many arguments results are not the
nearest values of f32; on how many the bits of the generated loop differ from the ufunc's; of how many
arguments, all 2^32 or with `--stride` each N-th; and how many times as fast the generated loop is as the one
that rounds correctly, on arrays that fit into the L2 cache. Infinities, NaNs and the signs of zeros must be
those of correct rounding. Functions of two arguments are measured on all pairs of special values, and on 2^28
random pairs (`tools/operand_pairs.py`), or the N-th part of these.

`--write` puts the rows into docs/numerics.md, `--speed` measures the speed alone. All arguments of one
function take a minute. NIMBLEHLO_CPU selects the processor's level.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo.compiler.loops.llvm.values import F64, I64, Value, integer
from nimblehlo.compiler.loops.mathematics import function_of
from nimblehlo.compiler.loops.mathematics.reals import Condition, Real, where
from nimblehlo.program.ops.elementwise.base import Elementwise
from nimblehlo.program.ops.framework.declaration import declarations
from nimblehlo.program.ops.numerics.real_functions import RealFunction
from nimblehlo.types import ELEMENT_TYPES, FLOAT
from tests.compiler.loops.loops import Emit, looped, looped_together
from tools.marked_text import replace_marked
from tools.operand_pairs import edge_pairs, integral_pairs, random_pairs

Array = np.ndarray[Any, Any]

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "numerics.md"
BEGIN, END = "<!-- begin: tools/fast_functions.py -->\n", "<!-- end: tools/fast_functions.py -->\n"
BLOCK = 1 << 15
"""Arguments that are measured together, in the L2 cache."""
PAIRS, KINDS_OF_PAIRS = 1 << 28, 5
"""Random pairs of arguments, and how many kinds of them there are."""
F32 = ELEMENT_TYPES["f32"]
MANTISSA_BITS, MIN_NORMAL = 23, 2.0**-126
EXPONENT_BITS = 0x7FF << 52
"""The bits of an f64's exponent."""


def _declarations() -> dict[str, type[Elementwise]]:
    fast = [one for one in declarations() if issubclass(one, Elementwise) and one.emit.fast_function]
    return {one.name: one for one in sorted(fast, key=lambda one: (one.name.startswith("chlo."), one.name))}


DECLARATIONS = _declarations()
"""The operations that have a fast function."""


class Measurement(NamedTuple):
    """The errors of a function.

    Attributes:
        error: the largest, in ulps.
        arguments: of that.
        inexact: on how many arguments the result is not the nearest value.
        differing: on how many arguments generated loop and ufunc differ.
        total: the number of arguments.
    """

    error: float = 0.0
    arguments: tuple[float, ...] = ()
    inexact: int = 0
    differing: int = 0
    total: int = 0


def real_function(name: str) -> RealFunction:
    """The function of an operation on real numbers."""
    function = DECLARATIONS[name].functions[FLOAT]
    assert isinstance(function, RealFunction)
    return function


def arity(name: str) -> int:
    """The number of arguments of an operation's function."""
    return len(DECLARATIONS[name].declared_operands)


def emit_fast(name: str) -> Emit:
    """The fast function of values of f32."""
    function = function_of(DECLARATIONS[name].emit.fast_function)
    return lambda builder, *values: (function(builder, *[value for (value,) in values]),)


def emit_in_f64(name: str) -> Emit:
    """The function that is rounded correctly, before it is rounded."""
    function = function_of(DECLARATIONS[name].emit.function)
    return lambda builder, *values: (function(builder, *[builder.fpext(value, F64) for (value,) in values]),)


def emit_rounded(name: str) -> Emit:
    """The function that is rounded correctly."""
    emit = emit_in_f64(name)
    return lambda builder, *values: (builder.fptrunc(*emit(builder, *values), values[0][0].type),)


def emit_error(builder: ir.IRBuilder, value: Value, true: Value) -> Value:
    """The distance of a value of f32 from a true one of f64, in ulps of the true one; infinite where only one
    of both is NaN, or rounds to an infinity, or zeros differ in their sign.
    """
    rounded, exact = Real(builder, value[0]), Real(builder, true[0])
    nearest = exact.as_type(rounded.value.type)
    power = Real(builder, builder.bitcast(builder.and_(exact.bits(), integer(I64, EXPONENT_BITS)), F64))
    ulp = power.within(MIN_NORMAL, None) * 2.0**-MANTISSA_BITS
    distance = abs(rounded.as_type(F64) - exact) / ulp
    is_finite = abs(nearest).compare("<", math.inf) & abs(rounded).compare("<", math.inf)
    is_ordinary = is_finite & abs(exact).compare(">", 0.0)
    is_same = Condition(builder, builder.icmp_signed("==", rounded.bits(), nearest.bits()))
    is_same = is_same | (rounded.is_nan() & nearest.is_nan())
    return (where(is_ordinary, distance, where(is_same, exact.like(0.0), math.inf)).value,)


@functools.cache
def _error_loop() -> Callable[..., Array]:
    return looped(emit_error, [F32, ELEMENT_TYPES["f64"]], ELEMENT_TYPES["f64"])


def errors(values: Array, true: Array) -> Array:
    """What `emit_error` gives for the elements of two arrays."""
    return _error_loop()(values, true)


def measuring_loop(name: str) -> Callable[..., list[Array]]:
    """The loop that computes the values of the fast function, and their errors."""
    fast, exact = emit_fast(name), emit_in_f64(name)

    def emit(builder: ir.IRBuilder, *values: Value) -> list[Value]:
        value = fast(builder, *values)
        return [value, emit_error(builder, value, exact(builder, *values))]

    return looped_together(emit, [F32] * arity(name), [F32, ELEMENT_TYPES["f64"]])


def arguments(operands: int, stride: int) -> Iterator[tuple[Array, ...]]:
    """Blocks of the arguments on which functions are measured: each `stride`-th, or as many pairs less."""
    if operands == 1:
        for first in range(0, 1 << 32, BLOCK * stride):
            codes = np.arange(first, min(first + BLOCK * stride, 1 << 32), stride, dtype=np.uint64)
            yield (codes.astype(np.uint32).view(np.float32),)
        return
    yield edge_pairs()
    generator = np.random.default_rng(2026)
    for _ in range(max(1, PAIRS // (stride * BLOCK * KINDS_OF_PAIRS))):
        yield from random_pairs(generator, BLOCK)
        yield integral_pairs(generator, BLOCK)


def measure(name: str, stride: int = 1) -> Measurement:
    """The errors of an operation's fast function, for all `arguments`."""
    fast, loop = real_function(name).fast, measuring_loop(name)
    result = Measurement()
    for block in arguments(arity(name), stride):
        generated, distances = loop(*block)
        with np.errstate(all="ignore"):
            values = fast(*block)
        differs = (generated.view(np.uint32) != values.view(np.uint32)) & ~np.isnan(values)
        worst = int(np.argmax(distances))
        is_worse = distances[worst] > result.error
        result = Measurement(
            float(distances[worst]) if is_worse else result.error,
            tuple(float(each[worst]) for each in block) if is_worse else result.arguments,
            result.inexact + int(np.count_nonzero(distances > 0.5)),
            result.differing + int(np.count_nonzero(differs)),
            result.total + values.size,
        )
    return result


def speedup(name: str) -> float:
    """How many times as fast the loop of the fast function is, by the least times of both."""
    count = arity(name)
    operands = np.random.default_rng(0).uniform(0.01, 5, (count, 1 << 16)).astype(np.float32)
    loops = [looped(emit, [F32] * count, F32) for emit in (emit_fast(name), emit_rounded(name))]
    least = [np.inf, np.inf]
    for _ in range(200):
        for which, loop in enumerate(loops):
            start = time.perf_counter()
            loop(*operands)
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
        where = ", ".join(f"{one:.9g}" for one in found.arguments)
        cells = (f"{found.error:.3f}", where, share, found.differing, f"{found.total:,}")
        row = f"| `{name}` | {' | '.join(map(str, cells))} | {speedup(name):.2f} |"
        print(row, flush=True)
        if options.write:
            write({name: row})


if __name__ == "__main__":
    main()
