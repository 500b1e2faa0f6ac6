"""Measure the errors of the transcendental functions, and write the table of docs/numerics.md.

They are those of the most accurate implementations, which `Options(functions="correctly_rounded")` takes.

    python tools/accuracy.py [--write | FUNCTION ...]

True values are mpmath's, with 300 bits or more. The error is in ulps of the true value's place in the type;
for complex values it is the distance, in ulps of the true value's modulus. Arguments are edge values of each
type and random ones, from a fixed seed; where the true value overflows, an infinity must come out. Takes half
a minute. Needs mpmath.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import mpmath
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nimblehlo
from nimblehlo.types import ELEMENT_TYPES
from tools.marked_text import replace_marked

Array = np.ndarray[Any, Any]

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "numerics.md"
BEGIN, END = "<!-- begin: tools/accuracy.py -->\n", "<!-- end: tools/accuracy.py -->\n"
TYPES = ("bf16", "f16", "f32", "f64", "complex<f32>", "complex<f64>")
SAMPLES = 150
"""Random arguments of each of the two kinds: evenly spread, and with evenly spread exponents."""

EVERYWHERE = (-math.inf, math.inf)
EXPONENTIAL = (-1000.0, 1000.0)
"""Beyond, the exponential of every type is infinite or zero."""
POSITIVE = (0.0, math.inf)


class Function(NamedTuple):
    """A function and its arguments.

    Attributes:
        name: the operation.
        true: the true function of one or two mpmath values.
        ranges: for each argument, the interval from which it is taken.
        is_complex: whether it is measured on complex values too.
        whole: whether the first argument is a whole number.
        bits: of the true values: more where what is added to 1 may be tiny.
    """

    name: str
    true: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...] = (EVERYWHERE,)
    is_complex: bool = True
    whole: bool = False
    bits: int = 300


def _logistic(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _bessel_i1e(x: Any) -> Any:
    return mpmath.besseli(1, x) * mpmath.exp(-abs(mpmath.re(x)))


def _cbrt(x: Any) -> Any:
    if isinstance(x, mpmath.mpc) or x >= 0:
        return mpmath.cbrt(x)
    return -mpmath.cbrt(-x)


FUNCTIONS = (
    Function("stablehlo.atan2", mpmath.atan2, (EVERYWHERE, EVERYWHERE), is_complex=False),
    Function("stablehlo.cbrt", _cbrt),
    Function("stablehlo.cosine", mpmath.cos),
    Function("stablehlo.exponential", mpmath.exp, (EXPONENTIAL,)),
    Function("stablehlo.exponential_minus_one", mpmath.expm1, (EXPONENTIAL,)),
    Function("stablehlo.log", mpmath.log, (POSITIVE,)),
    Function("stablehlo.log_plus_one", lambda x: mpmath.log(1 + x), ((-1.0, math.inf),), bits=2400),
    Function("stablehlo.logistic", _logistic, (EXPONENTIAL,)),
    Function("stablehlo.power", mpmath.power, (POSITIVE, (-30.0, 30.0))),
    Function("stablehlo.rsqrt", lambda x: 1 / mpmath.sqrt(x), (POSITIVE,)),
    Function("stablehlo.sine", mpmath.sin),
    Function("stablehlo.sqrt", mpmath.sqrt, (POSITIVE,)),
    Function("stablehlo.tan", mpmath.tan),
    Function("stablehlo.tanh", mpmath.tanh, (EXPONENTIAL,)),
    Function("chlo.acos", mpmath.acos, ((-1.0, 1.0),)),
    Function("chlo.acosh", mpmath.acosh, ((1.0, math.inf),)),
    Function("chlo.asin", mpmath.asin, ((-1.0, 1.0),)),
    Function("chlo.asinh", mpmath.asinh),
    Function("chlo.atan", mpmath.atan, bits=2400),
    Function("chlo.atanh", mpmath.atanh, ((-1.0, 1.0),), bits=2400),
    Function("chlo.bessel_i1e", _bessel_i1e, ((-300.0, 300.0),)),
    Function("chlo.cosh", mpmath.cosh, (EXPONENTIAL,)),
    Function("chlo.digamma", mpmath.digamma, (POSITIVE,), is_complex=False),
    Function("chlo.erf", mpmath.erf, ((-30.0, 30.0),), is_complex=False),
    Function("chlo.erf_inv", mpmath.erfinv, ((-1.0, 1.0),), is_complex=False),
    Function("chlo.erfc", mpmath.erfc, ((-30.0, 30.0),), is_complex=False),
    Function("chlo.lgamma", mpmath.loggamma, (POSITIVE,), is_complex=False),
    Function("chlo.polygamma", mpmath.polygamma, ((0.0, 5.0), (0.0, 100.0)), is_complex=False, whole=True),
    Function("chlo.sinh", mpmath.sinh, (EXPONENTIAL,)),
    Function("chlo.zeta", mpmath.zeta, ((1.0, 30.0), (0.0, 100.0)), is_complex=False),
)


class FloatType(NamedTuple):
    """A floating-point type: its NumPy dtype, digits and range."""

    dtype: np.dtype[Any]
    mantissa_bits: int
    min_exponent: int
    max: float
    smallest_subnormal: float


def component_type(element: str) -> FloatType:
    """A floating-point element type, or the type of a complex one's real and imaginary parts."""
    name = element.removeprefix("complex<").removesuffix(">")
    dtype = ELEMENT_TYPES[name].dtype
    layout: Any = ml_dtypes.finfo(dtype)
    smallest = float(layout.smallest_subnormal)
    return FloatType(dtype, int(layout.nmant), int(layout.minexp), float(layout.max), smallest)


def samples(generator: np.random.Generator, limits: tuple[float, float], real: FloatType) -> Array:
    """Edge values and random values within the limits, as f64 that the type holds."""
    low, high = max(limits[0], -real.max), min(limits[1], real.max)
    near = (max(low, -8.0), min(high, 8.0))
    spread = generator.uniform(*near, SAMPLES)
    largest = max(abs(low), abs(high))
    exponents = generator.uniform(math.log2(real.smallest_subnormal), math.log2(largest), SAMPLES)
    scaled = np.exp2(exponents) * generator.choice([-1.0, 1.0], SAMPLES)
    tiny = 2.0 ** (real.min_exponent)
    unit = 2.0**-real.mantissa_bits
    edges = [
        real.smallest_subnormal,
        tiny,
        unit,
        0.5,
        1 - unit,
        1.0,
        1 + unit,
        2.0,
        math.pi / 2,
        math.pi,
        22.0,
        real.max,
    ]
    every = np.concatenate([spread, scaled, edges, np.negative(edges)]).astype(real.dtype).astype(np.float64)
    chosen: Array = every[(every > low) & (every < high) & (every != 0)]
    return chosen


def arguments(function: Function, element: str) -> list[Array]:
    """Arrays of arguments of an element type, one for each operand."""
    generator = np.random.default_rng(2026)
    real = component_type(element)
    dtype = ELEMENT_TYPES[element].dtype
    if dtype.kind == "c":
        narrow = (-20.0, 20.0)
        columns = [[samples(generator, narrow, real) for _ in range(2)] for _ in function.ranges]
        count = min(len(part) for parts in columns for part in parts)
        return [
            (generator.permutation(re)[:count] + 1j * generator.permutation(im)[:count]).astype(dtype)
            for re, im in columns
        ]
    values = [generator.permutation(samples(generator, limits, real)) for limits in function.ranges]
    count = min(map(len, values))
    if function.whole:
        values[0] = np.floor(np.abs(values[0]))
    return [array[:count].astype(dtype) for array in values]


def runtime_values(function: Function, element: str, operands: Sequence[Array]) -> Array:
    """The runtime's results."""
    type = f"tensor<{len(operands[0])}x{element}>"
    names = [f"%{position}" for position in range(len(operands))]
    text = (
        f"func.func @main({', '.join(f'{name}: {type}' for name in names)}) -> {type} {{\n"
        f'  %r = "{function.name}"({", ".join(names)}) : ({", ".join([type] * len(names))}) -> {type}\n'
        f"  return %r : {type}\n}}"
    )
    return nimblehlo.execute(text, operands, options=nimblehlo.Options(functions="correctly_rounded"))[0]


def _exact(value: Any) -> Any:
    if isinstance(value, np.complexfloating):
        return mpmath.mpc(float(value.real), float(value.imag))
    return mpmath.mpf(float(value))


def error(got: Any, true: Any, real: FloatType) -> float:
    """The error in ulps; infinite where only one of both is beyond the type's range, or `got` is NaN."""
    modulus = abs(true)
    if modulus == 0:
        return 0.0 if got == 0 else math.inf
    exponent = max(int(mpmath.floor(mpmath.log(modulus, 2))), real.min_exponent)
    ulp = mpmath.ldexp(1, exponent - real.mantissa_bits)
    parts = (mpmath.re(true), mpmath.im(true))
    overflows = any(abs(part) >= mpmath.mpf(real.max) + ulp / 2 for part in parts)
    is_finite = bool(np.isfinite(np.complex128(got)))
    if overflows or not is_finite:
        return 0.0 if overflows and bool(np.isinf(np.complex128(got))) else math.inf
    return float(abs(_exact(got) - true) / ulp)


def measure(function: Function, element: str) -> float:
    """The largest error of a function on an element type, in ulps."""
    operands = arguments(function, element)
    results = runtime_values(function, element, operands)
    real = component_type(element)
    worst = 0.0
    with mpmath.workprec(function.bits):
        for *values, got in zip(*operands, results, strict=True):
            true = function.true(*map(_exact, values))
            worst = max(worst, error(got, true, real))
    return worst


def table(functions: Sequence[Function]) -> str:
    """The figures in Markdown."""
    lines = ["| function | " + " | ".join(TYPES) + " |", "|---" * (len(TYPES) + 1) + "|"]
    for function in functions:
        cells = []
        for element in TYPES:
            is_measured = function.is_complex or not element.startswith("complex")
            cells.append(f"{measure(function, element):.3g}" if is_measured else "")
        lines.append(f"| `{function.name}` | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/numerics.md")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help="operations (default: all)")
    options = parser.parse_args()
    if options.write and options.functions:
        parser.error("--write replaces the whole table: name no functions")
    chosen = [f for f in FUNCTIONS if not options.functions or f.name in options.functions]
    measured = table(chosen)
    if options.write:
        replace_marked(DOCUMENT, BEGIN, measured, END)


if __name__ == "__main__":
    main()
