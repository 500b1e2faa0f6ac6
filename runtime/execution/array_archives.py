"""Files of named arrays: NumPy's .npz, and .safetensors by the library of that name.

The extra ``nimblehlo[safetensors]`` brings the library, which is imported when a file needs it.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from ..errors import ExecutionError, UnsupportedError
from ..program.ops.test_dialects.array_files import for_file
from ..types import Array, DType, element_type

NPZ: Final = ".npz"
SAFETENSORS: Final = ".safetensors"

_LACKS_TYPE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What the library raises of an element type that NumPy or its format lacks, besides an error of its own."""

_MALFORMED: Final = (
    *(ValueError, TypeError, LookupError, EOFError, OverflowError, RuntimeError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy and the modules that it calls raise of malformed files. NotImplementedError, of compressions
that Python lacks, and RecursionError, of headers, are RuntimeErrors."""

_ELEMENT_TYPES: Final = {
    "BOOL": "i1", "I8": "i8", "I16": "i16", "I32": "i32", "I64": "i64",
    "U8": "ui8", "U16": "ui16", "U32": "ui32", "U64": "ui64",
    "F8_E4M3": "f8E4M3FN", "F8_E5M2": "f8E5M2", "F8_E8M0": "f8E8M0FNU",
    "F8_E4M3FNUZ": "f8E4M3FNUZ", "F8_E5M2FNUZ": "f8E5M2FNUZ",
    "F16": "f16", "BF16": "bf16", "F32": "f32", "F64": "f64", "C64": "complex<f32>",
}  # fmt: skip
"""The element types by their names in .safetensors; those of less than 8 bits are packed there."""


def is_archive(file: str) -> bool:
    """Whether a file has named arrays, by the end of its name."""
    return file.endswith((NPZ, SAFETENSORS))


def read_archive(file: str) -> dict[str, Array]:
    """The arrays of a file by name; element types that NumPy's format lacks are bare bytes.

    Raises:
        ExecutionError: it is no such file, or its arrays need more memory than there is.
        UnsupportedError: it needs a library that is not installed, or has elements of another type, such as
            one of less than 8 bits.
        OSError: it cannot be read.
    """
    if file.endswith(SAFETENSORS):
        return _read_tensors(file)
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays: dict[str, Any] = dict(archive)
    except _MALFORMED as error:
        raise ExecutionError(f"{file} is not a file of arrays (.npz)") from error
    except MemoryError as error:
        raise ExecutionError(f"{file} has arrays that need more memory than there is") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ExecutionError(f"{file} is not a file of arrays (.npz): {name} is none")
    return arrays


def read_array(file: str) -> Array:
    """The array of an .npy file; element types that NumPy's format lacks are bare bytes.

    Raises:
        ExecutionError: it is no such file, or the array needs more memory than there is.
        OSError: it cannot be read.
    """
    try:
        array = np.load(file, allow_pickle=False)
    except _MALFORMED as error:
        raise ExecutionError(f"{file} is not a file of an array (.npy)") from error
    except MemoryError as error:
        raise ExecutionError(f"{file} has an array that needs more memory than there is") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise ExecutionError(f"{file} is not a file of an array (.npy)")
    return array


def _read_tensors(file: str) -> dict[str, Array]:
    library = _safetensors(file)
    try:
        return dict(library.numpy.load_file(file))
    except library.SafetensorError as error:
        raise ExecutionError(f"{file} is not a file of tensors (.safetensors): {error}") from error
    except _LACKS_TYPE:
        # The library makes arrays of NumPy's element types and bf16 alone.
        tensors = library.deserialize(Path(file).read_bytes())
    return {name: _tensor(file, name, tensor) for name, tensor in tensors}


def _tensor(file: str, name: str, tensor: Mapping[str, Any]) -> Array:
    elements = np.frombuffer(tensor["data"], _dtype(file, name, tensor["dtype"]))
    try:
        return elements.reshape(tensor["shape"])
    except ValueError as error:
        # The library bounds neither the rank nor the sizes of tensors without elements.
        raise ExecutionError(f"{file}: the tensor {name!r} has a shape that no array has: {error}") from None


def _dtype(file: str, name: str, kind: str) -> DType:
    """The dtype of a tensor by the name that the file gives its element type."""
    if kind not in _ELEMENT_TYPES:
        raise UnsupportedError(
            f"{file}: the tensor {name!r} has elements of type {kind}; "
            f"expected one of {', '.join(_ELEMENT_TYPES)}"
        )
    return element_type(_ELEMENT_TYPES[kind]).dtype


def write_archive(file: str, arrays: Mapping[str, Array]) -> None:
    """Store arrays under their names.

    Raises:
        UnsupportedError: the file needs a library that is not installed, or that lacks an element type.
        OSError: it cannot be written.
    """
    if not file.endswith(SAFETENSORS):
        stored: dict[str, Any] = {name: for_file(array) for name, array in arrays.items()}
        np.savez(file, **stored)
        return
    library = _safetensors(file)
    try:
        content = library.numpy.save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    except (library.SafetensorError, *_LACKS_TYPE) as error:
        raise UnsupportedError(f"{file} cannot be written: {error}") from error
    # The library's own errors of files name neither the file nor the folder.
    Path(file).write_bytes(content)


def _safetensors(file: str) -> ModuleType:
    try:
        import safetensors.numpy
    except ImportError:
        raise UnsupportedError(
            f"{file} needs the library safetensors: pip install 'nimblehlo[safetensors]'"
        ) from None
    package: ModuleType = safetensors
    return package
