# cython: language_level=3
"""Arrays as DLPack tensors, those of ml_dtypes too, which NumPy does not export.

NumPy 2.0 exports without a version, so that arrays of its own types are exported here as well.

Arrays are copied only on request. Elements of fewer than 8 bits take a byte each, which DLPack 1.1 calls
padded; a consumer that does not name that version cannot be told so, and is refused.

Source: dmlc.github.io/dlpack, "C API" and "Python Specification for DLPack", version 1.1.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from ..errors import UnsupportedError
from ..types import ELEMENT_TYPES

cnp.import_array()

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

cdef struct DataType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct Tensor:
    void *data
    int32_t device_type
    int32_t device_id
    int32_t ndim
    DataType dtype
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

cdef struct ManagedTensor:
    Tensor tensor
    void *manager
    void (*deleter)(ManagedTensor *) noexcept nogil

cdef struct VersionedTensor:
    uint32_t major
    uint32_t minor
    void *manager
    void (*deleter)(VersionedTensor *) noexcept nogil
    uint64_t flags
    Tensor tensor

ctypedef fused Managed:
    ManagedTensor
    VersionedTensor

cdef enum:
    READ_ONLY = 1
    IS_COPIED = 2
    IS_PADDED = 4

cdef enum:
    CPU = 1

_VERSION = (1, 1)
"""The version whose types and flags are used."""
_TYPES = {
    **{f"int{bits}": (0, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    **{f"complex{bits}": (5, bits) for bits in (64, 128)},
    "bool": (6, 8),
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
"""DLPack's code and the bits of each type of NumPy and ml_dtypes by the name of its dtype."""

cdef dict _types_by_number = {}
"""The same, of the types that were exported, by NumPy's number of the type: names take a microsecond."""


cdef tuple _type_of(cnp.ndarray array):
    """DLPack's code and the bits of the array's elements; None: it has no code."""
    cdef int number = cnp.PyArray_TYPE(array)
    if not cnp.PyArray_ISNOTSWAPPED(array):
        return None
    type = _types_by_number.get(number)
    if type is None:
        type = _TYPES.get(array.dtype.name)
        if type is not None:
            _types_by_number[number] = type
    return type


cdef class DLPackTensor:
    """An array as anything that consumes DLPack takes it, such as ``jax.dlpack.from_dlpack``.

    Args:
        array: of an element type of NumPy or ml_dtypes. It shares its memory with what consumers make of it.
    """

    cdef readonly cnp.ndarray array
    cdef int code, bits

    def __init__(self, cnp.ndarray array not None):
        type = _type_of(array)
        if type is None:
            raise UnsupportedError(f"DLPack has no elements of {array.dtype}")
        self.array = array
        self.code, self.bits = type

    def __dlpack_device__(self):
        """DLPack's code of the processor's memory, and 0."""
        return CPU, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule with the tensor, as the specification has it.

        Raises:
            BufferError: the array cannot be exported as requested.
        """
        cdef cnp.ndarray array = self.array
        if stream is not None:
            raise BufferError("the processor's memory has no streams")
        if dl_device is not None and tuple(dl_device) != (CPU, 0):
            raise BufferError(f"the array cannot be exported to the device {dl_device}")
        if copy:
            array = array.copy()
        flags = (0 if cnp.PyArray_ISWRITEABLE(array) else READ_ONLY) | (IS_COPIED if copy else 0)
        _check_strides(array)
        if max_version is not None and max_version[0] >= _VERSION[0]:
            if self.bits < 8:
                if tuple(max_version) < _VERSION:
                    raise BufferError(f"elements of {self.bits} bits need DLPack 1.1")
                flags |= IS_PADDED
            return _capsule[VersionedTensor](
                <VersionedTensor *> malloc(sizeof(VersionedTensor)), array, self.code, self.bits, flags
            )
        if self.bits < 8:
            raise BufferError(f"elements of {self.bits} bits need DLPack 1.1")
        if flags & READ_ONLY:
            raise BufferError("a read-only array needs DLPack 1.0")
        return _capsule[ManagedTensor](
            <ManagedTensor *> malloc(sizeof(ManagedTensor)), array, self.code, self.bits, flags
        )


def to_dlpack(array):
    """An array with ``__dlpack__``, which shares its memory; arrays of ml_dtypes themselves have none.

    Args:
        array: such as a result of `nimblehlo.execute`, of any element type.

    Returns:
        What consumers of DLPack take.

    Raises:
        UnsupportedError: DLPack has no code for the element type.
    """
    return DLPackTensor(np.asarray(array))


cdef int _check_strides(cnp.ndarray array) except -1:
    """Raise a BufferError if DLPack, which counts strides in elements, has none for the array."""
    cdef int dimension
    for dimension in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_STRIDE(array, dimension) % cnp.PyArray_ITEMSIZE(array):
            raise BufferError("strides are no multiples of the element's size")
    return 0


cdef object _capsule(Managed *managed, cnp.ndarray array, int code, int bits, int flags):
    """A capsule that owns `managed`, which is uninitialized, and holds a reference to the array."""
    _manage(managed, array, array, code, bits, flags)
    if Managed is VersionedTensor:
        return PyCapsule_New(managed, b"dltensor_versioned", _drop)
    else:
        return PyCapsule_New(managed, b"dltensor", _drop)


cdef int _manage(Managed *managed, cnp.ndarray array, object owner, int code, int bits, int flags) except -1:
    """Describe an array in `managed`, which is freed if there is no memory, and hold a reference to an object that
    keeps the array alive."""
    if managed == NULL:
        raise MemoryError
    if not _fill(&managed.tensor, array, code, bits):
        free(managed)
        raise MemoryError
    if Managed is VersionedTensor:
        managed.major, managed.minor = _VERSION
        managed.flags = flags
    managed.manager = <void *> owner
    managed.deleter = _delete[Managed]
    Py_INCREF(owner)
    return 0


cdef bint _fill(Tensor *tensor, cnp.ndarray array, int code, int bits) noexcept:
    """Describe an array; False if there is no memory."""
    cdef int rank = cnp.PyArray_NDIM(array)
    cdef int64_t *sizes = <int64_t *> malloc(2 * max(rank, 1) * sizeof(int64_t))
    if sizes == NULL:
        return False
    cdef int dimension
    for dimension in range(rank):
        sizes[dimension] = cnp.PyArray_DIM(array, dimension)
        sizes[rank + dimension] = cnp.PyArray_STRIDE(array, dimension) // cnp.PyArray_ITEMSIZE(array)
    tensor.data = cnp.PyArray_DATA(array) if cnp.PyArray_SIZE(array) else NULL
    tensor.device_type, tensor.device_id = CPU, 0
    tensor.ndim = rank
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, 1
    tensor.shape, tensor.strides = sizes, sizes + rank
    tensor.byte_offset = 0
    return True


cdef void _release(void *manager) noexcept nogil:
    """Let go of the array's owner. A consumer may do so after the interpreter has ended."""
    if Py_IsInitialized():
        with gil:
            Py_DECREF(<object> manager)


cdef void _delete(Managed *managed) noexcept nogil:
    free(managed.tensor.shape)
    _release(managed.manager)
    free(managed)


cdef void _drop(object capsule) noexcept:
    """Delete the tensor of a capsule that nobody has consumed, which would have renamed it."""
    if PyCapsule_IsValid(capsule, b"dltensor"):
        _delete(<ManagedTensor *> PyCapsule_GetPointer(capsule, b"dltensor"))
    elif PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        _delete(<VersionedTensor *> PyCapsule_GetPointer(capsule, b"dltensor_versioned"))


include "launch/unique_reference.pxi"
include "dlpack_exchange.pxi"
