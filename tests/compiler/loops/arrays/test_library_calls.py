"""Calls of library routines from native code: the symbols that the code refers to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import nimblehlo
from nimblehlo.compiler.loops.arrays import library_calls
from nimblehlo.program.ops.linalg.linalg import TriangularSolve

PROGRAM = """
func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
"""


def test_code_refers_to_the_call_that_is_kept(monkeypatch: Any) -> None:
    """While a call is prepared, another thread may have prepared the same: only the one that is kept may be
    in code, since the other's memory is freed."""
    calls: dict[str, Any] = {}
    monkeypatch.setattr(library_calls, "_calls", calls)
    main = nimblehlo.load(PROGRAM).functions["main"]
    (solve,) = [one for one in main.body.blocks[0].operations if one.name == "stablehlo.triangular_solve"]
    kept, (symbol, function) = SimpleNamespace(solver=1), library_calls._symbols(solve)

    def prepare() -> Any:
        calls[symbol] = kept
        return SimpleNamespace(solver=2)

    monkeypatch.setattr(TriangularSolve, "native_call", lambda view: prepare)
    symbols = library_calls.library_symbols([solve])
    assert symbols == {symbol: id(kept), function: 1}
