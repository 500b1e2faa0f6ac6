"""Files of compiled code: where they lie, and how they are read and written.

An entry starts with a digest of its name and of the rest: what does not match, because it is damaged or
stands under another name, counts as not there. Where the folder cannot be written, nothing is kept, and that
is no error.
"""

import contextlib
import hashlib
import os
import pathlib
import sys

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


def read(path: pathlib.Path) -> bytes | None:
    """What `keep` wrote there; None where there is nothing that can be used."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    payload = content[_DIGEST_BYTES:]
    return payload if content[:_DIGEST_BYTES] == _digest(path, payload) else None


def keep(path: pathlib.Path, payload: bytes) -> None:
    """Write an entry so that a reader sees all of it or none, or do nothing where that is not possible."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, _digest(path, payload) + payload)


def _digest(path: pathlib.Path, payload: bytes) -> bytes:
    return digest(path.name.encode(), b"\0", payload)


def _write(path: pathlib.Path, content: bytes) -> None:
    import tempfile

    descriptor, unfinished = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(unfinished, path)
    except OSError:
        os.unlink(unfinished)
        raise
