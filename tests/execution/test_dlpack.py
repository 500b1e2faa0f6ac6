"""`to_dlpack`: results as DLPack tensors."""

import ctypes
import gc
import weakref
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import to_dlpack
from nimblehlo.types import ELEMENT_TYPES


class DataType(ctypes.Structure):
    """DLDataType of DLPack's header."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class VersionedTensor(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def tensor_of(capsule: Any) -> VersionedTensor:
    """What a capsule of a versioned tensor holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return VersionedTensor.from_address(pointer(capsule, b"dltensor_versioned"))


CODES = {
    "bf16": (4, 16), "f8E3M4": (7, 8), "f8E4M3": (8, 8), "f8E4M3B11FNUZ": (9, 8), "f8E4M3FN": (10, 8),
    "f8E4M3FNUZ": (11, 8), "f8E5M2": (12, 8), "f8E5M2FNUZ": (13, 8), "f8E8M0FNU": (14, 8),
    "f6E2M3FN": (15, 6), "f6E3M2FN": (16, 6), "f4E2M1FN": (17, 4),
    "i4": (0, 4), "i2": (0, 2), "ui4": (1, 4), "ui2": (1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_results_of_ml_dtypes_are_exported_without_a_copy(name: str) -> None:
    type = f"tensor<3x2x{name}>"
    text = (
        f"func.func @main(%a: tensor<2x3x{name}>) -> {type} {{\n"
        f"%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3x{name}>) -> {type}\n"
        f"return %r : {type}\n}}"
    )
    operand = np.ones((2, 3)).astype(ELEMENT_TYPES[name].dtype)
    (result,) = nimblehlo.execute(text, [operand])
    capsule = to_dlpack(result).__dlpack__(max_version=(1, 1))
    managed = tensor_of(capsule)
    tensor = managed.tensor
    assert (managed.major, managed.minor) == (1, 1)
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (*CODES[name], 1)
    assert tensor.data == result.ctypes.data
    assert tensor.shape[:2] == list(result.shape)
    assert tensor.strides[:2] == [stride // result.itemsize for stride in result.strides]
    # Elements of less than a byte take one each, which the flag says.
    assert bool(managed.flags & 4) == (CODES[name][1] < 8)
    assert to_dlpack(result).__dlpack_device__() == (1, 0)


def test_every_element_type_but_those_of_numpy_has_a_code() -> None:
    others = {name for name, type in ELEMENT_TYPES.items() if type.dtype.isbuiltin != 1}
    assert others == CODES.keys()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_jax_takes_results(dtype: Any) -> None:
    values = np.array([[0.5, -2, 1], [3, -0.25, 8]]).astype(dtype)
    taken = jax.dlpack.from_dlpack(to_dlpack(values))
    assert taken.dtype == dtype
    np.testing.assert_array_equal(np.asarray(taken), values)


def test_numpy_takes_what_it_has() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    taken = np.from_dlpack(to_dlpack(values))
    assert np.shares_memory(taken, values)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(to_dlpack(values.astype(ml_dtypes.bfloat16)))


def test_the_array_lives_as_long_as_the_tensor() -> None:
    values = np.ones(4, ml_dtypes.bfloat16)
    alive = weakref.ref(values)
    unused = to_dlpack(values).__dlpack__()
    versioned = to_dlpack(values).__dlpack__(max_version=(1, 1))
    taken = jax.dlpack.from_dlpack(to_dlpack(values))
    del values
    gc.collect()
    assert alive() is not None
    del unused, versioned, taken
    gc.collect()
    assert alive() is None


def test_copies_and_flags() -> None:
    values = np.ones(4, ml_dtypes.bfloat16)
    copied = to_dlpack(values).__dlpack__(max_version=(1, 1), copy=True)
    assert tensor_of(copied).tensor.data != values.ctypes.data
    assert tensor_of(copied).flags == 2
    values.flags.writeable = False
    fixed = to_dlpack(values).__dlpack__(max_version=(1, 1))
    assert tensor_of(fixed).flags == 1
    empty = to_dlpack(np.ones((0, 2), ml_dtypes.bfloat16)).__dlpack__(max_version=(1, 1))
    assert tensor_of(empty).tensor.data is None


@pytest.mark.parametrize(
    ("dtype", "settings", "reason"),
    [
        (ml_dtypes.bfloat16, {"stream": 1}, "no streams"),
        (ml_dtypes.bfloat16, {"dl_device": (2, 0)}, "the device"),
        (ml_dtypes.int4, {}, "need DLPack 1.1"),
        (ml_dtypes.int4, {"max_version": (1, 0)}, "need DLPack 1.1"),
    ],
)
def test_what_cannot_be_exported_is_an_error(dtype: Any, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BufferError, match=reason):
        to_dlpack(np.ones(4, dtype)).__dlpack__(**settings)


def test_read_only_arrays_need_a_version() -> None:
    values = np.ones(4, ml_dtypes.bfloat16)
    values.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        to_dlpack(values).__dlpack__()


def test_other_elements_are_an_error() -> None:
    with pytest.raises(nimblehlo.UnsupportedError, match="no elements of"):
        to_dlpack(np.zeros(2, [("a", np.int32)]))
