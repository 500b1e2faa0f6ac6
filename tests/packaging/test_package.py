"""The installed package: the cost of its import, and a wheel in a folder that cannot be written to."""

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.differences import Report
from tools.build_folder import build_folder, build_inputs

HEAVY = ("jax", "jaxlib", "llvmlite", "numba", "scipy")

OFFLINE = ("-qq", "--no-deps", "--no-index", "--disable-pip-version-check")
"""Options of pip: a test uses no network."""

MAX_IMPORT_RATIO = 1.0
"""The accepted time of the import without NumPy's, divided by that of NumPy's; it is 0.4 to 0.6."""
REPETITIONS = 7

PROGRAM = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""

LOADED_MODULES = """
import json, sys
import {module}
print(json.dumps(sorted(sys.modules)))
"""

# Processor time: an import waits for nothing else. Both in one process, so that a slow moment of the machine,
# or other tests that share its caches, count for both.
TIMED_IMPORTS = """
import json, time
started = time.process_time()
import numpy
between = time.process_time()
import nimblehlo
print(json.dumps([between - started, time.process_time() - between]))
"""


def child(code: str, **environment: str) -> str:
    """What a child process prints that runs the code, away from the project's root.

    It may keep the bytecode of what it imports, as an installed package comes with its own.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, **environment},
        cwd=Path(sys.executable).parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def test_import_is_quick() -> None:
    ratios = []
    for _ in range(REPETITIONS):
        numpy_seconds, own_seconds = json.loads(child(TIMED_IMPORTS))
        ratios.append(own_seconds / numpy_seconds)
    assert min(ratios) <= MAX_IMPORT_RATIO


def test_import_moves_its_objects_to_the_oldest_generation() -> None:
    counts = "[len(gc.get_objects(0)) + len(gc.get_objects(1)), len(gc.get_objects(2))]"
    young, old = json.loads(child(f"import gc, json, nimblehlo; print(json.dumps({counts}))"))
    assert young < 0.05 * old


def test_a_free_threaded_python_without_its_lock_is_refused() -> None:
    """As with PYTHON_GIL=0, where extensions do not enable the lock."""
    code = """
        import sys
        sys._is_gil_enabled = lambda: False
        try:
            import nimblehlo
        except Exception as error:
            print(type(error).__name__, error)
    """
    printed = child(textwrap.dedent(code))
    assert printed.startswith("UnsupportedError nimblehlo needs Python's global lock, which PYTHON_GIL=0")


@pytest.mark.parametrize("module", ["nimblehlo", "nimblehlo.api", "nimblehlo.cli"])
def test_import_loads_no_compiler(module: str) -> None:
    modules = json.loads(child(LOADED_MODULES.format(module=module)))
    assert module in modules
    assert not {module.split(".")[0] for module in modules}.intersection(HEAVY)


FIRST_RESULT = """
import json, sys
import numpy as np, nimblehlo
nimblehlo.execute({program!r}, [np.zeros({shape}, np.float32)])
print(json.dumps(sorted(sys.modules)))
"""

SUM = """
func.func @main(%x: tensor<1000x1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0]
      : (tensor<1000x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
"""

TOP_K = """
func.func @main(%x: tensor<10x10000xf32>) -> (tensor<10x5xf32>, tensor<10x5xi32>) {
  %0, %1 = chlo.top_k(%x, k = 5) : tensor<10x10000xf32> -> (tensor<10x5xf32>, tensor<10x5xi32>)
  return %0, %1 : tensor<10x5xf32>, tensor<10x5xi32>
}
"""


@pytest.mark.parametrize(("program", "shape"), [(SUM, (1000, 1000)), (TOP_K, (10, 10000))])
def test_a_first_result_by_references_loads_no_code_generator(program: str, shape: tuple[int, int]) -> None:
    code = FIRST_RESULT.format(program=program, shape=shape)
    modules = json.loads(child(code, NIMBLEHLO_VERIFY="off"))
    assert not {module.split(".")[0] for module in modules}.intersection(HEAVY)


def test_version_is_the_distribution_s() -> None:
    assert nimblehlo.__version__ == importlib.metadata.version("nimblehlo")


def test_command_line_is_installed(tmp_path: Path) -> None:
    (entry_point,) = importlib.metadata.entry_points(group="console_scripts", name="nimblehlo")
    assert entry_point.value == "nimblehlo.cli:main"
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "nimblehlo", "run", str(program), "--random", "0"]
    assert subprocess.run(command, capture_output=True, timeout=300).returncode == 0


def build_wheel(project_root: Path, folder: Path) -> Path:
    """Build a wheel of a copy of the sources, with the extensions that set-up compiled of them.

    An extension that is older than its sources is compiled again, which takes minutes for all of them.
    """
    source = folder / "source"
    unwanted = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "*.so", "tests", "examples")
    shutil.copytree(project_root, source, ignore=unwanted)
    build = build_folder(build_inputs())
    shutil.copytree(project_root / build / "cython", source / build / "cython")
    shutil.copytree(project_root / build / "editable" / "lib", source / build / "lib")
    command = [sys.executable, "-m", "pip", "wheel", *OFFLINE, "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True, timeout=500)
    (wheel,) = folder.glob("nimblehlo-*.whl")
    return wheel


@pytest.mark.packaging
def test_wheel_works_from_a_read_only_folder(project_root: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project_root, tmp_path)
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", *OFFLINE, "--no-compile", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True, timeout=300)
    installed = sorted(site.rglob("*"))
    for path in [*installed, site]:
        path.chmod(path.stat().st_mode & ~0o222)
    code = f"""
import numpy, nimblehlo
executable = nimblehlo.compile({PROGRAM!r}, options=nimblehlo.Options(compile="eager"))
(result,) = executable(numpy.arange(3, dtype=numpy.float32))
print(nimblehlo.__file__, result.tolist(), sep="\\n")
"""
    cache = tmp_path / "cache"
    file, result = child(
        code, PYTHONPATH=str(site), NIMBLEHLO_CACHE_DIR=str(cache), PYTHONDONTWRITEBYTECODE="1"
    ).split("\n")[:2]
    assert Path(file).is_relative_to(site)
    assert result == "[0.0, 2.0, 4.0]"
    assert (site / "nimblehlo" / "py.typed").exists()
    assert sorted(site.rglob("*")) == installed
    for path in [site, *installed]:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.parametrize(
    ("module", "name", "present"),
    [
        ("nimblehlo.checks.minimizer", "reduce", "minimize"),
        ("nimblehlo.checks.minimizer", "Reduced", "MinimizedProgram"),
        ("nimblehlo.checks.differences", "find_difference", "find_faulty_operation"),
        ("nimblehlo.checks.differences", "Difference", "FaultyOperation"),
        ("nimblehlo.checks.error_bounds", "Departure", "BoundViolation"),
        ("nimblehlo.checks.explorer", "Difference", "ElementDifference"),
    ],
)
def test_earlier_public_names_remain(module: str, name: str, present: str) -> None:
    package = importlib.import_module(module)
    assert getattr(package, name) is getattr(package, present)
    assert name in package.__all__


def test_earlier_names_of_violations_remain() -> None:
    accuracy = nimblehlo.accuracy(PROGRAM, [np.arange(3, dtype=np.float32)])
    assert len(accuracy.departures([np.full(3, 7, np.float32)])) == 1
    report = Report("backend", accuracy.violations([np.full(3, 7, np.float32)]))
    assert report.departures is report.violations
