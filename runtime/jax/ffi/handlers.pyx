# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of XLA's FFI handlers on arrays (`call_frame.h`)."""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import itertools
import math

from ...errors import UnsupportedError
from ...kernels.launch.scratch import aligned_bytes

cnp.import_array()

cdef extern from "call_frame.h" nogil:
    ctypedef struct FfiBuffer:
        size_t size
        int type
        void *data
        int64_t rank, *dims
    ctypedef struct FfiText:
        const char *data
        size_t size
    ctypedef struct FfiScalar:
        int type
        void *data
    ctypedef struct FfiArray:
        int type
        size_t count
        void *data
    ctypedef struct FfiBuffers:
        int64_t count
        int *kinds
        void **buffers
    ctypedef struct FfiAttributes:
        size_t size
        int64_t count
        int *kinds
        FfiText **names
        void **values
    ctypedef struct FfiError:
        int code
        char *message
    ctypedef struct FfiState:
        int64_t type
        void *value
    ctypedef struct FfiTypeInfo:
        size_t size
        void (*deleter)(void *object)
    ctypedef struct FfiContext:
        FfiState *instantiated, prepared, initialized
        int64_t run
    ctypedef struct FfiFrame:
        FfiBuffers arguments, results
        FfiAttributes attributes
    ctypedef FfiError *(*FfiHandler)(FfiFrame *)
    enum:
        FFI_ARRAY
        FFI_BUFFER
        FFI_DICTIONARY
        FFI_EXECUTE
        FFI_INSTANTIATE
        FFI_MAJOR
        FFI_MINOR
        FFI_SCALAR
        FFI_STAGES
        FFI_STRING
    size_t FFI_BUFFER_SIZE "FFI_SIZE_TO(FfiBuffer, dims)"
    size_t FFI_ATTRIBUTES_SIZE "FFI_SIZE_TO(FfiAttributes, values)"
    size_t FFI_TYPE_INFO_SIZE "FFI_SIZE_TO(FfiTypeInfo, deleter)"
    void ffi_begin(FfiFrame *frame, FfiContext *context)
    FfiError *ffi_call(FfiHandler handler, FfiFrame *frame, int stage)
    FfiError *ffi_version_of(FfiHandler handler, int *major, int *minor)

ARRAY, DICTIONARY, SCALAR, STRING = FFI_ARRAY, FFI_DICTIONARY, FFI_SCALAR, FFI_STRING
STAGES = ("instantiate", "prepare", "initialize", "execute")
OLDEST, VERSION = (0, 1), (FFI_MAJOR, FFI_MINOR)

cdef enum:
    ALIGNMENT = 64
"""Alignment of XLA's buffers in bytes, on which handlers may rely."""

cdef enum:
    MAX_TYPE_INFO_BYTES = 4096
"""The largest size that is taken for one; a structure without a size begins with the address of a function."""

cdef object _runs = itertools.count(1)
cdef dict _DELETERS = {}


class HandlerFailure(Exception):
    """A handler returned an error; the arguments are its status code and its message."""


def address_of(capsule):
    """The pointer that a capsule holds."""
    return <size_t>PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


def version_of(size_t handler):
    """The version of the interface that a handler was compiled for, a pair.

    Raises:
        HandlerFailure: the handler does not tell.
    """
    cdef int major = 0, minor = 0
    cdef FfiError *error
    with nogil:
        error = ffi_version_of(<FfiHandler>handler, &major, &minor)
    _raise(error)
    return major, minor


def deleter_of(name, size_t type_info):
    """The address of the function that deletes states of a type, 0 where they need none.

    Args:
        name: the name that the type is registered under.
        type_info: the address of its type information.

    Raises:
        UnsupportedError: the size with which the information begins is not one that holds such a function.
    """
    cdef FfiTypeInfo *info = <FfiTypeInfo *>type_info
    if not FFI_TYPE_INFO_SIZE <= info.size <= MAX_TYPE_INFO_BYTES:
        raise UnsupportedError(
            f"the type information of {name} begins with {info.size}, which is not its size: version "
            f"{FFI_MAJOR}.{FFI_MINOR} of XLA's FFI has {FFI_TYPE_INFO_SIZE} bytes, the last of which name the "
            "function that deletes states"
        )
    return <size_t>info.deleter


def add_type(size_t type_id, size_t deleter):
    """Record the function that deletes states of a type, by the address of the type's number."""
    _DELETERS[(<int64_t *>type_id)[0]] = deleter


cdef int _raise(FfiError *error) except -1:
    """Raise the error of a handler, if there is one, and free it."""
    if error == NULL:
        return 0
    code, message = error.code, (<bytes>error.message).decode("utf-8", "replace")
    free(error)
    raise HandlerFailure(code, message)


cdef void _delete(FfiState *state) noexcept:
    """Delete a handler's state by the function that its type was registered with."""
    cdef void (*deleter)(void *) noexcept nogil
    cdef size_t address = _DELETERS.get(state.type, 0) if state.value != NULL else 0
    if address:
        deleter = <void (*)(void *) noexcept nogil>address
        with nogil:
            deleter(state.value)
    state.value = NULL


cdef class Attributes:
    """The attributes of a call.

    Args:
        items: a name (bytes), a kind and a value for each, sorted by name. The value is of a scalar the element type's
            number and the element's bytes; of an array the number of elements, too, before the bytes; of a string its
            bytes; of a dictionary its items.
    """

    cdef FfiAttributes attributes
    cdef void *memory
    cdef list references

    def __cinit__(self, items):
        cdef Py_ssize_t count = len(items), index
        cdef FfiText *names
        cdef FfiArray *values
        cdef bytes data
        cdef Attributes inner
        cdef size_t each = sizeof(int) + 2 * sizeof(void *) + sizeof(FfiText) + sizeof(FfiArray)
        self.references = list(items)
        # Larger members first, so that each is aligned.
        self.memory = calloc(max(count, 1), each)
        if self.memory == NULL:
            raise MemoryError
        values = <FfiArray *>self.memory
        names = <FfiText *>(values + count)
        self.attributes.size = FFI_ATTRIBUTES_SIZE
        self.attributes.count = count
        self.attributes.names = <FfiText **>(names + count)
        self.attributes.values = <void **>(self.attributes.names + count)
        self.attributes.kinds = <int *>(self.attributes.values + count)
        for index in range(count):
            name, kind, value = items[index]
            data = name
            names[index].data, names[index].size = data, len(data)
            self.attributes.names[index] = names + index
            self.attributes.kinds[index] = kind
            self.attributes.values[index] = values + index
            if kind == FFI_DICTIONARY:
                inner = Attributes(value)
                self.references.append(inner)
                self.attributes.values[index] = &inner.attributes
            elif kind == FFI_STRING:
                data = value
                (<FfiText *>(values + index)).data, (<FfiText *>(values + index)).size = data, len(data)
            elif kind == FFI_SCALAR:
                data = value[1]
                (<FfiScalar *>(values + index)).type = value[0]
                (<FfiScalar *>(values + index)).data = <void *><char *>data
            else:
                data = value[2]
                values[index].type, values[index].count = value[0], value[1]
                values[index].data = <void *><char *>data

    def __dealloc__(self):
        free(self.memory)


cdef object _aligned(object array):
    """The array if it is C-contiguous and aligned like XLA's buffers; otherwise such a copy."""
    if cnp.PyArray_IS_C_CONTIGUOUS(array) and not <size_t>cnp.PyArray_DATA(array) % ALIGNMENT:
        return array
    copy = _empty(array.shape, array.dtype)
    copy[...] = array
    return copy


cdef object _empty(object shape, object dtype):
    """An uninitialized array that is aligned like XLA's buffers."""
    return aligned_bytes(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)


cdef class HandlerCall:
    """A call of a handler in a program, with what its first stage has made.

    Args:
        handlers: the address of the handler of each of `STAGES`, 0 where there is none.
        operands, results: the number of the element type and the shape of each.
        arrays: the shape in memory and the dtype of each result.
        attributes: see `Attributes`.
        aliases: the operand of each result that shares its memory.

    Raises:
        HandlerFailure: the first stage failed.
    """

    cdef FfiHandler handlers[FFI_STAGES]
    cdef FfiState instantiated
    cdef tuple operands, results, arrays
    cdef Attributes attributes
    cdef dict aliases

    def __cinit__(self, handlers, operands, results, arrays, attributes, aliases):
        cdef FfiContext context
        cdef FfiFrame frame
        cdef FfiError *error = NULL
        for index in range(FFI_STAGES):
            self.handlers[index] = <FfiHandler><size_t>handlers[index]
        self.operands, self.results, self.arrays = tuple(operands), tuple(results), tuple(arrays)
        self.attributes, self.aliases = Attributes(attributes), dict(aliases)
        self.instantiated.value = NULL
        if self.handlers[<int>FFI_INSTANTIATE] == NULL:
            return
        memset(&context, 0, sizeof(FfiContext))
        context.instantiated = &self.instantiated
        ffi_begin(&frame, &context)
        frame.attributes = self.attributes.attributes
        with nogil:
            error = ffi_call(self.handlers[<int>FFI_INSTANTIATE], &frame, FFI_INSTANTIATE)
        _raise(error)

    def __dealloc__(self):
        _delete(&self.instantiated)

    def __call__(self, *inputs):
        """The results, a tuple of arrays.

        Raises:
            HandlerFailure: a stage failed.
        """
        cdef list arrays = [_aligned(array) for array in inputs]
        cdef list results = []
        for index, (shape, dtype) in enumerate(self.arrays):
            result = _empty(shape, dtype)
            if index in self.aliases:
                result[...] = inputs[self.aliases[index]]
                arrays[self.aliases[index]] = result
            results.append(result)
        self.run(arrays, results)
        return tuple(results)

    cdef int run(self, list arrays, list results) except -1:
        cdef FfiContext context
        cdef FfiFrame frame
        cdef FfiError *error = NULL
        cdef int stage
        cdef Py_ssize_t count = len(arrays) + len(results), dims = 0
        cdef char *memory
        cdef int64_t *sizes
        cdef int *kinds
        cdef void **pointers
        cdef FfiBuffer *buffers
        for _, shape in self.operands + self.results:
            dims += len(shape)
        memory = <char *>calloc(
            count * (sizeof(FfiBuffer) + sizeof(void *) + sizeof(int)) + dims * sizeof(int64_t) + 1, 1
        )
        if memory == NULL:
            raise MemoryError
        buffers = <FfiBuffer *>memory
        pointers = <void **>(buffers + count)
        sizes = <int64_t *>(pointers + count)
        kinds = <int *>(sizes + dims)
        memset(&context, 0, sizeof(FfiContext))
        context.instantiated, context.run = &self.instantiated, next(_runs)
        ffi_begin(&frame, &context)
        frame.attributes = self.attributes.attributes
        frame.arguments.count, frame.results.count = len(arrays), len(results)
        frame.arguments.kinds, frame.results.kinds = kinds, kinds + len(arrays)
        frame.arguments.buffers, frame.results.buffers = pointers, pointers + len(arrays)
        for index, (array, (kind, shape)) in enumerate(zip(arrays + results, self.operands + self.results)):
            kinds[<Py_ssize_t>index], pointers[<Py_ssize_t>index] = FFI_BUFFER, buffers
            buffers.size, buffers.type, buffers.rank = FFI_BUFFER_SIZE, kind, len(shape)
            buffers.data, buffers.dims = cnp.PyArray_DATA(array), sizes
            for extent in shape:
                sizes[0] = extent
                sizes += 1
            buffers += 1
        with nogil:
            for stage in range(FFI_INSTANTIATE + 1, FFI_STAGES):
                if self.handlers[stage] != NULL and error == NULL:
                    error = ffi_call(self.handlers[stage], &frame, stage)
        _delete(&context.initialized)
        _delete(&context.prepared)
        free(memory)
        return _raise(error)
