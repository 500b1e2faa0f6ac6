"""The plugin for pytest, used from a project of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

CONFIGURATION = """\
[pytest]
nimblehlo_programs = programs/*.mlir
nimblehlo_ulps = 0
addopts = -p no:cacheprovider
"""

CHECKED = """
func.func @main() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  check.expect_eq_const %1, dense<[2.0, 4.0]> : tensor<2xf32>
  func.return
}
// -----
func.func @main() {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  check.expect_eq_const %0, dense<2> : tensor<i32>
  func.return
}
"""

SINE = """
func.func @main(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<bf16>) {
  %0 = stablehlo.sine %x : tensor<3x2xf32>
  %1 = stablehlo.constant dense<1.5> : tensor<bf16>
  return %0, %1 : tensor<3x2xf32>, tensor<bf16>
}
"""

PYTHON = """
import jax.numpy as jnp
import numpy as np
import nimblehlo.checks.testing

@nimblehlo.checks.testing.program(np.arange(4, dtype=np.float32))
def test_of_jax(x):
    return jnp.sum(x * x)

def test_fixtures(nimblehlo_run, nimblehlo_options, nimblehlo_check):
    text = '''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.negate %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    }'''
    x = np.ones(2, np.float32)
    (result,) = nimblehlo_run(nimblehlo.load(text), [x])
    assert result.tolist() == [-1, -1] and nimblehlo_options.threads == 1
    nimblehlo_check(text, [x])
    nimblehlo_check(text, [x + 1])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text(CONFIGURATION)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "checked.mlir").write_text(CHECKED)
    (tmp_path / "programs" / "sine.mlir").write_text(SINE)
    (tmp_path / "other.mlir").write_text("no program")
    return tmp_path


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs pytest in a project, within this process: gives the status and the output."""

    def run_in(project: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(project)
        monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
        monkeypatch.delitem(sys.modules, "test_model", raising=False)
        capsys.readouterr()
        options = ["-p", "no:xdist", "-p", "no:faulthandler", "--rootdir", str(project)]
        status = pytest.main([*options, *arguments])
        return int(status), capsys.readouterr().out

    return run_in


def run(project: Path, *arguments: str) -> tuple[int, str]:
    """The status and the output of a run of pytest in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "nimblehlo_pytest", *arguments]
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_programs_with_checks_and_goldens(project: Path, run_here: Run) -> None:
    """Parts of a file are tests; a golden is missing, is written, holds, and fails once it was changed."""
    status, output = run_here(project, "-v")
    assert status == 1
    assert "checked.mlir::chunk0 PASSED" in output and "checked.mlir::chunk1 FAILED" in output
    assert "there is no golden" in output and "--nimblehlo-update" in output and "other.mlir" not in output

    junit, report = project / "junit.xml", project / "report.json"
    files = [f"--junitxml={junit}", f"--nimblehlo-json={report}"]
    status, output = run(project, "--nimblehlo-update", "-p", "xdist", "-n", "2", *files)
    assert status == 1 and "2 passed" in output
    golden = project / "programs" / "sine.golden.npz"
    assert golden.stat().st_size < 2000
    outcomes = {one["test"].rpartition("/")[2]: one for one in json.loads(report.read_text())}
    assert outcomes["sine.mlir::program"]["outcome"] == "passed"
    assert outcomes["checked.mlir::chunk1"]["outcome"] == "failed"
    assert "check.expect_eq_const" in outcomes["checked.mlir::chunk1"]["message"]
    assert outcomes["sine.mlir::program"]["backend"] == "nimblehlo"
    properties = [one.get("name") for one in ElementTree.parse(junit).iter("property")]
    assert "nimblehlo_file" in properties

    with np.load(golden) as stored:
        arrays = dict(stored)
    arrays["result_0"][1, 1] = np.nextafter(arrays["result_0"][1, 1], np.float32(9))
    np.savez(golden, **arrays)
    status, output = run_here(project, "programs/sine.mlir")
    assert status == 1
    assert "result 0: tensor<3x2xf32>: 1 of 6 elements differ, by at most 1 ulps" in output
    assert "at [1, 1]:" in output
    (project / "pytest.ini").write_text(CONFIGURATION.replace("ulps = 0", "ulps = 1"))
    assert run_here(project, "programs/sine.mlir")[0] == 0


def test_functions_of_jax_and_fixtures(project: Path, run_here: Run) -> None:
    pytest.importorskip("jax")
    (project / "test_model.py").write_text(PYTHON)
    arguments = ["test_model.py", "--nimblehlo-threads", "1"]
    status, output = run_here(project, *arguments, "--nimblehlo-update")
    assert status == 0, output
    names = sorted(path.name for path in (project / "goldens").iterdir())
    assert names == [
        "test_model.test_fixtures.1.npz",
        "test_model.test_fixtures.npz",
        "test_model.test_of_jax.npz",
    ]
    (project / "test_model.py").write_text(PYTHON.replace("x * x", "x * x * x"))
    status, output = run_here(project, *arguments)
    assert status == 1 and "golden of another program" in output and "1 passed" in output


def test_other_backends(project: Path, run_here: Run) -> None:
    """Their results are judged by bounds, and programs that check themselves are skipped."""
    pytest.importorskip("jax")
    assert run_here(project, "programs/sine.mlir", "--nimblehlo-update")[0] == 0
    status, output = run_here(
        project, "-v", "--nimblehlo-backend", "jax:cpu", "--nimblehlo-backend", "nimblehlo"
    )
    assert "sine.mlir::program[jax:cpu] PASSED" in output and "sine.mlir::program[nimblehlo] PASSED" in output
    assert "checked.mlir::chunk0[jax:cpu] SKIPPED" in output and status == 1
    status, output = run_here(project, "--nimblehlo-backend", "nowhere", "programs/sine.mlir")
    assert status == 1 and "there is no backend 'nowhere'" in output


def test_a_project_without_programs_pays_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        "    assert 'nimblehlo_pytest' in sys.modules\n"
        "    assert not {'nimblehlo', 'jax', 'numba', 'numpy'} & set(sys.modules)\n"
    )
    status, output = run(tmp_path, "test_nothing.py")
    assert status == 0, output
