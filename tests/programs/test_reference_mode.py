"""`Options(reference=True)` runs the specification's text, and NumPy gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.fuzzing.generator import RandomProgram
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.reduction.reduce import Reduce
from tests.checks.fuzzing.programs import random_program
from tests.checks.fuzzing.rules import same_but_for_nan, tells_nans_apart
from tests.checks.fuzzing.variants import for_runtime

REFERENCE = Options(reference=True)

PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %i: tensor<2x1xi32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<2x3xf32>
  %1 = stablehlo.add %0, %x : tensor<2x3xf32>
  %2 = "stablehlo.scatter"(%1, %i, %x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.multiply %a, %b : tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %3 : tensor<3xf32>
}
"""
INPUTS = (np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[1], [5]], np.int32))


def implementations(options: Options) -> list[str]:
    """The kind and the reason of each step."""
    plan = nimblehlo.compile(PROGRAM, options=options).explain("plan")
    return [line.rpartition("[")[2].rstrip("]") for line in plan.splitlines() if "[" in line]


def test_every_step_is_a_reference() -> None:
    explained = implementations(REFERENCE)
    assert len(explained) >= 4
    assert set(explained) == {"reference: the specification's text"}
    assert any(one.startswith("numpy:") for one in implementations(Options(compile="never")))


def test_nothing_is_compiled_even_if_it_is_asked_for() -> None:
    assert Options(reference=True, compile="eager").compile == "never"
    with pytest.raises(ValueError, match="reference is 1"):
        Options(reference=1)  # type: ignore[arg-type]


def test_the_reference_needs_no_numpy_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = nimblehlo.execute(PROGRAM, INPUTS)[0]

    def wrong(view: Op) -> Any:
        return lambda *operands, body: np.full(view.results[0].shape, 7, np.float32)

    monkeypatch.setattr(Reduce, "bind", wrong)
    (got,) = nimblehlo.execute(PROGRAM, INPUTS, options=Options(compile="never"))
    assert (got == 7).all()
    (got,) = nimblehlo.execute(PROGRAM, INPUTS, options=REFERENCE)
    assert got.tobytes() == wanted.tobytes()


def differences(program: RandomProgram) -> list[str]:
    """The results of a program that references and NumPy compute differently; the bits of NaNs are open."""
    if any(map(tells_nans_apart, program.block.operations)):
        return []
    module, inputs = for_runtime(program, program.results, {})
    modes = (REFERENCE, Options(compile="never"))
    results = [nimblehlo.execute(module, inputs, options=options) for options in modes]
    pairs = enumerate(zip(*results, strict=True))
    return [f"result {number}" for number, (a, b) in pairs if not same_but_for_nan(a, b)]


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_programs_have_the_same_bits(first: int) -> None:
    for seed in range(first, first + 50):
        assert differences(random_program(seed, False, ())) == [], seed
