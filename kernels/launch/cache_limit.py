"""How many bytes compiled code may take on disk: what was used last stays, the rest is removed.

The time of a file's last change says when it was last used: `store.read` sets it. A thread of its own looks
through the folders of all versions after the first entry that a process writes, and again whenever the
process has written a thirty-second of the limit since. Above the limit, it removes the entries used least
recently, down to nine tenths of the limit. Processes share no lock: several may remove at the same time, and
removing what another one reads or has removed does no harm.
"""

import contextlib
import functools
import os
import pathlib
import re
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from .cache_trust import warn_once

ENVIRONMENT_VARIABLE = "NIMBLEHLO_CACHE_BYTES"

DEFAULT_LIMIT = 1 << 30
"""Bytes. The project's own tests leave some 100 MB."""

UNFINISHED_PREFIX = ".unfinished-"
"""What names of files that are being written begin with."""

KINDS = {".bin": "numba", ".o": "generated"}
"""The kind of an entry by its suffix: loops that Numba compiled, and code generated as LLVM IR."""

_FOLDER = re.compile(r"(generated-)?[0-9a-f]{32}")
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_UNFINISHED_SECONDS = 3600.0
"""Age from which a file that is being written was left by a process that ended."""


def limit() -> int:
    """The most bytes that compiled code may take; 0: none is kept, and none is read.

    It is what `set_limit` said, or else NIMBLEHLO_CACHE_BYTES, or else the default.
    """
    if _limits:
        return _limits[-1]
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    return DEFAULT_LIMIT if not text else _parsed(text)


def set_limit(size: int) -> None:
    """Set the limit of this process in bytes, whatever the environment says."""
    _limits[:] = [size]


_limits: list[int] = []


@functools.lru_cache(8)
def _parsed(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        warn_once(
            f"{ENVIRONMENT_VARIABLE} is {text!r}, but must be a number of bytes, such as 512M or 2G; "
            f"the limit is {DEFAULT_LIMIT} bytes"
        )
        return DEFAULT_LIMIT
    number, suffix, _ = match.groups()
    return int(number) << 10 * " kmgt".index(suffix.lower() or " ")


class Entry(NamedTuple):
    """A file of compiled code; `used`: nanoseconds since 1970."""

    path: str
    bytes: int
    used: int
    kind: str


def entries(root: pathlib.Path) -> Iterator[Entry]:
    """All files of compiled code below a folder. Files and folders of other names are left out."""
    for folder in _folders(root):
        with contextlib.suppress(OSError), os.scandir(folder) as files:
            for file in files:
                kind = _kind(file.name)
                if kind and file.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        status = file.stat(follow_symlinks=False)
                        yield Entry(file.path, status.st_size, status.st_mtime_ns, kind)


def _folders(root: pathlib.Path) -> list[str]:
    """The folders of all versions."""
    try:
        with os.scandir(root) as found:
            return [
                folder.path
                for folder in found
                if _FOLDER.fullmatch(folder.name) and folder.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _kind(name: str) -> str | None:
    return "unfinished" if name.startswith(UNFINISHED_PREFIX) else KINDS.get(os.path.splitext(name)[1])


def evict(root: pathlib.Path, most: int) -> int:
    """Remove what was used least recently where entries take more than `most` bytes.

    Returns the bytes that stay.
    """
    abandoned = time.time_ns() - int(_UNFINISHED_SECONDS * 1e9)
    found = sorted(entries(root), key=lambda entry: entry.used)
    removed = [entry for entry in found if entry.kind == "unfinished" and entry.used < abandoned]
    stay = [entry for entry in found if entry.kind != "unfinished"]
    total = sum(entry.bytes for entry in found) - sum(entry.bytes for entry in removed)
    excess = total - (most - most // 10) if total > most else 0
    for entry in stay:
        if excess <= 0:
            break
        removed.append(entry)
        excess -= entry.bytes
    return sum(entry.bytes for entry in found) - remove(root, removed)[1]


def remove(root: pathlib.Path, chosen: list[Entry]) -> tuple[int, int]:
    """Remove entries, and the folders that have none any more; returns how many are gone, and their bytes."""
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
    """Looks now and then at what this process has written."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew: a forked child has neither the thread nor a lock that somebody releases."""
        self.lock = threading.Lock()
        self.totals: dict[pathlib.Path, int] = {}
        self.written: dict[pathlib.Path, int] = {}
        self.due: set[pathlib.Path] = set()
        self.is_running = False

    def wrote(self, root: pathlib.Path, size: int) -> None:
        most = limit()
        with self.lock:
            known, written = self.totals.get(root), self.written.get(root, 0) + size
            self.written[root] = written
            is_full = known is not None and known <= most < known + written
            if known is not None and not is_full and written <= most // 32:
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
            # No thread can be started any more, as where Python is about to end.
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
    """Say that an entry of `size` bytes was written below `root`."""
    _evictor.wrote(root, size)
