"""Files of compiled code: where they lie, and how they are read and written.

Each version has a folder of its own below `root`. An entry starts with a digest of its name and of the rest:
an entry that does not match, because it is damaged or stands under another name, counts as not there. Entries
are written under another name and then renamed, so that a reader sees all of one or none, whatever other
processes do. Where the folder cannot be written, nothing is kept, and that is no error. `cache_trust` says
which folders and files are used at all, `cache_limit` how many bytes they may take.
"""

import contextlib
import hashlib
import os
import pathlib
import sys
from typing import NamedTuple

from .cache_limit import KINDS, UNFINISHED_PREFIX, entries, limit, note_written, remove
from .cache_trust import refusal_of_file, refusal_of_folder, warn_once

ENVIRONMENT_VARIABLE = "NIMBLEHLO_CACHE_DIR"
_DIGEST_BYTES = 32


def root() -> pathlib.Path:
    """The folder that holds all compiled code: `NIMBLEHLO_CACHE_DIR`, or one in the user's cache folder."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return pathlib.Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "nimblehlo"


def digest(*parts: bytes) -> bytes:
    """The SHA-256 digest of some bytes, one part after another."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.digest()


def digest_of_sources(*folders: pathlib.Path) -> bytes:
    """A digest of the Python sources in some folders and below, by name and content.

    Raises OSError where they cannot be read.
    """
    sources = [source for folder in folders for source in sorted(folder.rglob("*.py"))]
    return digest(*[source.name.encode() + b"\0" + source.read_bytes() for source in sources])


def folder(name: str) -> pathlib.Path | None:
    """The folder of a version; None where compiled code must be neither read nor written.

    It may not exist yet. A folder that others may write to is named in a `CacheWarning`, once a process.
    """
    found = root() / name
    if limit() == 0:
        return None
    reason = refusal_of_folder(found)
    if reason:
        warn_once(f"no compiled code is kept on disk: {reason}")
        return None
    return found


def has_folder(prefix: str) -> bool:
    """Whether there is a folder of a version whose name begins so, and it may be used."""
    return any(folder(found.name) for found in root().glob(f"{prefix}*"))


_OPEN_FLAGS = os.O_RDONLY | sum(
    [getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")]
)
"""Not through a symbolic link, and without waiting for a writer where somebody put a pipe."""


def read(path: pathlib.Path) -> bytes | None:
    """What `keep` wrote there; None where there is nothing that can be used."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError:
        return None
    # Half the time that a file object takes.
    try:
        return _read(path, descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _read(path: pathlib.Path, descriptor: int) -> bytes | None:
    """The same of an open file. Raises OSError where it cannot be read."""
    status = os.fstat(descriptor)
    reason = refusal_of_file(path, status)
    if reason:
        warn_once(f"compiled code on disk is not used: {reason}")
        return None
    if status.st_size > limit():
        return None
    content = os.read(descriptor, status.st_size)
    payload = content[_DIGEST_BYTES:]
    if content[:_DIGEST_BYTES] != _digest(path, payload):
        return None
    # The entry is used now: `cache_limit` removes those first whose time is longest ago. That fails where the
    # folder belongs to root, and on Windows where another process has removed the entry.
    with contextlib.suppress(OSError):
        os.utime(descriptor if os.utime in os.supports_fd else path)
    return payload


def keep(path: pathlib.Path, payload: bytes) -> None:
    """Write an entry to a version's folder, so that a reader sees all of it or none.

    Where that is not possible, or the entry is larger than the limit, nothing is written.
    """
    content = _digest(path, payload) + payload
    if len(content) > limit():
        return
    try:
        try:
            is_written = _write(path, content)
        except FileNotFoundError:
            # Another process removed the folder when it was empty.
            is_written = _write(path, content)
    except OSError:
        return
    if is_written:
        note_written(path.parent.parent, len(content))


def _digest(path: pathlib.Path, payload: bytes) -> bytes:
    return digest(path.name.encode(), b"\0", payload)


def _write(path: pathlib.Path, content: bytes) -> bool:
    """Write a file of mode 0600; returns whether its folder may be used.

    Raises OSError where it cannot be written.
    """
    import tempfile

    _make_folder(path.parent)
    # Somebody else may have made the folder since it was judged.
    if refusal_of_folder(path.parent):
        return False
    descriptor, unfinished = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    return True


def _make_folder(folder: pathlib.Path) -> None:
    """Make a folder, and those above it that are missing, of mode 0700.

    Raises OSError where that is not possible.
    """
    missing = [folder]
    while not missing[-1].is_dir() and missing[-1] != missing[-1].parent:
        missing.append(missing[-1].parent)
    for one in missing[-2::-1]:
        one.mkdir(mode=0o700, exist_ok=True)


class Usage(NamedTuple):
    """What compiled code takes on disk.

    Attributes:
        path: the folder that holds all of it.
        refusal: why it is neither read nor written; None where it is.
        limit: the most bytes that it may take.
        kinds: (files, bytes) by kind, as in `cache_limit.KINDS`, and of files that are being written.
    """

    path: pathlib.Path
    refusal: str | None
    limit: int
    kinds: dict[str, tuple[int, int]]


def usage() -> Usage:
    """What compiled code takes on disk, of all versions."""
    kinds = dict.fromkeys([*KINDS.values(), "unfinished"], (0, 0))
    for entry in entries(root()):
        files, size = kinds[entry.kind]
        kinds[entry.kind] = files + 1, size + entry.bytes
    return Usage(root(), _refusal(), limit(), kinds)


def clear() -> tuple[int, int]:
    """Remove the compiled code of all versions, except for what is being written.

    Returns how many files are gone, and their bytes.

    Raises PermissionError where others may write to the folder, who could have put anything there.
    """
    reason = refusal_of_folder(root() / "any")
    if reason:
        raise PermissionError(reason)
    return remove(root(), [entry for entry in entries(root()) if entry.kind != "unfinished"])


def _refusal() -> str | None:
    """Why compiled code is neither read nor written; None where it is."""
    if limit() == 0:
        return "the limit is 0 bytes"
    reason = refusal_of_folder(root() / "any")
    if reason:
        return reason
    existing = root()
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        return f"{existing} is no folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else f"{existing} cannot be written"
