"""Special functions and functions of complex numbers in fusions: the same bits in every way."""

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.types import ELEMENT_TYPES
from tests.support.running import run_every_way, same_bits

SIZE = 40_000
EDGES = [0.0, -0.0, 1e-45, -1e-40, 0.5, 1.0, 1.4616321, 2.0, -0.5, -1.0, -2.457, 6.5, 10.2, 3e38, -3e38]
EDGES += [float("inf"), -float("inf"), float("nan")]


def values(seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).uniform(-12, 12, SIZE - len(EDGES))
    return np.concatenate([EDGES, drawn]).astype(np.float32)


def chain(element: str, *names: str) -> str:
    """A program that multiplies its operand by the sum of these functions of it."""
    type = f"tensor<{SIZE}x{element}>"
    lines = [f'%f{k} = "{name}"(%x) : ({type}) -> {type}' for k, name in enumerate(names)]
    total = "%f0"
    for k in range(1, len(names)):
        lines.append(f"%s{k} = stablehlo.add {total}, %f{k} : {type}")
        total = f"%s{k}"
    body = "\n  ".join([*lines, f"%r = stablehlo.multiply {total}, %x : {type}"])
    return f"func.func @main(%x: {type}) -> {type} {{\n  {body}\n  return %r : {type}\n}}"


def check(text: str, operand: np.ndarray) -> None:
    (expected,) = run_every_way(text, operand)
    for threads in (1, 2, 3, 8):
        (got,) = nimblehlo.execute(text, [operand], options=Options(compile="eager", threads=threads))
        assert same_bits(got, expected), threads


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
def test_special_functions(element):
    operand = values(1)
    with np.errstate(all="ignore"):
        operand = operand.astype(ELEMENT_TYPES[element].dtype)
    check(chain(element, "chlo.lgamma", "chlo.digamma"), operand)
    check(chain(element, "chlo.erf", "chlo.erfc", "stablehlo.tanh"), operand)


def test_functions_of_complex_numbers():
    real, imaginary = values(2), np.random.default_rng(3).permutation(values(4))
    operand = np.stack([real, imaginary], axis=1).view(np.complex64)[:, 0]
    names = ("exponential", "log", "sqrt", "rsqrt", "sign")
    for name in names:
        check(chain("complex<f32>", f"stablehlo.{name}"), operand)
    type = f"tensor<{SIZE}xcomplex<f32>>"
    check(
        f"func.func @main(%x: {type}) -> tensor<{SIZE}xf32> {{\n"
        f"  %n = stablehlo.negate %x : {type}\n"
        f"  %s = stablehlo.sqrt %x : {type}\n"
        f"  %q = stablehlo.divide %n, %s : {type}\n"
        f"  %r = stablehlo.abs %q : ({type}) -> tensor<{SIZE}xf32>\n"
        f"  return %r : tensor<{SIZE}xf32>\n}}",
        operand,
    )
