"""A small module in torch's place: tensors that follow its protocols, and no more.

They come and go through DLPack, are no arrays of NumPy's, and functions on them ask ``__torch_function__``
first.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

_COMPUTE: dict[str, Callable[..., Any]] = {
    "ge": np.greater_equal,
    "add": np.add,
    "mul": np.multiply,
    "bitwise_and": np.bitwise_and,
    "where": np.where,
    "exp": np.exp,
}
_ASKED_ONLY = (
    *("sub", "__rsub__", "add_", "sigmoid", "relu", "rsqrt", "clamp", "round", "to", "fft"),
    *("sum", "amax", "unsqueeze", "cat", "stack", "permute"),
)
_SHARED_TYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64"),
)


class DType:
    """torch's kind of element type: NumPy knows nothing of it."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.name, self.numpy = name, np.dtype(dtype)

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class Tensor:
    """An array that is hidden behind DLPack."""

    def __init__(self, array: Any, dtype: DType) -> None:
        self._array, self.dtype = np.asarray(array), dtype
        self.shape = self._array.shape

    def __dlpack__(self, **settings: Any) -> Any:
        return self._array.__dlpack__(**settings)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def view(self, dtype: DType) -> Tensor:
        return Tensor(self._array.view(dtype.numpy), dtype)


Tensor.__module__ = "torch"


def _function(name: str, compute: Callable[..., Any] | None) -> Callable[..., Any]:
    def call(*args: Any, **settings: Any) -> Any:
        flat = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg])]
        for one in flat:
            if hasattr(type(one), "__torch_function__"):
                kinds = tuple({type(value) for value in flat})
                return type(one).__torch_function__(call, kinds, args, settings)
        assert compute is not None
        return compute(*[one._array if isinstance(one, Tensor) else one for one in args])

    call.__name__ = name
    return call


@functools.cache
def module() -> Any:
    """The module itself."""
    made: Any = types.ModuleType("torch")
    made.Tensor = Tensor
    for name in _SHARED_TYPES:
        setattr(made, name, DType(name, name))
    for name in ("bfloat16", "float8_e4m3fn"):
        setattr(made, name, DType(name, getattr(ml_dtypes, name)))
    for name, compute in _COMPUTE.items():
        setattr(made, name, _function(name, compute))
    for name in _ASKED_ONLY:
        setattr(made, name, _function(name, None))
    by_dtype = {value.numpy: value for value in vars(made).values() if isinstance(value, DType)}

    def tensor(array: Any, dtype: DType | None = None) -> Tensor:
        array = np.asarray(array) if dtype is None else np.asarray(array).astype(dtype.numpy)
        return Tensor(array, by_dtype[array.dtype])

    made.tensor = tensor
    made.from_dlpack = lambda value: tensor(np.from_dlpack(value))
    return made
