"""Elementwise operations without generated code: the same bits by references and on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from tests.support.running import same_bits

COUNT = 5003
Array = np.ndarray[Any, Any]

UNARY = (
    *[
        (f"stablehlo.{name}", f"complex<{type}>")
        for name in (
            "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic",
            "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
        )
        for type in ("f32", "f64")
    ],
    *[(f"chlo.{name}", "complex<f32>") for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")],
    *[
        (f"chlo.{name}", type)
        for name in ("bessel_i1e", "digamma", "lgamma")
        for type in ("bf16", "f32", "f64")
    ],
)  # fmt: skip
BINARY = (
    *[(f"stablehlo.{name}", f"complex<{type}>") for name in ("divide", "power") for type in ("f32", "f64")],
    ("stablehlo.atan2", "complex<f64>"),
    ("chlo.polygamma", "f64"),
    ("chlo.zeta", "f32"),
)


def _text(name: str, type: str, operands: int, count: int = COUNT) -> str:
    """A program of one operation on equal tensors."""
    kind = f"tensor<{count}x{type}>"
    arguments = ", ".join(f"%{number}: {kind}" for number in range(operands))
    given = ", ".join(f"%{number}" for number in range(operands))
    types = ", ".join([kind] * operands)
    return (
        f"func.func @main({arguments}) -> {kind} {{\n"
        f'  %r = "{name}"({given}) : ({types}) -> {kind}\n  return %r : {kind}\n}}'
    )


def _values(dtype: Any, seed: int) -> Array:
    """Numbers of all sizes, both zeros, infinities and NaNs."""
    random = np.random.default_rng(seed)

    def part() -> Array:
        values = random.standard_normal(COUNT) * 10 ** random.uniform(-3, 2, COUNT)
        for special in (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e300, -1e-300):
            values[random.random(COUNT) < 0.01] = special
        return values

    with np.errstate(over="ignore", invalid="ignore"):
        return (part() + 1j * part() if dtype.kind == "c" else part()).astype(dtype)


@pytest.mark.sampled(("name", "type"))
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("name", "type", "operands"), [*[(*one, 1) for one in UNARY], *[(*one, 2) for one in BINARY]]
)
def test_threads_do_not_change_the_bits(name: str, type: str, operands: int, threads: int) -> None:
    text = _text(name, type, operands)
    executable = nimblehlo.compile(text, options=Options(compile="eager", threads=threads))
    given = [_values(executable.input_types[k].dtype, k) for k in range(operands)]
    (want,) = nimblehlo.execute(text, given, options=Options(compile="never"))
    (got,) = executable(*given)
    assert same_bits(got, want)


def test_limits_of_memory_hold() -> None:
    count = 200_000
    text = _text("stablehlo.exponential_minus_one", "complex<f64>", 1, count)
    values = np.random.default_rng(0).standard_normal(count) * (1 + 1j)
    with pytest.raises(ExecutionError):
        nimblehlo.compile(text, options=Options(max_bytes=16 * count + 100_000))(values)
