"""How many bytes of compiled code stay on disk: what was used last."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from nimblehlo.kernels.launch import cache_files, cache_limit, cache_trust
from tests.support.forks import holds_in_child, needs_fork

FIRST, SECOND = "0" * 32, "generated-" + "1" * 32


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NIMBLEHLO_CACHE_BYTES", raising=False)
    monkeypatch.setattr(cache_limit, "_limits", [])
    return tmp_path


def keep(root: Path, *names: str, size: int = 100) -> None:
    """Keep entries of so many bytes, used one hour after the other, long ago."""
    for hours, name in enumerate(names):
        path = root / name
        cache_files.write_entry(path, b"x" * (size - 32))
        _join()
        os.utime(path, ns=(0, (1000 + hours) * 3600 * 10**9))


def _join() -> None:
    """Wait until nobody looks through the folders."""
    for thread in threading.enumerate():
        if thread.name == "nimblehlo-cache":
            thread.join()


def left(root: Path) -> set[str]:
    return {str(Path(entry.path).relative_to(root)) for entry in cache_limit.entries(root)}


def test_what_was_used_least_recently_goes(root: Path) -> None:
    names = [f"{FIRST}/a.bin", f"{SECOND}/b.o", f"{FIRST}/c.bin", f"{SECOND}/d.o"]
    keep(root, *names)
    assert cache_files.read_entry(root / names[0]) is not None
    assert cache_files.read_entry(root / names[1] / "no") is None
    assert cache_limit.evict(root, 400) == 400
    assert left(root) == set(names)
    # Nine tenths of 399 bytes hold three entries.
    assert cache_limit.evict(root, 399) == 300
    assert left(root) == {names[0], names[2], names[3]}
    assert cache_limit.evict(root, 150) == 100
    assert left(root) == {names[0]}
    assert not (root / SECOND).exists()


def test_entries_of_the_future_go_first(root: Path) -> None:
    """The clock was set back: entries that were used since then are older by their times."""
    names = [f"{FIRST}/a.bin", f"{FIRST}/b.bin", f"{FIRST}/c.bin", f"{FIRST}/.unfinished-d"]
    keep(root, *names)
    for name, seconds in zip(names, (365 * 86400, 60, -60, 365 * 86400), strict=True):
        os.utime(root / name, ns=(0, time.time_ns() + seconds * 10**9))
    assert cache_limit.evict(root, 300) == 300
    assert left(root) == set(names[:3])
    assert cache_limit.evict(root, 299) == 200
    assert left(root) == {names[1], names[2]}
    # The clock of a file server may be somewhat ahead of this machine's.
    assert cache_limit.evict(root, 199) == 100
    assert left(root) == {names[1]}


def test_an_entry_that_cannot_be_removed_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(root, f"{FIRST}/a.bin", f"{FIRST}/b.bin")

    def refused(path: str) -> None:
        raise PermissionError

    monkeypatch.setattr(cache_limit.os, "unlink", refused)
    assert cache_limit.evict(root, 100) == 200


def test_an_entry_that_is_gone_already_counts_as_removed(root: Path) -> None:
    keep(root, f"{FIRST}/a.bin", f"{FIRST}/b.bin")
    found = list(cache_limit.entries(root))
    os.unlink(found[0].path)
    assert cache_limit.remove(root, found[:1]) == (1, 100)


def test_what_other_processes_left_unfinished_goes(root: Path) -> None:
    keep(root, f"{FIRST}/a.bin")
    for name, age in (("old", 7200), ("new", 60)):
        path = root / FIRST / f"{cache_limit.UNFINISHED_PREFIX}{name}"
        path.write_bytes(b"x" * 50)
        os.utime(path, (time.time() - age,) * 2)
    assert cache_limit.evict(root, 1000) == 150
    assert left(root) == {f"{FIRST}/a.bin", f"{FIRST}/{cache_limit.UNFINISHED_PREFIX}new"}


def test_nothing_else_is_touched(root: Path) -> None:
    keep(root, f"{FIRST}/a.bin")
    others = [root / "b.o", root / FIRST / "notes.txt", root / "other" / "c.o", root / ("z" * 32) / "d.o"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * 1000)
    (root / ("2" * 32)).symlink_to(root / "other")
    (root / FIRST / "link.o").symlink_to(root / "b.o")
    assert cache_limit.evict(root, 10) == 0
    assert all(path.exists() for path in others) and left(root) == set()


@pytest.mark.parametrize("size", [250, 1000])
def test_writing_keeps_the_limit(root: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_limit, "_evictor", cache_limit._Evictor())
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "10K")
    for number in range(40_000 // size):
        cache_files.write_entry(root / FIRST / f"{number}.bin", b"x" * size)
        _join()
        assert sum(entry.bytes for entry in cache_limit.entries(root)) <= 10 << 10
    assert f"{FIRST}/{number}.bin" in left(root) and f"{FIRST}/0.bin" not in left(root)
    cache_files.write_entry(root / FIRST / "large.bin", b"x" * (10 << 10))
    assert not (root / FIRST / "large.bin").exists()


def test_folders_are_looked_through_now_and_then(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    evict = cache_limit.evict

    def counted(root: Path, most: int) -> int:
        looks.append(threading.current_thread())
        return evict(root, most)

    monkeypatch.setattr(cache_limit, "evict", counted)
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "320K")
    for number in range(100):
        cache_files.write_entry(root / FIRST / f"{number}.bin", b"x" * 1000)
        cache_files.read_entry(root / FIRST / f"{number}.bin")
        _join()
    # After the first entry, and after each ten of the others, which are a thirty-second.
    assert len(looks) == 1 + 99 // 10
    assert threading.current_thread() not in looks


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1000", 1000),
        ("512M", 512 << 20),
        ("2g", 2 << 30),
        ("1 KiB", 1024),
        ("3kb", 3072),
        (" 1T ", 1 << 40),
    ],
)
def test_limits_in_words(root: Path, text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", text)
    assert cache_limit.limit() == size


@pytest.mark.parametrize("text", ["many", "-1", "1.5G", "M", "1P"])
def test_limits_that_are_none(root: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_trust, "_warned", {})
    cache_limit._parsed.cache_clear()
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", text)
    with pytest.warns(cache_trust.CacheWarning, match="NIMBLEHLO_CACHE_BYTES"):
        assert cache_limit.limit() == cache_limit.DEFAULT_LIMIT


def test_an_option_goes_before_the_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_limit.limit() == cache_limit.DEFAULT_LIMIT
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "5M")
    assert cache_limit.limit() == 5 << 20
    cache_limit.set_limit(7)
    assert cache_limit.limit() == 7


@needs_fork
def test_a_forked_child_looks_by_itself(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_CACHE_BYTES", "10K")

    def check() -> bool:
        for number in range(20):
            cache_files.write_entry(root / FIRST / f"{number}.bin", b"x" * 1000)
        _join()
        return 0 < sum(entry.bytes for entry in cache_limit.entries(root)) <= 10 << 10

    with cache_limit._evictor.lock, monkeypatch.context() as patched:
        patched.setattr(cache_limit._evictor, "is_running", True)
        assert holds_in_child(check)
