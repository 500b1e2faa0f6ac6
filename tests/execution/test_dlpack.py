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
from nimblehlo.execution.dlpack import TensorExchange
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


EXPORT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
IMPORT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(VersionedTensor), ctypes.POINTER(ctypes.py_object))


class ExchangeFunctions(ctypes.Structure):
    """DLPackExchangeAPI; `older` is the one of an older version."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export_managed", ctypes.c_void_p),
        ("import_managed", IMPORT),
        ("export_borrowed", EXPORT),
        ("current_stream", ctypes.c_void_p),
    )


class Lent:
    """A tensor of another library: an array, and what DLPack says of it."""

    functions: ExchangeFunctions

    def __init__(self, array: Any, device: int = 1, code: int = 2) -> None:
        self.array, self.device, self.code = array, device, code
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(each // array.itemsize for each in array.strides))


@EXPORT
def export_borrowed(lent: Lent, tensor: Any) -> int:
    kind = DataType(lent.code, 8 * lent.array.itemsize, 1)
    tensor[0] = Tensor(
        lent.array.ctypes.data, lent.device, 0, lent.array.ndim, kind, lent.shape, lent.strides, 0
    )
    return 0


@IMPORT
def import_managed(managed: Any, imported: Any) -> int:
    tensor = managed[0].tensor
    shape, strides = tensor.shape[: tensor.ndim], tensor.strides[: tensor.ndim]
    held = ("imported", tensor.data, shape, strides, managed[0].deleter, ctypes.addressof(managed[0]))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    imported[0] = held
    return 0


def exchange(major: int = 1, older: ExchangeFunctions | None = None) -> ExchangeFunctions:
    pointer = None if older is None else ctypes.addressof(older)
    return ExchangeFunctions(major, 3, pointer, None, None, import_managed, export_borrowed, None)


def exchange_of(functions: ExchangeFunctions, *, is_lazy: Any = lambda tensor: False) -> TensorExchange:
    """The exchange of tensors of type `Lent`; all else, and what it does not lend, stays as it is."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    Lent.functions = functions
    Lent.__dlpack_c_exchange_api__ = new(ctypes.addressof(functions), b"dlpack_exchange_api", None)
    return TensorExchange((Lent,), is_lazy, lambda value: value)


def test_arrays_share_the_memory_of_lent_tensors() -> None:
    source = np.arange(12, dtype=np.float32).reshape(3, 4)
    lent = [
        Lent(source),
        Lent(source.T),
        Lent(source[:, ::2]),
        Lent(source[1:2].astype(ml_dtypes.bfloat16), 1, 4),
    ]
    for array, tensor in zip(exchange_of(exchange()).arrays(lent), lent, strict=True):
        assert (array.dtype, array.strides) == (tensor.array.dtype, tensor.array.strides)
        np.testing.assert_array_equal(array, tensor.array)
        assert np.shares_memory(array, tensor.array)
        assert array.base is tensor
        assert array.flags.writeable


def test_what_is_not_lent_is_left_to_the_caller() -> None:
    values = np.ones(3, np.float32)
    others = [
        5,
        values,
        Lent(values, device=2),
        Lent(values, code=99),
        Lent(values.astype(np.complex64), code=5),
    ]
    results = exchange_of(exchange()).arrays(others)
    assert all(result is other for result, other in zip(results, others, strict=True))
    lazy = exchange_of(exchange(), is_lazy=lambda tensor: True)
    assert lazy.arrays([others[2]]) == [others[2]]


def test_arrays_are_imported_with_the_memory_and_a_reference() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    alive = weakref.ref(array)
    ((name, data, shape, strides, deleter, managed),) = exchange_of(exchange()).tensors([array])
    assert (name, data, shape, strides) == ("imported", array.ctypes.data, [2, 3], [3, 1])
    del array
    gc.collect()
    assert alive() is not None
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(managed)
    gc.collect()
    assert alive() is None


def test_arrays_that_no_tensor_can_have_are_an_error() -> None:
    values = np.ones(4, np.float32)
    values.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        exchange_of(exchange()).tensors([values])
    with pytest.raises(nimblehlo.UnsupportedError, match="no elements of"):
        exchange_of(exchange()).tensors([np.zeros(2, [("a", np.int32)])])


def test_the_functions_of_version_1_are_found_behind_newer_ones() -> None:
    older = exchange()
    values = np.ones(2, np.float32)
    (array,) = exchange_of(exchange(2, older)).arrays([Lent(values)])
    assert np.shares_memory(array, values)
    with pytest.raises(nimblehlo.UnsupportedError, match="no functions of DLPack 1"):
        exchange_of(exchange(2))
    with pytest.raises(nimblehlo.UnsupportedError, match="no functions of DLPack 1"):
        TensorExchange((int,), lambda tensor: False, lambda value: value)
