"""Handlers of XLA's FFI that Python registers: C++ compiled with jaxlib's own headers, called under JAX."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.jax.children import run_on_platform

jax_ffi = pytest.importorskip("jax.ffi")

FOLDER = Path(__file__).parent
COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(COMPILER is None, reason="there is no compiler of C++")
def test_handlers_run_under_jax(tmp_path: Path) -> None:
    assert COMPILER is not None
    library = tmp_path / "handlers.so"
    options = ["-std=c++17", "-O0", "-w", "-fPIC", "-shared", "-pthread", f"-I{jax_ffi.include_dir()}"]
    subprocess.run([COMPILER, *options, FOLDER / "handlers.cc", "-o", library], check=True, timeout=300)
    finished = run_on_platform(
        FOLDER / "checks.py", library, platforms="nimblehlo,cpu", NIMBLEHLO_JAX_DEVICES="2"
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
