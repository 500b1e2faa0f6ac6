"""The comparison of the frontend with jaxlib's parser, on small programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.frontend.acceptance import compare, programs_of, report
from tests.program.frontend.acceptance_reasons import UNEXPLAINED

QUANTIZED = "tensor<2x!quant.uniform<i8:f32, 1.0>>"
PROGRAMS = {
    'func.func @main() { return loc("C:\\\\train.py":12:3 to :9) }': "both",
    "func.func @main() { return": "neither",
    f"func.func @main(%a: {QUANTIZED}) -> {QUANTIZED} {{ return %a : {QUANTIZED} }}": "only the frontend",
    "func.func @main() { stablehlo.custom_call @absent() : () -> () return }": "only jaxlib",
    "func.func @main(%a: f32) { %0 = arith.addf %a, %a : f32 return }": "only jaxlib",
}


def test_outcomes_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jaxlib")
    file = tmp_path / "programs.mlir"
    file.write_text("// a comment alone\n// -----\n" + "\n// -----\n".join([*PROGRAMS, *PROGRAMS]))
    programs = list(programs_of([file]))
    assert [text.strip() for _, _, text in programs] == list(PROGRAMS)
    assert [line for _, line, _ in programs] == [3, 5, 7, 9, 11]
    verdicts = compare(programs)
    assert [verdict.outcome for verdict in verdicts] == list(PROGRAMS.values())
    assert report(verdicts, examples=1) == 0
    assert "5 programs: 1 both, 1 neither, 2 only jaxlib, 1 only the frontend" in capsys.readouterr().out


def test_what_has_no_explanation_is_counted() -> None:
    pytest.importorskip("jaxlib")
    # Both sides refuse this, so that one of them is made to accept it.
    (verdict,) = compare([(Path("a.mlir"), 1, "func.func @main() {")])
    verdict.there = None
    assert verdict.reason == UNEXPLAINED
    assert report([verdict], examples=0) == 1
