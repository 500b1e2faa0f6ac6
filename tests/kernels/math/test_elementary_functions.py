"""`elementary_functions.h` is printed from functions of which LLVM makes code with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from nimblehlo.compiler.loops.mathematics.f64 import error_functions, trigonometry
from nimblehlo.compiler.loops.mathematics.reals import Real, where
from nimblehlo.kernels.math import real_functions
from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.loops.loops import looped
from tools import c_functions

Array = np.ndarray[Any, Any]
F64 = ELEMENT_TYPES["f64"]


def test_the_header_is_what_the_tool_prints() -> None:
    """Run `python tools/c_functions.py --write` after a change."""
    assert c_functions.header() == c_functions.TARGET.read_text(encoding="utf-8")


def test_the_header_depends_on_no_processor() -> None:
    """For processors with AVX2 alone LLVM IR reads coefficients from memory."""
    environment = os.environ | {"NIMBLEHLO_CPU": "x86-64-v3"}
    command = [sys.executable, str(c_functions.__file__)]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert printed == c_functions.TARGET.read_text(encoding="utf-8")


def of_reduced(function: Callable[..., Real]) -> Callable[[Real], Real]:
    """A function of angles."""
    return lambda x: function(x, trigonometry.reduce_by_half_pi(x))


def erf_inv(x: Real) -> Real:
    """`erf_inv` with the logarithm that it needs."""
    inside = where(abs(x).compare("<", 1.0), x, 0.0)
    return error_functions.erf_inv(x, error_functions.minus_log((-inside).fma(inside, 1.0)))


FUNCTIONS: dict[str, Callable[..., Real]] = {
    **{name.removesuffix("_of"): of for name, of in c_functions.FUNCTIONS.items() if name.endswith("_of")},
    "erf_inv": erf_inv,
    "sine": of_reduced(trigonometry.sine_of_reduced),
    "cosine": of_reduced(trigonometry.cosine_of_reduced),
    "tangent": of_reduced(trigonometry.tangent_of_reduced),
}
"""The functions that the ufuncs compute, by the names of these."""


def arguments(name: str) -> Array:
    """Numbers of all magnitudes, of ordinary ones, and special ones; angles that LLVM can reduce."""
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 1 << 64, 20_000, np.uint64).view(np.float64)
    edges = np.array(
        [0.0, 5e-324, 2.0**-1022, 2.0**-54, 0.75, 0.9, 1.0, 20.0, 28.0, 708.0, 710.5, 1e300, np.inf]
    )
    values = np.concatenate([bits, rng.uniform(-1, 1, 5000), rng.uniform(-750, 750, 5000), edges, -edges])
    if name in ("sine", "cosine", "tangent"):
        values = values[np.abs(values) < trigonometry.MAX_REDUCED]
    return np.concatenate([values, [np.nan]])


def test_every_ufunc_has_a_function_of_the_language() -> None:
    ufuncs = {name for name, value in vars(real_functions).items() if isinstance(value, np.ufunc)}
    assert ufuncs == FUNCTIONS.keys() | c_functions.FAST_FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_llvm_gives_the_bits_of_c(name: str) -> None:
    ufunc = getattr(real_functions, name)
    x = arguments(name)
    operands = [x, np.random.default_rng(12).permutation(x)][: ufunc.nin]
    if name == "power":
        with np.errstate(invalid="ignore"):
            exponents = operands[1] % 1000
        operands = [np.concatenate([x, np.abs(x)]), np.concatenate([operands[1], exponents])]

    def emit(builder: ir.IRBuilder, *values: tuple[ir.Value]) -> tuple[ir.Value]:
        return (FUNCTIONS[name](*[Real(builder, value) for (value,) in values]).value,)

    with np.errstate(all="ignore"):
        expected = ufunc(*operands)
    value = looped(emit, [F64] * ufunc.nin, F64)(*operands)
    different = (value.view(np.int64) != expected.view(np.int64)) & ~(np.isnan(value) & np.isnan(expected))
    assert not different.any(), [(*[x[different][0] for x in operands], value[different][0])]


def printed(emit: Callable[[Real, Real], Real]) -> list[str]:
    """The lines of a function's body in C."""

    def function(x: Real, y: Real) -> Real:
        return emit(x, y)

    return [line.strip() for line in c_functions.function_definition("f", function).splitlines()[1:-1]]


def test_expressions_are_nested_as_they_are_computed() -> None:
    assert printed(lambda x, y: (x - y) * (x + 1.0) / -y) == ["return ((x - y) * (x + 1.0)) / -y;"]
    assert printed(lambda x, y: abs(x).fma(y, -0.0).sqrt()) == [
        "return sqrt(FUSED_MULTIPLY_ADD(fabs(x), y, -0.0));"
    ]


def test_values_that_are_used_twice_have_names() -> None:
    assert printed(lambda x, y: (x + y) * (x + y)) == ["return (x + y) * (x + y);"]

    def emit(x: Real, y: Real) -> Real:
        total = x + y
        return total * total

    assert printed(emit) == ["double v0 = x + y;", "return v0 * v0;"]


def test_conditions_are_blended() -> None:
    assert printed(lambda x, y: where(~x.is_nan() & y.compare("<", np.inf), x, np.nan)) == [
        "return blend_doubles(!(x != x) & (y < INFINITY), x, NAN);"
    ]


def test_unused_values_are_not_printed() -> None:
    def emit(x: Real, y: Real) -> Real:
        x / y
        return y

    assert printed(emit) == ["return y;"]


def test_an_instruction_that_c_code_is_not_to_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        printed(lambda x, y: x.rint())
