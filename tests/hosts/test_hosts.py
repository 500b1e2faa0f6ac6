"""A sample of the lines of `python -m tests.hosts`, and what they need of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nimblehlo
from nimblehlo import cli
from nimblehlo.checks import checking
from nimblehlo.inspection.progress import StatusLine
from nimblehlo.kernels.launch import cache_files, free_memory
from nimblehlo.kernels.launch.control_groups import MemoryLimit
from tests.hosts import caches, interpreters, limits, surroundings
from tests.hosts.__main__ import main
from tests.hosts.host import LINES, Failed, Host, Skipped, checked
from tests.hosts.oversubscription import Worker
from tests.hosts.workload import rules

MODULES = (caches, interpreters, limits, surroundings)

SAMPLE = (
    "processor_quota_of_nested_groups",
    "memory_limit_of_a_control_group",
    "no_shared_memory",
    "home_read_only",
    "locale_c",
)


@pytest.mark.parametrize("name", SAMPLE)
def test_hosts(name: str, tmp_path: Path) -> None:
    try:
        assert list(LINES[name](tmp_path))
    except Skipped as reason:
        pytest.skip(str(reason))


def test_wrong_results_and_warnings_fail() -> None:
    with pytest.raises(Failed, match=r"results are \{'auto': '0'\}"):
        checked({"digests": {"auto": "0"}})
    host = Host(python=["-W", "always", "-c", "import warnings; warnings.warn('late'); print(1)"])
    with pytest.raises(Failed, match="late"):
        _ = host.run().report


def test_an_error_of_a_line_is_a_failure_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(folder: Path) -> Iterator[str]:
        yield "a first text"
        raise ChildProcessError("a process ended")

    def sound(folder: Path) -> Iterator[str]:
        yield "a second text"

    for line in (broken, sound):
        monkeypatch.setitem(LINES, line.__name__, line)
    assert main(["broken", "sound"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "  broken: a first text"
    assert printed[1].startswith("FAILED broken, ")
    assert printed[1].endswith(": ChildProcessError: a process ended")
    assert printed[2] == "  sound: a second text" and printed[-1] == "1 ok, 0 skipped, 1 FAILED"


def test_a_process_that_ends_is_a_failure() -> None:
    reason = "with 2 threads ended with status 1 at: compile none"
    with Worker(2) as worker, pytest.raises(Failed, match=reason):
        worker.ask("compile none small")


def test_rules_are_stated_without_docstrings() -> None:
    assert Host(python=["-OO"]).run("-m", "tests.hosts.workload", "rules").report == rules()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="has other folders")
def test_a_user_without_a_home_has_a_cache_among_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("NIMBLEHLO_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert cache_files.root() == tmp_path / f"nimblehlo-{os.geteuid()}"
    monkeypatch.delenv("TMPDIR")
    assert cache_files.root() == Path(f"/tmp/nimblehlo-{os.geteuid()}")


def test_one_process_checks_programs_without_semaphores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(workers: int) -> None:
        raise OSError("no semaphores")

    monkeypatch.setattr(checking, "ProcessPoolExecutor", refuse)
    monkeypatch.setattr(checking, "available_threads", lambda: 2)
    files = [str(tmp_path / name) for name in ("a.mlir", "b.mlir")]
    for file in files:
        Path(file).write_text("func.func @main() { return }")
    with pytest.warns(RuntimeWarning, match="one process runs all programs: no semaphores"):
        results = list(checking.check_files(files, 2))
    assert [result[0].status for result in results] == ["passed", "passed"]


def test_commands_escape_what_the_output_cannot_encode(tmp_path: Path) -> None:
    (tmp_path / "\N{EURO SIGN}.mlir").write_text("func.func @main(%a: tensor<i1>) { return }")
    host = Host({"PYTHONIOENCODING": "ascii:strict"})
    ended = host.run("-m", "nimblehlo", "check", str(tmp_path))
    assert "/\\u20ac.mlir: @main takes arguments" in ended.output
    assert not ended.errors


def test_output_that_is_closed_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    (tmp_path / "a.mlir").write_text("func.func @main() { return }")
    assert cli.main(["check", str(tmp_path)]) == 0
    StatusLine().show("text")


def test_linker_errors_are_memory_errors_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [MemoryLimit(free_memory.LIBRARY_BYTES + 1, 1 << 30, "RLIMIT_AS")]
    monkeypatch.setattr(free_memory, "limits", lambda: left)
    error = ImportError("failed to map segment")
    assert free_memory.as_memory_error(error) is error
    left[0] = MemoryLimit(free_memory.LIBRARY_BYTES, 1 << 30, "RLIMIT_AS")
    assert str(free_memory.as_memory_error(error)).endswith(
        f"RLIMIT_AS has only {1 << 28} bytes of memory left: failed to map segment"
    )
    other = ValueError("no")
    assert free_memory.as_memory_error(other) is other


def test_a_library_that_cannot_be_loaded_is_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **settings: object) -> None:
        raise ImportError("cannot map zero-fill pages")

    monkeypatch.setattr(nimblehlo.api, "specialize", refuse)
    with pytest.raises(ImportError, match="zero-fill"):
        nimblehlo.compile("func.func @main() { return }")
    monkeypatch.setattr(free_memory, "limits", lambda: [MemoryLimit(9, 1 << 30, "RLIMIT_AS")])
    with pytest.raises(
        nimblehlo.ExecutionError, match="@main cannot be compiled: a library cannot be loaded"
    ):
        nimblehlo.compile("func.func @main() { return }")
