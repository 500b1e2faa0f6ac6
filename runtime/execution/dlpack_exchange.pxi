# Tensors of another library as arrays and back, by the functions in C that its type of tensors offers. `dlpack.pyx`
# includes this file.
#
# Source: dmlc.github.io/dlpack, "Python Specification for DLPack", ``DLPackExchangeAPI`` of version 1.3.

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        void *subtype, void *stolen_dtype, int rank, cnp.npy_intp *shape, cnp.npy_intp *strides, void *data,
        int flags, PyObject *like,
    )

cdef struct ExchangeHeader:
    uint32_t major
    uint32_t minor
    ExchangeHeader *previous

cdef struct ExchangeFunctions:
    ExchangeHeader header
    void *allocate
    void *export_managed
    int (*import_managed)(VersionedTensor *, PyObject **) except -1
    int (*export_borrowed)(PyObject *, Tensor *) except -1
    void *current_stream

cdef enum:
    COMPLEX = 5
    MAX_RANK = 64  # NumPy's

cdef dict _dtypes_by_code = {
    code << 8 | bits: type.dtype
    for type in ELEMENT_TYPES.values()
    for code, bits in [_TYPES.get(type.dtype.name, (0, 0))]
    if bits >= 8
}
"""The dtypes of elements of whole bytes by DLPack's code and bits."""


cdef class TensorExchange:
    """Makes arrays of a library's tensors, and tensors of arrays, without copies.

    ``__dlpack__`` and capsules take several times as long, which counts where a call has tens of small tensors.

    Args:
        types: the library's types of tensors; a subclass that is not named is none.
        is_lazy: whether the elements of a real tensor are other ones than those in its memory.
        as_array: makes arrays of all else: of other values, and of tensors that are complex, lazy, empty, on
            another device or without memory.

    Raises:
        UnsupportedError: the library has no such functions of DLPack 1.
    """

    cdef frozenset types
    cdef object is_lazy, as_array
    cdef object capsule
    cdef ExchangeFunctions *functions

    def __init__(self, types, is_lazy, as_array):
        self.types = frozenset(types)
        self.is_lazy, self.as_array = is_lazy, as_array
        self.capsule = getattr(next(iter(types)), "__dlpack_c_exchange_api__", None)
        cdef ExchangeHeader *header = NULL
        if PyCapsule_IsValid(self.capsule, b"dlpack_exchange_api"):
            header = <ExchangeHeader *> PyCapsule_GetPointer(self.capsule, b"dlpack_exchange_api")
        while header != NULL and header.major != 1:
            header = header.previous
        self.functions = <ExchangeFunctions *> header
        if header == NULL or self.functions.export_borrowed == NULL:
            raise UnsupportedError("the library's tensors have no functions of DLPack 1 in C")

    def arrays(self, values):
        """Tensors as arrays that share their memory and keep it alive; other values by `as_array`."""
        return [self._array(value) for value in values]

    def tensors(self, arrays):
        """Arrays as tensors that share their memory and keep it alive.

        Raises:
            UnsupportedError: DLPack has no code for an element type.
            BufferError: an array is read-only, or its strides are no multiples of the element's size.
        """
        return [self._tensor(np.asarray(array)) for array in arrays]

    cdef object _array(self, value):
        cdef Tensor tensor
        if type(value) not in self.types or self.is_lazy(value):
            return self.as_array(value)
        try:
            self.functions.export_borrowed(<PyObject *> value, &tensor)
        except (RuntimeError, ValueError, TypeError, BufferError):
            return self.as_array(value)
        if tensor.device_type != CPU or tensor.data == NULL or tensor.ndim > MAX_RANK:
            return self.as_array(value)
        dtype = _dtypes_by_code.get(tensor.dtype.code << 8 | tensor.dtype.bits)
        if dtype is None or tensor.dtype.code == COMPLEX or tensor.dtype.lanes != 1:
            return self.as_array(value)
        return _borrowed(&tensor, value, dtype)

    cdef object _tensor(self, cnp.ndarray array):
        cdef PyObject *imported = NULL
        _check_strides(array)
        if not cnp.PyArray_ISWRITEABLE(array):
            raise BufferError("a read-only array cannot become a tensor")
        type = _type_of(array)
        if type is None:
            raise UnsupportedError(f"DLPack has no elements of {array.dtype}")
        cdef VersionedTensor *managed = <VersionedTensor *> malloc(sizeof(VersionedTensor))
        cdef tuple owner = (array,)
        _manage[VersionedTensor](managed, array, owner, type[0], type[1], 0)
        try:
            self.functions.import_managed(managed, &imported)
        except BaseException:
            # A library that fails late has deleted the tensor, which had the only other reference to its owner.
            if not is_uniquely_referenced(<PyObject *> owner):
                _delete[VersionedTensor](managed)
            raise
        result = <object> imported
        Py_DECREF(result)
        return result


cdef object _borrowed(Tensor *tensor, object owner, object dtype):
    """An array of a tensor's elements that keeps their owner alive."""
    cdef cnp.npy_intp shape[MAX_RANK]
    cdef cnp.npy_intp strides[MAX_RANK]
    cdef cnp.npy_intp item_bytes = tensor.dtype.bits // 8
    cdef int dimension
    for dimension in range(tensor.ndim):
        shape[dimension] = tensor.shape[dimension]
        strides[dimension] = tensor.strides[dimension] * item_bytes
    Py_INCREF(dtype)
    cdef object array = PyArray_NewFromDescr(
        <void *> cnp.ndarray, <void *> dtype, tensor.ndim, shape, strides,
        <char *> tensor.data + tensor.byte_offset, cnp.NPY_ARRAY_WRITEABLE, NULL,
    )
    cnp.set_array_base(array, owner)
    return array
