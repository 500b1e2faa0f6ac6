"""Files of named arrays: NumPy's .npz, and .safetensors by the library of that name.

The extra ``nimblehlo[safetensors]`` brings the library, which is imported when a file needs it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

import numpy as np

from ..errors import ExecutionError, UnsupportedError
from ..program.ops.test_dialects.array_files import for_file
from ..types import Array

NPZ: Final = ".npz"
SAFETENSORS: Final = ".safetensors"

_LACKS_TYPE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What the library raises of an element type that NumPy or its format lacks, besides an error of its own."""


def is_archive(file: str) -> bool:
    """Whether a file has named arrays, by the end of its name."""
    return file.endswith((NPZ, SAFETENSORS))


def read_archive(file: str) -> dict[str, Array]:
    """The arrays of a file by name; element types that NumPy's format lacks are bare bytes.

    Raises:
        ExecutionError: it is no such file.
        UnsupportedError: it needs a library that is not installed.
        OSError: it cannot be read.
    """
    if file.endswith(SAFETENSORS):
        library = _safetensors(file)
        try:
            return dict(library.numpy.load_file(file))
        except (library.SafetensorError, *_LACKS_TYPE) as error:
            raise ExecutionError(f"{file} is not a file of tensors (.safetensors): {error}") from error
    try:
        with np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise ExecutionError(f"{file} is not a file of arrays (.npz)") from error


def write_archive(file: str, arrays: Mapping[str, Array]) -> None:
    """Store arrays under their names.

    Raises:
        UnsupportedError: the file needs a library that is not installed, which lacks an element type.
        OSError: it cannot be written.
    """
    if not file.endswith(SAFETENSORS):
        stored: dict[str, Any] = {name: for_file(array) for name, array in arrays.items()}
        np.savez(file, **stored)
        return
    library = _safetensors(file)
    try:
        library.numpy.save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, file)
    except (library.SafetensorError, *_LACKS_TYPE) as error:
        raise UnsupportedError(f"{file} cannot be written: {error}") from error


def _safetensors(file: str) -> ModuleType:
    try:
        import safetensors.numpy
    except ImportError:
        raise UnsupportedError(
            f"{file} needs the library safetensors: pip install 'nimblehlo[safetensors]'"
        ) from None
    package: ModuleType = safetensors
    return package
