"""The registry of rewrites imports the modules of those that may apply."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from nimblehlo.compiler.specialize.rewrites import registry

PACKAGE = registry.__package__

SCATTER = """
func.func @main(%a: tensor<90000xf32>, %i: tensor<90000x1xi32>, %u: tensor<90000xf32>) -> tensor<90000xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<90000xf32>, tensor<90000x1xi32>, tensor<90000xf32>) -> tensor<90000xf32>
  return %0 : tensor<90000xf32>
}
"""

CHAIN = """
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<8x16xf32>
  %2 = stablehlo.add %1, %x : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
"""


@pytest.mark.parametrize("name", registry.NAMES)
def test_each_rewrite_exists(name: str) -> None:
    module, _, function = name.partition(".")
    assert callable(getattr(importlib.import_module(f"{PACKAGE}.{module}"), function))


@pytest.mark.parametrize(("program", "loaded"), [(SCATTER, ["scatters"]), (CHAIN, ["algebra"])])
def test_only_rewrites_that_may_apply_are_imported(program: str, loaded: list[str]) -> None:
    code = (
        f"import sys, nimblehlo; nimblehlo.compile({program!r}); "
        f"print([name for name in sys.modules if name.startswith({PACKAGE + '.'!r})])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    names = [name.rpartition(".")[2] for name in eval(output)]
    always = ["identities", "implicit_conversions", "registry"]
    needs = {"scatters": ["index_components"]}
    expected = {*always, *loaded, *[need for one in loaded for need in needs.get(one, [])]}
    assert set(names) == expected
