"""What is generated is known without the code generator, and each function that is named is there."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from nimblehlo.codegen import coverage
from nimblehlo.codegen.elementwise import complex64, floats, integers
from nimblehlo.codegen.mathematics import FUNCTIONS, FUNCTIONS_OF_F64, NARROW_FUNCTIONS

FUNCTIONS_OF = [
    (integers, {name: function for name, (_, function) in coverage.INTEGERS.items()}),
    (floats, coverage.FLOATS),
    (floats, coverage.PREDICATES),
    (floats, coverage.COMPLEX_NUMBERS),
    (complex64, coverage.COMPLEX64_FUNCTIONS),
]

SOFTMAX = """
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x512xf32>
  %d = stablehlo.subtract %x, %mb : tensor<64x512xf32>
  %e = stablehlo.exponential %d : tensor<64x512xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x512xf32>
  %r = stablehlo.divide %e, %sb : tensor<64x512xf32>
  return %r : tensor<64x512xf32>
}
"""


@pytest.mark.parametrize(("module", "functions"), FUNCTIONS_OF)
def test_functions_are_there(module: ModuleType, functions: dict[str, str]) -> None:
    missing = [function for function in functions.values() if not callable(getattr(module, function, None))]
    assert not missing


def test_mathematics_is_there() -> None:
    assert set(FUNCTIONS) == set(coverage.MATHEMATICS)
    assert set(FUNCTIONS_OF_F64) == set(coverage.MATHEMATICS_OF_F64)
    assert set(NARROW_FUNCTIONS) <= set(coverage.MATHEMATICS)


def test_no_operation_is_named_twice_for_floats() -> None:
    tables = (coverage.FLOATS, coverage.PREDICATES, coverage.MATHEMATICS)
    names = [name for table in tables for name in table]
    assert len(names) == len(set(names))


@pytest.mark.usefixtures("unverified")
def test_planning_fusions_loads_no_code_generator() -> None:
    """What follows from a program is told before any of its code is made; a first run may need none."""
    script = (
        "import sys, nimblehlo\n"
        f"executable = nimblehlo.compile({SOFTMAX!r})\n"
        "assert 'row_fusion' in executable.explain('plan')\n"
        "assert 'llvmlite' not in sys.modules, 'llvmlite'\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
