"""Functions of f64 in generated code: loops of vectors and single elements have the bits of references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.loops.llvm.vector_variants import library_symbols
from nimblehlo.kernels.math.real_functions import VECTOR_FUNCTIONS
from nimblehlo.program.ops.framework.declaration import declarations
from nimblehlo.program.ops.intermediate.fusion import FUSION
from tests.support.running import run_every_way

BINARY = ("stablehlo.atan2", "stablehlo.power")
OF_LIBRARY = [one.name for one in declarations() if one.emit.f64_function.startswith("library.")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 710.0, 1e300, 5e-324, 3.0, 1.5]


def values(seed: int) -> np.ndarray[Any, Any]:
    """Ordinary values, and special ones at some of all places of a vector."""
    found = np.random.default_rng(seed).uniform(-3, 3, 1003)
    found[::17][: len(SPECIAL)] = np.random.default_rng(seed).permutation(SPECIAL)
    return found


@pytest.mark.parametrize("name", OF_LIBRARY)
def test_generated_code_has_the_bits_of_references(name: str) -> None:
    type = "tensor<1003xf64>"
    operands, types = ("%s, %b", f"{type}, {type}") if name in BINARY else ("%s", type)
    text = f"""
      func.func @main(%a: {type}, %b: {type}) -> ({type}, {type}) {{
        %s = stablehlo.multiply %a, %b : {type}
        %f = "{name}"({operands}) : ({types}) -> {type}
        %r = stablehlo.subtract %f, %a : {type}
        return %f, %r : {type}, {type}
      }}
    """
    assert FUSION in nimblehlo.compile(text).explain()
    with np.errstate(all="ignore"):
        run_every_way(text, values(1), values(2))


def test_complex_exponentials_have_the_bits_of_references() -> None:
    type, real = "tensor<1003xcomplex<f64>>", "tensor<1003xf64>"
    text = f"""
      func.func @main(%a: {real}, %b: {real}) -> ({type}, {type}) {{
        %z = stablehlo.complex %a, %b : {type}
        %e = stablehlo.exponential %z : {type}
        %r = stablehlo.multiply %e, %z : {type}
        return %e, %r : {type}, {type}
      }}
    """
    a, b = values(1), values(2)
    with np.errstate(all="ignore"):
        exponential, _ = run_every_way(text, a, b)
        expected = np.exp(a + 1j * b)
    is_regular = np.isfinite(expected)
    np.testing.assert_allclose(exponential[is_regular], expected[is_regular], rtol=1e-14)


def test_loops_call_functions() -> None:
    """A loop of scalars is native where it has functions of f64."""
    text = """
      func.func @main(%x: tensor<f64>) -> tensor<f64> {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = stablehlo.while(%v = %x, %i = %zero) : tensor<f64>, tensor<i32>
        cond {
          %n = stablehlo.constant dense<1000> : tensor<i32>
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %third = stablehlo.constant dense<0.3333> : tensor<f64>
          %e = stablehlo.exponential %v : tensor<f64>
          %p = stablehlo.power %e, %third : tensor<f64>
          %s = stablehlo.sine %p : tensor<f64>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %s, %j : tensor<f64>, tensor<i32>
        }
        return %r#0 : tensor<f64>
      }
    """
    assert "no native loop" not in nimblehlo.compile(text).explain()
    run_every_way(text, np.float64(0.7))


def test_symbols_are_those_that_code_refers_to() -> None:
    code = b"\0nimblehlo_f64_sine\0nimblehlo_f64_sine_of_4_lanes\0"
    lanes = {1, 4} & VECTOR_FUNCTIONS["sine"].keys()
    assert set(library_symbols(code).values()) == {VECTOR_FUNCTIONS["sine"][one] for one in lanes}
    assert library_symbols(b"\0sine\0") == {}
