"""The disk cache of Numba's machine code: one file per compiled signature, in a folder per version.

The folder is named by a fingerprint of this package's sources, of Python, Numba, llvmlite and NumPy and of
the CPU. `cache_files` reads and writes the files.
"""

import functools
import pathlib
import pickle
import sys
from typing import Any

from .cache_files import digest, digest_of_sources, folder, read_entry, write_entry
from .processor import limit_numba


@functools.cache
def fingerprint() -> str:
    """The name of the folder: a digest of what compiled code depends on besides its signature.

    Raises OSError if the sources cannot be read.
    """
    import llvmlite
    import numba
    import numpy
    from numba.core.registry import cpu_target

    limit_numba()
    sources = digest_of_sources(pathlib.Path(__file__).parent.parent)
    versions = (sys.version, numba.__version__, llvmlite.__version__, numpy.__version__)
    target = cpu_target.target_context.codegen().magic_tuple()
    return digest(sources, repr((versions, target)).encode()).hex()[:32]


class DiskCache:
    """Numba's cache protocol (`load_overload`, `save_overload`) for one function with a unique `name`."""

    cache_path = None

    def __init__(self, name: str) -> None:
        self._name = name

    def _path(self, signature: Any) -> pathlib.Path | None:
        """The file of a signature's code; None if the sources that name its folder cannot be read, or if the
        folder must not be used."""
        try:
            version = folder(fingerprint())
        except OSError:
            return None
        if version is None:
            return None
        name = digest(repr((self._name, signature)).encode()).hex()[:32]
        readable = "".join(c if c.isalnum() else "_" for c in self._name)[:60]
        return version / f"{readable}-{name}.bin"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function of a signature; None if there is no usable one."""
        target_context.refresh()
        path = self._path(signature)
        payload = read_entry(path) if path else None
        if payload is None:
            return None
        from numba.core.compiler import CompileResult

        return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write the compiled function to disk, if possible."""
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals or compiled.lifted:
            return
        path = self._path(signature)
        if path:
            write_entry(path, dumps(compiled._reduce()))

    def flush(self) -> None:
        """Nothing is held in memory."""

    enable = disable = flush
