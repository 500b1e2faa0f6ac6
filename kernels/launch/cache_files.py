"""Files of compiled code: their paths, and how they are read and written.

Each version has a folder of its own below `root`. An entry starts with a digest of its name and content; an
entry that does not match, because it is damaged or renamed, counts as missing. Entries are written to a
temporary file and then renamed, so readers see a complete entry or none, whatever other processes do. If the
folder cannot be written, nothing is cached, and that is no error. `cache_trust` decides which folders and
files are used, `cache_limit` how many bytes they may take.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import threading

from ..named_tuples import NamedTuple
from .cache_limit import KINDS, UNFINISHED_PREFIX, entries, limit, note_written, remove
from .cache_trust import refusal_of_file, refusal_of_folder, warn_once

ENVIRONMENT_VARIABLE = "NIMBLEHLO_CACHE_DIR"
_DIGEST_BYTES = 32
_NAME_BYTES = 8
"""Random bytes in the name of an unfinished file, which no other process has chosen."""


def root() -> pathlib.Path:
    """The folder that holds all compiled code: `NIMBLEHLO_CACHE_DIR`, or one in the user's cache folder.

    A user without a home, as in containers that run under an arbitrary number, has one in the folder for
    temporary files.
    """
    configured = os.environ.get(ENVIRONMENT_VARIABLE)
    if configured:
        return pathlib.Path(configured)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if base.startswith("~"):
        # Python leaves the tilde where it knows no home.
        return pathlib.Path(os.environ.get("TMPDIR") or "/tmp", f"nimblehlo-{os.geteuid()}")
    return pathlib.Path(base) / "nimblehlo"


_import_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    # A child would wait for ever for a module that another thread was importing.
    os.register_at_fork(
        before=_import_lock.acquire, after_in_parent=_import_lock.release, after_in_child=_import_lock.release
    )


def digest(*chunks: bytes) -> bytes:
    """The SHA-256 digest of the concatenated chunks."""
    with _import_lock:
        import hashlib  # loads OpenSSL

    hasher = hashlib.sha256()
    for chunk in chunks:
        hasher.update(chunk)
    return hasher.digest()


def digest_of_sources(*paths: pathlib.Path) -> bytes:
    """A digest of the names and contents of Python sources.

    Args:
        paths: files, and folders whose sources are digested with those of their subfolders.

    Raises OSError if they cannot be read.
    """
    # Paths as strings, and files without buffers, take a third of the time of pathlib's.
    sources = [
        source
        for path in paths
        for source in ([os.fspath(path)] if path.suffix else sorted(_sources_in(os.fspath(path))))
    ]
    return digest(*[os.path.basename(source).encode() + b"\0" + _content(source) for source in sources])


def _sources_in(folder: str) -> list[str]:
    """The Python sources in a folder and in its subfolders."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                files.append(entry.path)
            elif entry.name != "__pycache__" and entry.is_dir():
                folders.append(entry.path)
    return [*files, *[source for inner in folders for source in _sources_in(inner)]]


def _content(path: str) -> bytes:
    """The bytes of a file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        content = os.read(descriptor, size)
    finally:
        os.close(descriptor)
    if len(content) != size:
        raise OSError(f"{path} has changed while it was read")
    return content


def folder(name: str) -> pathlib.Path | None:
    """The folder of a version, which may not exist yet; None if the cache must be neither read nor written.

    A folder that others may write to causes one `CacheWarning` per process.
    """
    path = root() / name
    if limit() == 0:
        return None
    reason = refusal_of_folder(path)
    if reason:
        warn_once(f"no compiled code is kept on disk: {reason}")
        return None
    return path


def has_folder(prefix: str) -> bool:
    """Whether a version's folder whose name begins with `prefix` exists and may be used."""
    return any(folder(path.name) for path in root().glob(f"{prefix}*"))


_OPEN_FLAGS = os.O_RDONLY | sum(
    [getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")]
)
"""Do not follow a symbolic link, and do not block if the file is a pipe."""


def read_entry(path: pathlib.Path) -> bytes | None:
    """The payload that `write_entry` wrote to a file; None if there is no usable one."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError:
        return None
    # os.read takes half the time of a file object.
    try:
        return _read(path, descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _read(path: pathlib.Path, descriptor: int) -> bytes | None:
    """`read_entry` of an open file. Raises OSError if it cannot be read."""
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
    # `cache_limit` evicts the entries with the oldest times first. Setting the time fails if the folder
    # belongs to root, and on Windows if another process has removed the entry.
    with contextlib.suppress(OSError):
        os.utime(descriptor if os.utime in os.supports_fd else path)
    return payload


def write_entry(path: pathlib.Path, payload: bytes) -> None:
    """Write an entry to a version's folder atomically.

    Nothing is written if that is not possible, or if the entry is larger than the limit.
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

    Raises OSError if it cannot be written.
    """
    _make_folder(path.parent)
    # Another user may have created the folder since `folder` checked it.
    if refusal_of_folder(path.parent):
        return False
    # To import `tempfile` takes 5 ms, while a first call waits for code.
    unfinished = path.with_name(f"{UNFINISHED_PREFIX}{os.urandom(_NAME_BYTES).hex()}")
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
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
    """Create a folder and its missing parents with mode 0700.

    Raises OSError if that is not possible.
    """
    missing = [folder]
    while not missing[-1].is_dir() and missing[-1] != missing[-1].parent:
        missing.append(missing[-1].parent)
    for directory in missing[-2::-1]:
        directory.mkdir(mode=0o700, exist_ok=True)


class Usage(NamedTuple):
    """The disk usage of compiled code.

    Attributes:
        path: the folder of all compiled code.
        refusal: why compiled code is neither read nor written; None if it is.
        limit: maximum bytes of compiled code.
        kinds: (files, bytes) by kind, as in `cache_limit.KINDS`, and of unfinished files.
    """

    path: pathlib.Path
    refusal: str | None
    limit: int
    kinds: dict[str, tuple[int, int]]


def usage() -> Usage:
    """The disk usage of the compiled code of all versions."""
    kinds = dict.fromkeys([*KINDS.values(), "unfinished"], (0, 0))
    for entry in entries(root()):
        files, size = kinds[entry.kind]
        kinds[entry.kind] = files + 1, size + entry.bytes
    return Usage(root(), _refusal(), limit(), kinds)


def clear() -> tuple[int, int]:
    """Remove the compiled code of all versions, except for unfinished files.

    Returns the number of removed files, and their bytes.

    Raises PermissionError if others may write to the folder: they could have put any files there.
    """
    reason = refusal_of_folder(root() / "any")
    if reason:
        raise PermissionError(reason)
    return remove(root(), [entry for entry in entries(root()) if entry.kind != "unfinished"])


def _refusal() -> str | None:
    """Why compiled code is neither read nor written; None if it is."""
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
