"""Compiled code on disk: one file a compiled signature, in a folder that no other version ever reads.

The folder is named by a fingerprint of this package's sources, of Python, Numba, llvmlite and NumPy and of
the CPU. An entry starts with a digest of the rest: what does not match is compiled again. Where the folder
cannot be written, nothing is kept and nothing fails.
"""

import functools
import hashlib
import os
import pathlib
import pickle
import sys
import tempfile
from typing import Any

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


@functools.cache
def fingerprint() -> str:
    """What compiled code depends on beside its own signature, as a name for a folder.

    Raises OSError where the sources cannot be read.
    """
    import llvmlite
    import numba
    import numpy
    from numba.core.registry import cpu_target

    digest = hashlib.sha256()
    for source in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    versions = (sys.version, numba.__version__, llvmlite.__version__, numpy.__version__)
    target = cpu_target.target_context.codegen().magic_tuple()
    digest.update(repr((versions, target)).encode())
    return digest.hexdigest()[:32]


class DiskCache:
    """Numba's cache protocol (`load_overload`, `save_overload`) for one function; `name` tells it from all
    others."""

    cache_path = None

    def __init__(self, name: str) -> None:
        self._name = name

    def _path(self, signature: Any) -> pathlib.Path:
        digest = hashlib.sha256(repr((self._name, signature)).encode()).hexdigest()[:32]
        readable = "".join(c if c.isalnum() else "_" for c in self._name)[:60]
        return root() / fingerprint() / f"{readable}-{digest}.bin"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function of that signature; None where there is none, or none that can be used."""
        target_context.refresh()
        try:
            content = self._path(signature).read_bytes()
        except OSError:
            return None
        payload = content[_DIGEST_BYTES:]
        if hashlib.sha256(payload).digest() != content[:_DIGEST_BYTES]:
            return None
        from numba.core.compiler import CompileResult

        return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep the compiled function, or do nothing where that is not possible."""
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals or compiled.lifted:
            return
        payload = dumps(compiled._reduce())
        try:
            path = self._path(signature)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(path, hashlib.sha256(payload).digest() + payload)
        except OSError:
            return

    def flush(self) -> None:
        """Nothing is held in memory."""

    enable = disable = flush


def _write(path: pathlib.Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none."""
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(unfinished, path)
    except OSError:
        os.unlink(unfinished)
        raise
