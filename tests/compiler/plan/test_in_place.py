"""Writing into operands that die changes no bit: random programs, their arrays of any size overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

pytest.importorskip("jaxlib")

import nimblehlo
from nimblehlo import NimbleError, Options
from nimblehlo.checks.fuzzing.programs import random_program
from nimblehlo.compiler.plan import all_steps, lowering
from tests.checks.fuzzing.variants import for_runtime
from tests.support.running import run_every_way, same_bits

SAMPLE = 150


def results_of(program: Any, options: Options) -> tuple[list[Any] | str, int]:
    """The results of two calls, or the error; and how many steps may overwrite operands."""
    module, inputs = for_runtime(program, program.results, {})
    before = [array.tobytes() for array in inputs]
    try:
        executable = nimblehlo.compile(nimblehlo.load(str(module)), options=options)
        results = [*executable(*inputs), *executable(*inputs)]
    except NimbleError as error:
        return str(error), 0
    assert [array.tobytes() for array in inputs] == before
    assert executable._static_program is not None
    return [np.array(result) for result in results], sum(
        bool(step.overwrites) for step in all_steps(executable._static_program.plan)
    )


def equal_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bytes, those of NaNs too."""
    return a.dtype == b.dtype and bool(a.tobytes() == b.tobytes())


def compare(
    seeds: range, options: Options, monkeypatch: pytest.MonkeyPatch, are_equal: Callable[[Any, Any], bool]
) -> int:
    """Run programs with and without writing in place; how many steps could."""
    overwriting = 0
    for seed in seeds:
        program = random_program(seed)
        monkeypatch.setattr(lowering, "_MIN_OVERWRITTEN_BYTES", 1 << 60)
        expected, _ = results_of(program, options)
        monkeypatch.setattr(lowering, "_MIN_OVERWRITTEN_BYTES", 1)
        found, steps = results_of(program, options)
        if isinstance(found, str) or isinstance(expected, str):
            assert found == expected, f"seed {seed}"
        else:
            assert all(map(are_equal, found, expected)), f"seed {seed}"
        overwriting += steps
    return overwriting


def test_random_programs_give_the_same_bits_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(range(SAMPLE), Options(compile="never"), monkeypatch, equal_bytes) > SAMPLE // 10


def test_random_fusions_give_the_same_bits_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time decides from which call on a step is native, and which NaN an operation returns is open."""
    compare(range(SAMPLE // 2), Options(compile="auto"), monkeypatch, same_bits)


@pytest.mark.parametrize("made_by", ["stablehlo.sort", "stablehlo.dot_general"])
def test_an_operand_whose_products_are_read_elsewhere_is_not_overwritten(made_by: str) -> None:
    """The result's halves change places: each element is made from an operand's element at another place, by
    way of a multiplication."""
    makers = {
        "stablehlo.sort": """"stablehlo.sort"(%a) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }) {dimension = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>""",
        "stablehlo.dot_general": """stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>""",
    }
    text = f"""
func.func @main(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {{
  %0 = {makers[made_by]}
  %1 = stablehlo.multiply %0, %a : tensor<64x64xf32>
  %2 = stablehlo.slice %1 [0:64, 32:64] : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %3 = stablehlo.slice %1 [0:64, 0:32] : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %4 = stablehlo.concatenate %2, %3, dim = 1
      : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  %5 = stablehlo.negate %4 : tensor<64x64xf32>
  %6 = stablehlo.sine %5 : tensor<64x64xf32>
  %7 = stablehlo.add %6, %5 : tensor<64x64xf32>
  return %7 : tensor<64x64xf32>
}}
"""
    a = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    run_every_way(text, a)


ADDED = """"stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %sum = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
  : (tensor<SIZExf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<SIZExf32>"""
STEPPED = """stablehlo.multiply %a, %a : tensor<SIZExf32>
  %s = stablehlo.sqrt %1 : tensor<SIZExf32>
  %0 = stablehlo.subtract %a, %s : tensor<SIZExf32>"""


@pytest.mark.parametrize("size", [2000, 300_000])
@pytest.mark.parametrize(("made", "number"), [(ADDED, 0), (STEPPED, 1)], ids=["scatter", "elementwise"])
@pytest.mark.parametrize("compile", ["never", "auto", "eager"])
def test_a_result_stands_in_the_memory_of_a_donated_input(
    made: str, number: int, size: int, compile: Literal["never", "auto", "eager"]
) -> None:
    """From the first call on, whichever implementation serves."""
    text = f"""
func.func @main(%a: tensor<SIZExf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<SIZExf32> {{
  %{number} = {made}
  return %0 : tensor<SIZExf32>
}}
""".replace("SIZE", str(size))
    program = nimblehlo.load(text)
    plain = nimblehlo.compile(program, options=Options(compile=compile))
    donating = nimblehlo.compile(program, options=Options(compile=compile, donate=(0,)))
    others = np.int32([[1], [7], [1]]), np.float32([1, 2, 3])
    for _ in range(3):
        a = np.random.default_rng(0).random(size, dtype=np.float32)
        (wanted,) = plain(a, *others)
        (found,) = donating(a, *others)
        assert found.ctypes.data == a.ctypes.data and found.tobytes() == wanted.tobytes()
