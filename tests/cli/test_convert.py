"""``nimblehlo convert``."""

import itertools
from pathlib import Path

import pytest

from nimblehlo import load
from nimblehlo.cli import main

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tan %x : tensor<4xf32> loc("a.py":1:2)
  return %0 : tensor<4xf32>
}
"""


def test_each_format_becomes_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.mlir"
    source.write_text(PROGRAM)
    paths = [
        source,
        *[tmp_path / name for name in ("a.mlirbc", "b.artifact", "c.mlir", "d.mlirbc", "e.mlir")],
    ]
    for before, after in itertools.pairwise(paths):
        assert main(["convert", str(before), str(after)]) == 0
    assert (tmp_path / "a.mlirbc").read_bytes().startswith(b"ML\xefR\x0dNimbleHLO\0")
    assert (tmp_path / "b.artifact").read_bytes().startswith(b"ML\xefR\x0dStableHLO_v")
    assert (tmp_path / "e.mlir").read_text() == str(load(PROGRAM))
    assert main(["convert", str(tmp_path / "d.mlirbc"), "-"]) == 0
    assert capfd.readouterr().out == str(load(PROGRAM))
    assert main(["convert", "--locations", str(tmp_path / "b.artifact"), "-"]) == 0
    assert 'loc("a.py":1:2)' in capfd.readouterr().out


def test_a_target_makes_an_artifact_of_that_version_or_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "source.mlir", tmp_path / "target.mlirbc"
    source.write_text(PROGRAM)
    assert main(["convert", str(source), str(target), "--target", "1.9.0"]) == 0
    assert target.read_bytes().startswith(b"ML\xefR\x0dStableHLO_v1.9.0\0")
    assert str(load(target)) == str(load(PROGRAM))
    assert main(["convert", str(source), str(target), "--target", "1.3.0"]) == 1
    assert "stablehlo.tan: the operation needs StableHLO 1.4.0" in capfd.readouterr().err
    assert main(["convert", str(source), str(target), "--target", "1.9.0", "--format", "text"]) == 1
    assert "--target is for portable artifacts" in capfd.readouterr().err


def test_programs_that_break_constraints_are_converted(tmp_path: Path) -> None:
    source, target = tmp_path / "source.mlir", tmp_path / "target.bc"
    source.write_text(
        PROGRAM.replace("return %0 : tensor<4xf32>", "return %0, %0 : tensor<4xf32>, tensor<4xf32>")
    )
    assert main(["convert", str(source), str(target)]) == 0
    assert str(load(target, verify=False)) == str(load(source, verify=False))
