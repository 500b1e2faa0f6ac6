"""What commands print fits the window of a terminal, in colour unless NO_COLOR is set; pipes get all."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

import nimblehlo
from nimblehlo.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTHS: Final = (60, 80, 120)
ESCAPE: Final = re.compile(r"\x1b\[\d*m")

PROGRAM: Final = """
func.func @main(%x: tensor<8x16x32xf32>, %u: tensor<64xf32>) -> (tensor<8x16x32xf32>, tensor<8xf32>) {
  %i = stablehlo.constant dense<1> : tensor<64x1xi32>
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0 = "stablehlo.scatter"(%z, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8xf32>, tensor<64x1xi32>, tensor<64xf32>) -> tensor<8xf32>
  %1 = stablehlo.tanh %x : tensor<8x16x32xf32>
  return %1, %0 : tensor<8x16x32xf32>, tensor<8xf32>
}
"""
FAILS: Final = """
func.func @main() {
  %0 = stablehlo.constant dense<1> : tensor<4xi32>
  check.expect_eq_const %0, dense<2> : tensor<4xi32>
  func.return
}
"""
COMMANDS: Final = ("profile", "explain", "diff", "check", "explore", "accuracy", "judge", "conformance")
SLOW: Final = ("diff", "conformance")
"""Commands that start a process, or run many programs."""
COLOURLESS: Final = ("accuracy", "conformance")
"""Commands whose lines are neither good nor bad here."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of programs, inputs, and results that are right and wrong."""
    folder = tmp_path / "a_folder_with_a_name_that_no_window_of_sixty_characters_has_space_for"
    folder.mkdir()
    (folder / "program.mlir").write_text(PROGRAM)
    (folder / "fails.mlir").write_text(FAILS)
    draws = np.random.default_rng(0)
    inputs = [draws.standard_normal(shape).astype(np.float32) for shape in ((8, 16, 32), (64,))]
    results = nimblehlo.execute(PROGRAM, inputs)
    np.savez(folder / "inputs.npz", *inputs)
    np.savez(folder / "right.npz", *results)
    np.savez(folder / "wrong.npz", results[0] + np.float32(1), results[1])
    return folder


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let standard output be a terminal that shows colours."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def command(name: str, folder: Path) -> Sequence[str]:
    """The arguments of a command whose lines are long."""
    results = ["--results", str(folder / "right.npz"), str(folder / "wrong.npz")]
    ending: dict[str, list[str]] = {
        "explore": ["--schedules", "4"],
        "diff": ["--against", "nimblehlo", "--every-operation"],
        "judge": results,
    }
    if name == "check":
        return ["check", str(folder / "fails.mlir")]
    if name == "conformance":
        return ["conformance", "--operations", "abs", "--level", "smoke"]
    inputs = ["--input", str(folder / "inputs.npz")]
    return [name, str(folder / "program.mlir"), *inputs, *ending.get(name, [])]


def printed(capsys: pytest.CaptureFixture[str], arguments: Sequence[str]) -> str:
    """What a command prints on standard output."""
    main(arguments)
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_lines_fit_the_window(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_terminal(monkeypatch)
    for width in WIDTHS[:1] if name in SLOW else WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        text = printed(capsys, command(name, folder))
        assert (ESCAPE.search(text) is not None) == (name not in COLOURLESS)
        lines = ESCAPE.sub("", text).splitlines()
        # Words, such as the paths of files, remain whole.
        assert lines and not [line for line in lines if len(line) > width and len(line.split()) > 1]


@pytest.mark.parametrize("name", COMMANDS)
def test_wide_lines_are_those_of_pipes_in_colour(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped = printed(capsys, command(name, folder))
    use_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(min(WIDTHS)))
    wide = printed(capsys, [*command(name, folder), "--wide"])
    assert "\x1b" not in piped and (ESCAPE.search(wide) is not None) == (name not in COLOURLESS)
    assert without_figures(piped)
    assert without_figures(ESCAPE.sub("", wide)) == without_figures(piped)


@pytest.mark.parametrize("name", [one for one in COMMANDS if one not in SLOW])
def test_no_color(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed(capsys, command(name, folder))


def without_figures(text: str) -> list[list[str]]:
    """The words of the lines that hold no times of a run."""
    timed = re.compile(r"\b[\d.]+ [num]?s\b")
    lines = [line for line in text.splitlines() if not timed.search(line) and "%" not in line]
    return [line.split() for line in lines]
