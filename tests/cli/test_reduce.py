"""``nimblehlo reduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import nimblehlo
from nimblehlo.checks.minimizer import minimize, oracles
from nimblehlo.checks.minimizer.oracles import by_command
from nimblehlo.cli import main
from nimblehlo.program.ir import Module

PROGRAM = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.sine %x : tensor<3xf32>
  %1 = stablehlo.negate %0 : tensor<3xf32>
  %2 = stablehlo.tanh %1 : tensor<3xf32>
  return %2 : tensor<3xf32>
}
"""

CALL = PROGRAM.replace(
    "negate %0 : tensor<3xf32>", "custom_call @nobody(%0) : (tensor<3xf32>) -> tensor<3xf32>"
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_an_error(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "small.mlir"
    program.write_text(CALL)
    assert main(["reduce", str(program), "--raises", "nobody", "--output", str(output)]) == 0
    assert "3 operations before, 1 after" in capsys.readouterr().out
    assert "custom_call" in output.read_text() and "tanh" not in output.read_text()


def test_a_command(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", str(program), "--check", "grep -q tanh", "-j", "2"]) == 0
    shown = capsys.readouterr().out
    assert "stablehlo.tanh" in shown and "sine" not in shown
    assert nimblehlo.load(shown)


def test_a_program_without_the_fault(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", str(program), "--check", "grep -q cosine {}"]) == 1
    assert "does not show the fault" in capsys.readouterr().err


def test_a_command_that_is_not_there(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", str(program), "--check", "/no/such/command"]) == 1
    assert "cannot be run" in capsys.readouterr().err


def test_a_command_that_takes_too_long() -> None:
    sleep = f"{sys.executable} -c 'import time; time.sleep(60)'"
    assert not by_command(sleep, seconds=0.2)(nimblehlo.load(PROGRAM))


def test_a_backend_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend takes `tanh` for `sine`; the fault is found by the bounds of right results."""

    class Wrong:
        def __init__(self, name: str) -> None:
            assert name == "some"

        def run(self, module: Module, inputs: list[Any]) -> list[Any]:
            return nimblehlo.execute(nimblehlo.load(str(module).replace("tanh", "sine")), inputs)

    monkeypatch.setattr(oracles, "IsolatedBackend", Wrong)
    reduced = minimize(PROGRAM, oracles.by_backend("some"))
    assert reduced.operations == 1 and "tanh" in str(reduced)


def test_a_backend_that_is_not_there(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", str(program), "--against", "nowhere"]) == 1
    assert "there is no backend 'nowhere'" in capsys.readouterr().err
