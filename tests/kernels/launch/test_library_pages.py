"""The pages of LLVM's library go once code is compiled, and the peak holds those of one phase."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which pages are resident")

CODE = """
import json, pathlib
import numpy as np
import nimblehlo

def kilobytes(file, field):
    lines = pathlib.Path("/proc/self", file).read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))

def mappings():
    found = []
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            found.append({"range": first, "path": rest[-1]})
        elif first in ("Rss:", "Anonymous:"):
            found[-1][first] = int(rest[0])
    return [one for one in found if "libllvmlite" in one["path"]]

TEXT = '''func.func @main(%a: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = stablehlo.add %a, %a : tensor<64x512xf32>
  %1 = stablehlo.exponential %0 : tensor<64x512xf32>
  return %1 : tensor<64x512xf32>
}'''
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = kilobytes("status", "VmHWM:")
executable = nimblehlo.compile(TEXT, options=nimblehlo.Options(compile="eager"))
after = mappings()
peak = kilobytes("status", "VmHWM:") - before
executable(np.ones((64, 512), np.float32))
again = nimblehlo.compile(TEXT.replace("add", "subtract"), options=nimblehlo.Options(compile="eager"))
(result,) = again(np.ones((64, 512), np.float32))
from nimblehlo.kernels.launch import library_pages
from nimblehlo.kernels.launch.compilation import kernel

@kernel(parallel=True)
def double(task, size, operand, result):
    for index in range(task * size, min((task + 1) * size, operand.size)):
        result[index] = operand[index] + operand[index]

double(0, 1, np.ones(3, np.float32), np.ones(3, np.float32))
of_numba = mappings()
ranges = [f"{one.start:08x}-{one.end:08x}" for one in library_pages._unwritable()]
found = {"mappings": after, "of numba": of_numba, "peak": peak, "sum": float(result.sum())}
print(json.dumps({**found, "released": ranges}))
"""


KEPT = """
from nimblehlo.kernels.launch import library_pages
library_pages.release = lambda: None
"""
"""Keeps the pages: how many there are depends on the library's version and on the pages of files that the
kernel has."""


def figures_of(code: str, folder: pathlib.Path) -> dict[str, Any]:
    """What a new process finds that compiles two programs and a kernel; sizes in KiB."""
    environment = {**os.environ, "NIMBLEHLO_CACHE_DIR": str(folder)}
    child = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert child.returncode == 0, child.stderr
    found: dict[str, Any] = json.loads(child.stdout)
    return found


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return figures_of(CODE, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The figures of a process that returns no pages."""
    return figures_of(KEPT + CODE, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def loaded_library(library_pages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the library count as loaded."""
    monkeypatch.setattr(library_pages, "is_loaded", lambda: True)


@pytest.fixture
def library_pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module as it is at the start of a process, once no thread of other tests compiles."""
    from nimblehlo.compiler.plan.tiering.background import BACKGROUND
    from nimblehlo.kernels.launch import library_pages

    while (thread := BACKGROUND.thread) is not None:
        thread.join(0.01)
    releases = type("_Releases", (), {"count": 0, "last": 0.0, "last_idle": 0.0})
    monkeypatch.setattr(library_pages, "_Releases", releases)
    monkeypatch.setattr(library_pages, "_Beside", type("_Beside", (), {"bytes": 0}))
    return library_pages


def test_pages_of_the_library_go_when_code_is_compiled(
    figures: dict[str, Any], kept: dict[str, Any]
) -> None:
    for after in ("mappings", "of numba"):
        resident, otherwise = [sum(one["Rss:"] for one in each[after]) for each in (figures, kept)]
        assert resident < otherwise / 2
    assert figures["sum"] == 64 * 512


def test_the_peak_has_the_pages_of_one_phase(figures: dict[str, Any], kept: dict[str, Any]) -> None:
    """Those of all phases together take 20 MB more."""
    assert 0 < figures["peak"] < kept["peak"] - 5_000


def test_relocated_pages_stay(figures: dict[str, Any]) -> None:
    """They differ from those of the file."""
    released = set(figures["released"])
    assert len(released) >= 2 and released < {one["range"] for one in figures["mappings"]}
    assert not any(one["Anonymous:"] for one in figures["mappings"] if one["range"] in released)


def test_files_that_are_no_libraries_are_not_read(library_pages: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "libllvmlite.so"
    path.write_bytes(b"MZ" + bytes(100))
    with pytest.raises(ValueError, match="no ELF file"):
        library_pages._writable_ranges(path)


@pytest.mark.usefixtures("loaded_library")
def test_a_process_may_have_any_name(
    library_pages: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[bool] = []
    monkeypatch.setattr(library_pages, "release", lambda: released.append(True))
    monkeypatch.setattr(library_pages, "_PROCESS", tmp_path)
    status = b"Name:\t\xc3\xa9\xff\nVmHWM:\t  100 kB\nVmRSS:\t   90 kB\n"
    (tmp_path / "status").write_bytes(status)
    library_pages.release_before(10 << 10)
    assert not released
    library_pages.release_before(11 << 10)
    assert released


def test_the_peak_is_that_of_all_processes(
    library_pages: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phase that would not raise the peak of this process raises that of it and those beside it."""
    monkeypatch.setattr(library_pages, "_PROCESS", tmp_path)
    (tmp_path / "status").write_text("VmHWM:\t  100 kB\nVmRSS:\t   50 kB\n")
    assert not library_pages._may_raise_peak(20 << 10)
    library_pages.count_beside(30 << 10)
    assert not library_pages._may_raise_peak(20 << 10)
    library_pages.count_beside(31 << 10)
    assert library_pages._may_raise_peak(20 << 10)


@pytest.mark.usefixtures("loaded_library")
def test_releases_become_rare(library_pages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`_PROMPT_RELEASES`, and `_LATER_SECONDS` after them."""
    now = 1000.0
    monkeypatch.setattr(library_pages, "_unwritable", lambda: ())
    monkeypatch.setattr(library_pages.time, "monotonic", lambda: now)
    for _ in range(library_pages._PROMPT_RELEASES):
        assert library_pages.is_due()
        # Those of a thread that looks into a long phase do not count.
        library_pages.release()
        library_pages.release_promptly()
    now += library_pages._LATER_SECONDS
    assert not library_pages.is_due() and not library_pages._may_raise_peak(1 << 50)
    now += 0.01
    library_pages.release_while_idle()
    assert library_pages.is_due()


def test_pages_are_returned_while_other_processes_compile(
    library_pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the last module that was compiled or loaded, too, if no other release followed it."""
    now, returned = 1000.0, []
    monkeypatch.setattr(library_pages, "_return_pages", lambda: returned.append(now))
    monkeypatch.setattr(library_pages.time, "monotonic", lambda: now)
    library_pages.release()
    for after in (library_pages._LATER_SECONDS, 0.01, library_pages._LATER_SECONDS, 0.01):
        now += after
        library_pages.release_while_idle()
    assert returned == [1000.0, 1000.51, 1001.02]
    library_pages.release_after_loading()
    assert len(returned) == 3
    library_pages.count_beside(1)
    library_pages.release_after_loading()
    assert len(returned) == 4


def test_pages_are_found_once_the_library_is_loaded(
    library_pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release before, or while another thread loads it, finds none and does not keep later ones from it."""
    library_pages.load()
    binding = sys.modules["llvmlite.binding"]
    monkeypatch.setattr(library_pages._Library, "mappings", ())
    monkeypatch.delitem(sys.modules, "llvmlite.binding")
    assert library_pages._unwritable() == ()
    monkeypatch.setitem(sys.modules, "llvmlite.binding", type(sys)("llvmlite.binding"))
    assert library_pages._unwritable() == ()
    monkeypatch.setitem(sys.modules, "llvmlite.binding", binding)
    assert library_pages._unwritable()


@pytest.mark.usefixtures("loaded_library")
@pytest.mark.parametrize(("bytes", "is_released"), [(10 << 10, False), (11 << 10, True)])
def test_pages_are_released_while_a_phase_may_raise_the_peak(
    library_pages: Any,
    bytes: int,
    is_released: bool,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = threading.Semaphore(0)
    monkeypatch.setattr(library_pages, "release", released.release)
    monkeypatch.setattr(library_pages, "_RELEASE_SECONDS", 0.0)
    monkeypatch.setattr(library_pages, "_PROCESS", tmp_path)
    (tmp_path / "status").write_text("VmHWM:\t  100 kB\nVmRSS:\t   90 kB\n")
    before = set(threading.enumerate())
    with library_pages.released_during(bytes):
        # Once before the phase, and then by another thread.
        assert all(released.acquire(timeout=60 if is_released else 0) for _ in range(3)) == is_released
    assert set(threading.enumerate()) <= before


def test_a_thread_that_returns_pages_ends_with_an_error(
    library_pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), library_pages.released_during(1 << 50):
        raise ZeroDivisionError
    assert set(threading.enumerate()) <= before


def test_a_process_that_may_start_no_thread_compiles(
    library_pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with library_pages.released_during(1 << 50):
        pass
