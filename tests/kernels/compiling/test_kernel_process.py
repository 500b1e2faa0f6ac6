"""The process that compiles kernels for another one, which then runs them without Numba."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PRELUDE = """
import os, sys, threading, time
import numpy as np
from nimblehlo.kernels.compiling import child_process, kernel_cache, kernel_process
from nimblehlo.kernels.compiling.kernel_process import KERNEL_PROCESS
from nimblehlo.kernels.indexing import copy
from nimblehlo.kernels.launch import compilation, threads

threads.available_threads.cache_clear()
child_process.available_threads = lambda: 2

def check(size=1 << 20):
    array = np.arange(size, dtype=np.int16)
    assert (copy.copied(array) == array).all()
"""


def run(code: str, folder: Path, **environment: str) -> str:
    """What a process prints that runs the code."""
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        env={**os.environ, "NIMBLEHLO_CACHE_DIR": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which a process without Numba has had a kernel compiled."""
    folder = tmp_path_factory.mktemp("kept")
    code = """
        check()
        process = KERNEL_PROCESS._process
        assert process is not None and process.poll() is None
        assert "numba" not in sys.modules
        # It ends when it has had nothing to compile for a while.
        end = time.monotonic() + 60
        while KERNEL_PROCESS._process is not None and time.monotonic() < end:
            time.sleep(0.02)
        assert process.returncode is not None
    """
    run(code, folder)
    return folder


def test_code_on_the_disk_needs_neither_numba_nor_a_process(kept: Path) -> None:
    run("check(); assert KERNEL_PROCESS._process is None and 'numba' not in sys.modules", kept)


def test_a_thread_that_must_not_compile_uses_code_that_is_there(kept: Path, tmp_path: Path) -> None:
    run("with compilation.without_compiling(): check()", kept)
    code = """
        try:
            with compilation.without_compiling():
                check()
        except compilation.NotCompiled as error:
            assert "copy" in str(error) and KERNEL_PROCESS._process is None
        else:
            raise AssertionError
        check()
        with compilation.without_compiling():
            check()
    """
    run(code, tmp_path)


def test_a_process_that_may_start_no_other_compiles(tmp_path: Path) -> None:
    code = "child_process.may_start = lambda: False; check(); assert 'numba' in sys.modules"
    run(code, tmp_path)


def test_a_process_that_has_numba_compiles(tmp_path: Path) -> None:
    run("import numba; check(); assert KERNEL_PROCESS._process is None", tmp_path)


@pytest.mark.parametrize(
    "start",
    [
        "lambda module: (_ for _ in ()).throw(OSError('no memory'))",
        "lambda module: start('nimblehlo.kernels.launch.poison')",
    ],
    ids=["no process", "one that fails"],
)
def test_a_process_that_fails_is_replaced_by_this_one(tmp_path: Path, start: str) -> None:
    code = f"""
        start = child_process.start
        child_process.start = {start}
        check()
        assert KERNEL_PROCESS._process is None and "numba" in sys.modules
    """
    run(code, tmp_path)


def test_a_process_that_is_stopped_is_replaced_by_this_one(tmp_path: Path) -> None:
    code = """
        import signal
        assert KERNEL_PROCESS.problem() is None
        os.kill(KERNEL_PROCESS._process.pid, signal.SIGSTOP)
        kernel_process._ANSWER_SECONDS = 0.1
        check()
        assert KERNEL_PROCESS._process is None and "numba" in sys.modules
    """
    if os.name == "posix":
        run(code, tmp_path)


def test_a_problem_of_numba_is_told(tmp_path: Path) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('needs another NumPy')")
    code = f"""
        sys.path.insert(0, {str(tmp_path)!r})
        print(compilation.problem())
        assert "numba" not in sys.modules
    """
    assert "needs another NumPy" in run(code, tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_leaves_the_process_to_its_parent(tmp_path: Path) -> None:
    code = """
        kernel_process._IDLE_SECONDS = 60
        check()
        process = KERNEL_PROCESS._process
        child = os.fork()
        if child == 0:
            code = 1
            try:
                assert KERNEL_PROCESS._process is None
                check(1 << 21)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert process.poll() is None and KERNEL_PROCESS._process is process
        KERNEL_PROCESS.close()
        assert process.returncode is not None
    """
    run(code, tmp_path)
