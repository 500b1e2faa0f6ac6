"""``nimblehlo accuracy``."""

from pathlib import Path

import pytest

from nimblehlo.cli import main

PROGRAM = """
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = stablehlo.negate %a : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""


def test_bounds_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    assert main(["accuracy", str(file), "--random", "0"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("result 0: float32[4]: at most 4")
    assert second.startswith("result 1: float32[4]: at most 0 ulp")


def test_too_few_draws_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    assert main(["accuracy", str(file), "--random", "0", "--draws", "1"]) == 1
    assert "at least 2" in capsys.readouterr().err
