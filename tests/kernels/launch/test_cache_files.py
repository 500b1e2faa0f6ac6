"""How compiled code is kept on disk: whole or not at all, whatever other processes do."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from nimblehlo.kernels.launch import cache_files, cache_limit
from tests.support.threads import on_threads

VERSION = "generated-" + "0" * 32


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version's folder, which does not exist yet."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NIMBLEHLO_CACHE_BYTES", raising=False)
    found = cache_files.folder(VERSION)
    assert found == tmp_path / VERSION and not found.exists()
    return found


@pytest.mark.parametrize("payload", [b"", b"code", bytes(range(256)) * 5000])
def test_cached_entries_are_read(folder: Path, payload: bytes) -> None:
    cache_files.write_entry(folder / "entry.o", payload)
    assert cache_files.read_entry(folder / "entry.o") == payload
    assert [path.name for path in folder.iterdir()] == ["entry.o"]


def test_any_damage_is_seen(folder: Path) -> None:
    entry = folder / "entry.o"
    cache_files.write_entry(entry, b"some code")
    content = entry.read_bytes()
    for position in range(len(content)):
        for damaged in (
            content[:position],
            content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :],
        ):
            entry.write_bytes(damaged)
            assert cache_files.read_entry(entry) is None
    entry.write_bytes(content + b"\0")
    assert cache_files.read_entry(entry) is None
    entry.write_bytes(content)
    assert cache_files.read_entry(entry) == b"some code"
    os.rename(entry, folder / "other.o")
    assert cache_files.read_entry(folder / "other.o") is None


@pytest.mark.parametrize("failing", ["replace", "fdopen", "mkdir"])
def test_a_full_disk_is_no_error_and_leaves_nothing(
    folder: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if failing != "mkdir":
        folder.mkdir(mode=0o700)

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache_files.os, failing, full)
    cache_files.write_entry(folder / "entry.o", b"code")
    monkeypatch.undo()
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_folder_that_is_removed_meanwhile_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal_of_folder = cache_files.refusal_of_folder
    removed = []

    def removing(path: Path) -> str | None:
        if not removed:
            removed.append(path)
            path.rmdir()
        return refusal_of_folder(path)

    monkeypatch.setattr(cache_files, "refusal_of_folder", removing)
    cache_files.write_entry(folder / "entry.o", b"code")
    assert removed and cache_files.read_entry(folder / "entry.o") == b"code"


def test_whether_there_are_folders(folder: Path) -> None:
    assert not cache_files.has_folder("generated-")
    cache_files.write_entry(folder / "entry.o", b"code")
    assert cache_files.has_folder("generated-") and not cache_files.has_folder("numba-")


def test_a_limit_of_zero_keeps_and_reads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_files.write_entry(folder / "entry.o", b"code")
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "0")
    assert cache_files.folder(VERSION) is None and not cache_files.has_folder("generated-")
    assert cache_files.usage().refusal == "the limit is 0 bytes"


def test_usage_and_clear(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "notes.o"
    mine.write_text("not compiled code")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "main.o").write_text("neither is this")
    cache_files.write_entry(folder / "a.o", b"12")
    cache_files.write_entry(folder / "b.o", b"1234")
    cache_files.write_entry(tmp_path / ("f" * 32) / "c.bin", b"12345")
    (folder / ".unfinished-x").write_text("123")
    usage = cache_files.usage()
    assert usage.path == tmp_path and usage.refusal is None and usage.limit == cache_limit.DEFAULT_LIMIT
    expected = {"numba": (1, 37), "generated": (2, 70), "programs": (0, 0), "machine": (0, 0)}
    assert usage.kinds == {**expected, "unfinished": (1, 3)}
    assert cache_files.clear() == (3, 107)
    none = dict.fromkeys(cache_limit.KINDS.values(), (0, 0))
    assert cache_files.usage().kinds == {**none, "unfinished": (1, 3)}
    assert mine.exists() and (tmp_path / "project" / "main.o").exists()
    assert not (tmp_path / ("f" * 32)).exists()


def test_why_a_folder_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cache_files.usage().refusal == f"{tmp_path / 'file'} is no folder"
    if os.name == "posix":
        open_folder = tmp_path / "open"
        open_folder.mkdir()
        open_folder.chmod(0o777)
        monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(open_folder))
        refusal = cache_files.usage().refusal
        assert refusal is not None and str(open_folder) in refusal
        with pytest.raises(PermissionError, match="may be written by everybody"):
            cache_files.clear()
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "closed" / "below"))
    monkeypatch.setattr(cache_files.os, "access", lambda path, mode: False)
    assert cache_files.usage().refusal == f"{tmp_path} cannot be written"


PROCESS = """
import random, sys
from nimblehlo.kernels.launch import cache_files

seed = int(sys.argv[1])
generator = random.Random(seed)
read = 0
for _ in range(150):
    number = generator.randrange(40)
    folder = cache_files.folder(("generated-" if number % 2 else "") + f"{number % 4:032x}")
    path = folder / f"{number}.{'o' if number % 2 else 'bin'}"
    payload = bytes([number]) * (1000 + 500 * number)
    found = cache_files.read_entry(path)
    assert found in (None, payload)
    read += found is not None
    cache_files.write_entry(path, payload)
    if seed == 3 and generator.randrange(20) == 0:
        cache_files.clear()
print(read)
"""


def test_many_processes_at_once(folder: Path, tmp_path: Path) -> None:
    """Five processes read and write the same entries.

    One of them has a tiny limit, and one removes everything now and then.
    """
    limits = ["200K", "200K", "30K", "200K", "200K"]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(seed)],
            env={**os.environ, "NIMBLEHLO_CACHE_BYTES": limit},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed, limit in enumerate(limits)
    ]
    outputs = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0] * 5, outputs
    assert sum(int(output) for output, _ in outputs) > 0
    kinds = cache_files.usage().kinds
    assert kinds["unfinished"] == (0, 0)
    # Each may have written a thirty-second of the limit since it looked.
    assert 0 < sum(size for _, size in kinds.values()) <= (200 << 10) * (1 + len(limits) / 32)


def test_many_threads_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "20K")

    def work(number: int) -> None:
        for turn in range(60):
            path = folder / f"{(number + turn) % 12}.o"
            payload = path.name.encode() * 1000
            assert cache_files.read_entry(path) in (None, payload)
            cache_files.write_entry(path, payload)

    on_threads(4, work)
    for thread in threading.enumerate():
        if thread.name == "nimblehlo-cache":
            thread.join()
    assert sum(size for _, size in cache_files.usage().kinds.values()) <= 20 << 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_fork_waits_for_a_thread_that_imports_the_digest() -> None:
    code = """
        import importlib.util, os, sys, threading, time
        from nimblehlo.kernels.launch.cache_files import digest
        assert "hashlib" not in sys.modules
        importing = threading.Event()
        class SlowFinder:
            def find_spec(self, name, path=None, target=None):
                if name == "hashlib":
                    importing.set()
                    time.sleep(0.5)
        sys.meta_path.insert(0, SlowFinder())
        threading.Thread(target=digest).start()
        importing.wait()
        child = os.fork()
        if child == 0:
            os._exit(len(digest(b"any")))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.stdout.strip() == "32", ended.stderr
