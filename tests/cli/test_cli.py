"""The command line."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.cli import main
from nimblehlo.kernels.launch import cache_files

ADD = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

FUSED = """
func.func @main(%x: tensor<60xf32>) -> tensor<60xf32> {
  %0 = stablehlo.add %x, %x : tensor<60xf32>
  %1 = stablehlo.tanh %0 : tensor<60xf32>
  %2 = stablehlo.multiply %1, %x : tensor<60xf32>
  return %2 : tensor<60xf32>
}
"""

PASSES = """
func.func @first() {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  check.expect_eq_const %0, dense<1> : tensor<i32>
  func.return
}
// -----
func.func @second() {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  check.expect_eq_const %0, dense<1> : tensor<i32>
  func.return
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with three entries of 70, 40 and 36 bytes, of two versions."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "3M")
    numba, generated = tmp_path / "cache" / ("0" * 32), tmp_path / "cache" / ("generated-" + "1" * 32)
    for path, size in ((numba / "a.bin", 70), (numba / "b.bin", 40), (generated / "c.o", 36)):
        cache_files.write_entry(path, b"x" * (size - 32))
    return tmp_path / "cache"


def test_cache_info(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"path: {cache}",
        "usable: yes",
        "limit: 3145728 bytes (3.0 MiB)",
        "total: 3 files, 146 bytes",
        "numba: 2 files, 110 bytes",
        "generated: 1 file, 36 bytes",
        "programs: 0 files, 0 bytes",
        "machine: 0 files, 0 bytes",
        "unfinished: 0 files, 0 bytes",
    ]


def test_cache_info_as_json(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {
        "path": str(cache),
        "usable": True,
        "reason": None,
        "limit": 3 << 20,
        "files": 3,
        "bytes": 146,
        "kinds": {
            "numba": {"files": 2, "bytes": 110},
            "generated": {"files": 1, "bytes": 36},
            "programs": {"files": 0, "bytes": 0},
            "machine": {"files": 0, "bytes": 0},
            "unfinished": {"files": 0, "bytes": 0},
        },
    }
    assert main(["cache", "info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert main(["cache", "info", "--json", str(tmp_path / "info.json")]) == 0
    assert json.loads((tmp_path / "info.json").read_text()) == expected
    assert "usable: yes" in capsys.readouterr().out


def test_cache_clear(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 3 files, 146 bytes from {cache}\n"
    assert main(["cache", "clear", "--json"]) == 0
    removed = {"path": str(cache), "removed_files": 0, "removed_bytes": 0}
    assert json.loads(capsys.readouterr().out) == removed
    assert not [path for path in cache.rglob("*") if path.is_file()]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_cache_that_others_may_write_to(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.chmod(0o777)
    assert main(["cache", "info", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert not report["usable"] and f"{cache} may be written by everybody" in report["reason"]
    assert main(["cache", "clear"]) == 1
    assert f"{cache} may be written by everybody" in capsys.readouterr().err
    assert len(list(cache.rglob("*.*"))) == 3


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_run_says_once_why_compiled_code_is_not_cached(program: Path, tmp_path: Path, mode: int) -> None:
    program.write_text(FUSED)
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    child = subprocess.run(
        [sys.executable, "-m", "nimblehlo", "run", str(program), "--random", "0", "--compile", "eager"],
        env={**os.environ, "NIMBLEHLO_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.returncode == 0
    assert child.stderr.count(f"{folder} may be written by everybody") == (mode == 0o777)
    assert bool(list(folder.iterdir())) == (mode == 0o700)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "add.mlir"
    file.write_text(ADD)
    return file


@pytest.mark.parametrize("element_type", ["bfloat16", "float8_e5m2", "int4"])
def test_element_types_that_numpy_lacks(element_type: str, tmp_path: Path) -> None:
    types = {"bfloat16": "bf16", "float8_e5m2": "f8E5M2", "int4": "i4"}
    file, output = tmp_path / "add.mlir", tmp_path / "out.npz"
    file.write_text(ADD.replace("f32", types[element_type]))
    values = np.ones(4).astype(getattr(ml_dtypes, element_type))
    np.save(tmp_path / "in.npy", values.view("V2" if element_type == "bfloat16" else "V1"))
    inputs = [str(tmp_path / "in.npy")] * 2
    assert main(["run", str(file), "--input", *inputs, "--output", str(output)]) == 0
    stored = np.load(output)["result_0"]
    assert stored.view(values.dtype).astype(float).tolist() == [2.0] * 4


def test_run_with_inputs(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.arange(4, dtype=np.float32))
    np.save(tmp_path / "b.npy", np.ones(4, np.float32))
    output = tmp_path / "out.npz"
    status = main(
        [
            "run",
            str(program),
            "--input",
            str(tmp_path / "a.npy"),
            str(tmp_path / "b.npy"),
            "--output",
            str(output),
        ]
    )
    assert status == 0
    printed = capsys.readouterr().out
    assert "tensor<4xf32>" in printed and "[1. 2. 3. 4.]" in printed and "ms" in printed
    assert np.load(output)["result_0"].tolist() == [1, 2, 3, 4]


def test_run_with_inputs_of_an_extension_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "add.mlir"
    file.write_text(ADD.replace("f32", "bf16"))
    np.save(tmp_path / "a.npy", np.arange(4).astype(ml_dtypes.bfloat16))
    assert (
        main(["run", str(file), "--input", str(tmp_path / "a.npy"), "--input", str(tmp_path / "a.npy")]) == 0
    )
    assert "[0 2 4 6]" in capsys.readouterr().out


def test_run_at_random_repeats(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for seed in ("1", "1", "2"):
        assert main(["run", str(program), "--random", seed]) == 0
        texts.append(capsys.readouterr().out.rsplit("loaded in", 1)[0])
    assert texts[0] == texts[1] != texts[2]


def test_missing_inputs_are_named(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(program)]) == 1
    assert "@main takes 2 inputs: pass --input X.npy ..., or --random SEED" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "explain", "profile", "explore", "accuracy"])
def test_programs_from_standard_input(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ADD.encode())))
    assert main([command, "-", "--random", "0"]) == 0
    assert "4" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--input", "missing.npy"], ["--entry", "other", "--random", "1"]])
def test_run_fails(program: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(program), *arguments]) == 1
    assert "nimblehlo:" in capsys.readouterr().err


def test_run_reports_parse_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.mlir"
    file.write_text("func.func @main(%a: tensor<4xf32>\n")
    assert main(["run", str(file)]) == 1
    assert "bad.mlir:" in capsys.readouterr().err


def test_check_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.mlir").write_text(PASSES)
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 0 failed"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_check_reports_failures(tmp_path: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mlir").write_text(
        PASSES.replace("dense<1> : tensor<i32>\n  func", "dense<2> : tensor<i32>\n  func", 1)
    )
    (tmp_path / "b.mlir").write_text("func.func @main(%a: tensor<f32>) { return }")
    (tmp_path / "c.mlir").write_text(PASSES)
    report = tmp_path / "report.json"
    assert main(["check", str(tmp_path), "--json", str(report), "-j", jobs]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "3 passed, 2 failed"
    assert lines[0].startswith("failed:") and "a.mlir" in lines[0] and "chunk 0" in lines[0]
    assert lines[1].startswith("unsupported:") and "b.mlir" in lines[1]
    cases = json.loads(report.read_text())
    assert [case["status"] for case in cases] == ["failed", "passed", "unsupported", "passed", "passed"]


def test_check_of_nothing_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 1
    assert main(["check", str(tmp_path / "missing")]) == 1


DIVIDES = """
func.func @main() -> tensor<2xi32> {
  %a = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %b = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %0 = stablehlo.divide %a, %b : tensor<2xi32>
  return %0 : tensor<2xi32>
}"""


def test_run_under_the_sanitizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.mlir"
    file.write_text(DIVIDES)
    assert main(["run", str(file), "--sanitize", "all"]) == 1
    assert "UndefinedBehaviorError: stablehlo.divide: (division_by_zero)" in capsys.readouterr().err
    assert main(["run", str(file), "--sanitize", "all", "--sanitize-action", "collect"]) == 0
    assert "found: stablehlo.divide: (division_by_zero) 6 is divided by 0 at [1]" in capsys.readouterr().err
    assert main(["run", str(file), "--sanitize", "shift_amount, non_finite"]) == 0
    assert main(["run", str(file), "--sanitize", "nothing"]) == 1
    assert "names out of" in capsys.readouterr().err
    assert main(["check", str(file), "--sanitize", "all", "--scatter-out-of-bounds", "window"]) == 1
