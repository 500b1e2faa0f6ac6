"""The size limit of compiled code on disk, with LRU eviction.

A file's modification time is the time of its last use: `cache_files.read_entry` sets it. A background thread
scans the folders of all versions after the first entry that a process writes, and again whenever the process
has written another 1/32 of the limit. Above the limit, it evicts the least recently used entries, down to
9/10 of the limit. Processes share no lock: several may evict at the same time, and removing an entry that
another process reads or has removed does no harm.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import re
import threading
import time
from collections.abc import Iterator

from ..named_tuples import NamedTuple
from .cache_trust import warn_once

ENVIRONMENT_VARIABLE = "NIMBLEHLO_CACHE_BYTES"

DEFAULT_LIMIT = 1 << 30
"""Bytes. The project's own tests leave some 100 MB."""

UNFINISHED_PREFIX = ".unfinished-"
"""Prefix of the names of files that are being written."""

PROGRAM_SUFFIX = ".program"
"""Suffix of the names of files with programs that the compiler's passes have gone through."""

KINDS = {".bin": "numba", ".o": "generated", PROGRAM_SUFFIX: "programs", ".json": "machine"}
"""The kind of an entry by its suffix: loops that Numba compiled, code generated as LLVM IR, programs, and the
measured speed of the machine. Each process evicts entries of all kinds, whichever it uses itself."""

GENERATED_PREFIX = "generated-"
"""Prefix of the names of folders with code generated as LLVM IR."""

PROGRAMS_PREFIX = "programs-"
"""Prefix of the names of folders with programs."""

# Patterns that few processes need, and whose compilation would take 1 % of importing the package.
_FOLDER = rf"({GENERATED_PREFIX}|{PROGRAMS_PREFIX})?[0-9a-f]{{32}}"
_SIZE = r"(\d+)\s*([kmgt]?)(i?b)?"
_UNFINISHED_SECONDS = 3600.0
"""Age from which an unfinished file counts as left behind by a process that ended."""


def limit() -> int:
    """Maximum bytes of compiled code on disk; 0: the cache is neither read nor written.

    `set_limit` takes precedence over NIMBLEHLO_CACHE_BYTES, and that over the default.
    """
    if _limits:
        return _limits[-1]
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    return DEFAULT_LIMIT if not text else _parsed(text)


def set_limit(size: int) -> None:
    """Set the limit of this process in bytes; it overrides the environment."""
    _limits[:] = [size]


_limits: list[int] = []


@functools.lru_cache(8)
def _parsed(text: str) -> int:
    match = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if match is None:
        warn_once(
            f"{ENVIRONMENT_VARIABLE} is {text!r}, but must be a number of bytes, such as 512M or 2G; "
            f"the limit is {DEFAULT_LIMIT} bytes"
        )
        return DEFAULT_LIMIT
    number, suffix, _ = match.groups()
    return int(number) << 10 * " kmgt".index(suffix.lower() or " ")


class Entry(NamedTuple):
    """A file of compiled code; `used`: time of its last use, in nanoseconds since 1970."""

    path: str
    bytes: int
    used: int
    kind: str


def entries(root: pathlib.Path) -> Iterator[Entry]:
    """All files of compiled code below a folder; files and folders with other names are skipped."""
    for folder in _folders(root):
        with contextlib.suppress(OSError), os.scandir(folder) as files:
            for file in files:
                kind = _kind(file.name)
                if kind and file.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        status = file.stat(follow_symlinks=False)
                        yield Entry(file.path, status.st_size, status.st_mtime_ns, kind)


def _folders(root: pathlib.Path) -> list[str]:
    try:
        with os.scandir(root) as directory_entries:
            return [
                folder.path
                for folder in directory_entries
                if re.fullmatch(_FOLDER, folder.name) and folder.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _kind(name: str) -> str | None:
    return "unfinished" if name.startswith(UNFINISHED_PREFIX) else KINDS.get(os.path.splitext(name)[1])


def evict(root: pathlib.Path, max_bytes: int) -> int:
    """Remove the least recently used entries if all entries take more than `max_bytes`.

    Entries of the future, from before the clock was set back, have not been used since: they go first.

    Returns the bytes of the remaining entries.
    """
    now, tolerance = time.time_ns(), int(_UNFINISHED_SECONDS * 1e9)

    def age(entry: Entry) -> int:
        """Nanoseconds since the last use; clocks of other machines may be somewhat ahead."""
        return now - entry.used if entry.used <= now + tolerance else now

    by_use = sorted(entries(root), key=age, reverse=True)
    removed = [entry for entry in by_use if entry.kind == "unfinished" and age(entry) > tolerance]
    finished = [entry for entry in by_use if entry.kind != "unfinished"]
    total = sum(entry.bytes for entry in by_use) - sum(entry.bytes for entry in removed)
    excess = total - (max_bytes - max_bytes // 10) if total > max_bytes else 0
    for entry in finished:
        if excess <= 0:
            break
        removed.append(entry)
        excess -= entry.bytes
    return sum(entry.bytes for entry in by_use) - remove(root, removed)[1]


def remove(root: pathlib.Path, chosen: list[Entry]) -> tuple[int, int]:
    """Remove entries and the folders that become empty; returns (removed files, their bytes)."""
    count = size = 0
    for entry in chosen:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)
        except OSError:
            continue
        count, size = count + 1, size + entry.bytes
    if chosen:
        for folder in _folders(root):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    return count, size


class _Evictor:
    """Schedules eviction by the number of bytes that this process has written."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset the state: a forked child has no eviction thread, and its lock may never be released."""
        self.lock = threading.Lock()
        self.totals: dict[pathlib.Path, int] = {}
        self.written: dict[pathlib.Path, int] = {}
        self.due: set[pathlib.Path] = set()
        self.is_running = False

    def wrote(self, root: pathlib.Path, size: int) -> None:
        max_bytes = limit()
        with self.lock:
            total, written = self.totals.get(root), self.written.get(root, 0) + size
            self.written[root] = written
            is_full = total is not None and total <= max_bytes < total + written
            if total is not None and not is_full and written <= max_bytes // 32:
                return
            self.due.add(root)
            self.totals.setdefault(root, 0)
            if self.is_running:
                return
            self.is_running = True
        try:
            # No daemon: the process ends when the entries are within the limit.
            threading.Thread(target=self.run, name="nimblehlo-cache").start()
        except RuntimeError:
            # Python cannot start threads while it exits.
            self.run()

    def run(self) -> None:
        while True:
            with self.lock:
                if not self.due:
                    self.is_running = False
                    return
                root = self.due.pop()
                self.written[root] = 0
            total = evict(root, limit())
            with self.lock:
                self.totals[root] = total


_evictor = _Evictor()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_evictor.reset)


def note_written(root: pathlib.Path, size: int) -> None:
    """Record that an entry of `size` bytes was written below `root`."""
    _evictor.wrote(root, size)
