"""``nimblehlo profile`` and ``nimblehlo explain``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nimblehlo.cli import main

PROGRAM = """
func.func @main(%x: tensor<60xf32>) -> tensor<60xf32> {
  %0 = stablehlo.tanh %x : tensor<60xf32>
  return %0 : tensor<60xf32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_profile(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, trace = tmp_path / "profile.json", tmp_path / "trace.json"
    files = ["--json", str(stored), "--perfetto", str(trace)]
    assert main(["profile", str(program), "--random", "0", "--calls", "3", *files]) == 0
    printed = capsys.readouterr().out
    assert "stablehlo.tanh" in printed and "\nbound: a call takes at least " in printed
    assert json.loads(stored.read_text())["bound"]["seconds"] > 0
    assert json.loads(stored.read_text())["steps"][0]["calls"] == 3
    assert json.loads(trace.read_text())["traceEvents"]


def test_no_calls(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(program), "--random", "0", "--calls", "0"]) == 1
    assert "must be at least 1" in capsys.readouterr().err


def test_explain(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(program)]) == 0
    shown = capsys.readouterr().out
    assert "Plan of @main" in shown and "Before specialization" not in shown
    page = tmp_path / "plan.html"
    assert main(["explain", str(program), "--html", str(page)]) == 0
    assert f"{program}:3:8" in page.read_text()


def test_pages_with_times(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, page = tmp_path / "first.json", tmp_path / "plan.html"
    run = ["profile", str(program), "--random", "0"]
    assert main([*run, "--json", str(stored)]) == 0
    assert main([*run, "--html", str(page), "--before", str(stored)]) == 0
    assert '"label":"this run"' in page.read_text() and '"label":"first"' in page.read_text()
    (tmp_path / "other").mkdir()
    second = tmp_path / "other" / "first.json"
    second.write_text(stored.read_text())
    shown = ["explain", str(program), "--html", str(page), "--profile"]
    assert main([*shown, str(stored), str(second)]) == 0
    assert json.dumps(str(second)) in page.read_text()
    third = tmp_path / "third.json"
    third.write_text(stored.read_text())
    assert main([*shown, str(stored), str(second), str(third)]) == 1
    assert "at most 2" in capsys.readouterr().err
    assert main([*shown, str(program)]) == 1
    assert "is not a profile" in capsys.readouterr().err


def test_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = tmp_path / "machine.json"
    assert main(["machine", "--json", str(stored)]) == 0
    assert "copy memory, GB/s" in capsys.readouterr().out
    assert json.loads(stored.read_text())["figures"]["copy memory 1"] > 0
