"""PyTorch's element types and tensors in the forms of this runtime, without copies."""

from __future__ import annotations

import functools
from typing import Any, Final

from ....errors import UnsupportedError
from ....types import ELEMENT_TYPES, Array, DType, ElementType, TensorType

_TORCH_NAMES: Final = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}
"""The specification's names of PyTorch's element types, by PyTorch's names."""

_WORDS: Final = {8: "uint8", 16: "int16"}
"""The integer type by which torch and NumPy exchange floats that NumPy lacks, by their bits."""


@functools.cache
def _by_torch_type() -> dict[Any, ElementType]:
    import torch

    return {
        getattr(torch, torch_name): ELEMENT_TYPES[name]
        for torch_name, name in _TORCH_NAMES.items()
        if hasattr(torch, torch_name)
    }


@functools.cache
def _torch_types() -> dict[ElementType, Any]:
    return {element_type: torch_type for torch_type, element_type in _by_torch_type().items()}


def element_type_of(torch_type: Any) -> ElementType:
    """The element type of a ``torch.dtype``.

    Raises:
        UnsupportedError: StableHLO has no such type.
    """
    try:
        return _by_torch_type()[torch_type]
    except KeyError:
        raise UnsupportedError(f"StableHLO has no element type for {torch_type}") from None


def torch_type_of(element_type: ElementType) -> Any:
    """The ``torch.dtype`` of an element type that PyTorch has."""
    return _torch_types()[element_type]


def tensor_type_of(tensor: Any, sizes: Any = int) -> TensorType:
    """The type of a tensor.

    Args:
        tensor: a tensor, or a FakeTensor.
        sizes: from a size, which may be a ``torch.SymInt``, to an int.
    """
    return TensorType(tuple(map(sizes, tensor.shape)), element_type_of(tensor.dtype))


def array_of(tensor: Any) -> Array:
    """A tensor in the memory of the CPU as an array that shares its memory.

    Raises:
        UnsupportedError: the tensor is on another device, or is not strided.
    """
    if tensor.requires_grad:
        tensor = tensor.detach()
    dtype = element_type_of(tensor.dtype).dtype
    if dtype.isbuiltin == 1:
        # PyTorch refuses what NumPy cannot have, which is rare: each check takes as long as the conversion.
        try:
            return tensor.numpy()  # type: ignore[no-any-return]
        except (TypeError, RuntimeError):
            pass
    return _resolved(tensor, dtype)


def _resolved(tensor: Any, dtype: DType) -> Array:
    """A tensor that is conjugated or negated lazily, or of elements that NumPy lacks, as an array."""
    import torch

    if not tensor.is_cpu or tensor.layout is not torch.strided:
        raise UnsupportedError(
            f"tensors must be strided and on the CPU, but one is {tensor.layout} on {tensor.device}"
        )
    tensor = tensor.resolve_conj().resolve_neg()
    if dtype.isbuiltin == 1:
        return tensor.numpy()  # type: ignore[no-any-return]
    words: Array = tensor.view(getattr(torch, _WORDS[8 * dtype.itemsize])).numpy()
    return words.view(dtype)
