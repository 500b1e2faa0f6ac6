"""The disk cache of kernels' machine code: one file per kernel and argument types, in a folder per version.

The folder is named by a fingerprint of this package's sources, of Python, Numba, llvmlite and NumPy and of
the CPU. `cache_files` reads and writes the files. Nothing here imports Numba.
"""

import functools
import os
import pathlib
import sys
from importlib.util import find_spec

from ..launch.cache_files import digest, digest_of_sources, folder, read_entry, write_entry
from .object_code import compiler_identity

_NUMBA_TARGET = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
"""The variables by which users choose Numba's target."""


@functools.cache
def fingerprint() -> str:
    """The name of the folder: a digest of what compiled code depends on besides its name.

    Raises OSError if the sources, or Numba's, cannot be read.
    """
    import numpy

    sources = digest_of_sources(pathlib.Path(__file__).parent.parent)
    versions = (sys.version, compiler_identity(), numpy.__version__)
    target = [os.environ.get(name) for name in _NUMBA_TARGET]
    return digest(sources, _numba_version(), repr((versions, target)).encode()).hex()[:32]


def _numba_version() -> bytes:
    """A text that has Numba's version. To ask the metadata of packages takes 60 modules.

    Raises OSError if Numba is not installed, or has no such file.
    """
    spec = find_spec("numba")
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise FileNotFoundError("Numba is not installed")
    return pathlib.Path(folders[0], "_version.py").read_bytes()


def _folder() -> pathlib.Path | None:
    """The folder of this version; None if the sources that name it cannot be read, or if it must not be
    used."""
    try:
        return folder(fingerprint())
    except OSError:
        return None


def has_code() -> bool:
    """Whether code of this version is on the disk, so that the installed Numba can compile kernels."""
    path = _folder()
    return path is not None and path.exists()


def _path(name: str) -> pathlib.Path | None:
    """The file of a kernel's code; None: see `_folder`."""
    path = _folder()
    readable = "".join(c if c.isalnum() else "_" for c in name)[:60]
    return path / f"{readable}-{digest(name.encode()).hex()[:32]}.bin" if path else None


def read(name: str) -> bytes | None:
    """The machine code of that name; None if there is no usable one."""
    path = _path(name)
    return read_entry(path) if path else None


def write(name: str, code: bytes) -> None:
    """Write machine code to the disk, if possible."""
    path = _path(name)
    if path:
        write_entry(path, code)
