# cython: language_level=3, boundscheck=False, wraparound=False
"""The table of functions that PJRT calls.

A function of the table may be called by any thread, with or without Python's lock. Those that need the lock take it
by `with gil`, unless the interpreter is shutting down. References to Python objects are given up by `drop`, which
never waits for the lock.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetInterrupt
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.time cimport PyTime_PerfCounterRaw
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM, PyTuple_SetItem
from libc.stdint cimport int64_t, intptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport abort, calloc, free, malloc, realloc
from libc.string cimport memcpy, memset, strdup, strlen, strncmp

import atexit
import os

import numpy as np

from ...errors import ExecutionError, UnsupportedError
from .client import device_count, platform_version, require_one_process, stablehlo_version
from .element_types import DTYPES
from .failures import describe
from .program import compile_program, deserialize_program

cnp.import_array()

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define nimblehlo_is_finalizing() Py_IsFinalizing()
    #else
    #define nimblehlo_is_finalizing() _Py_IsFinalizing()
    #endif
    /* Whether an argument structure ends before the field that `last` points to does. */
    #define nimblehlo_lacks(args, last) ((args)->header.struct_size < (size_t)((const char *)((last) + 1) - (const char *)(args)))
    /* Start Python where there is none, and fill the table by importing this module. False if that fails. */
    static int nimblehlo_import(void) {
        PyObject *module;
        PyGILState_STATE state;
        int starts = !Py_IsInitialized();
        if (starts)
            Py_InitializeEx(0);
        state = PyGILState_Ensure();
        module = PyImport_ImportModule("nimblehlo.jax.pjrt.plugin");
        if (module == NULL)
            PyErr_Print();
        Py_XDECREF(module);
        PyGILState_Release(state);
        if (starts)
            PyEval_SaveThread();
        return module != NULL;
    }
    #define nimblehlo_new_array(dtype, rank, dims, strides, data, flags) PyArray_NewFromDescr( \
        &PyArray_Type, (PyArray_Descr *)(dtype), rank, dims, strides, data, flags, NULL)
    #define nimblehlo_copy_array(array) PyArray_NewCopy((PyArrayObject *)(array), NPY_CORDER)
    /* Held for a few instructions at a time, never while anything else is waited for. Python's own locks read the
       clock each time they are taken, before Python 3.12. */
    #if defined(_WIN32)
    #include <windows.h>
    static SRWLOCK nimblehlo_lock = SRWLOCK_INIT;
    static void nimblehlo_take_lock(void) { AcquireSRWLockExclusive(&nimblehlo_lock); }
    static void nimblehlo_release_lock(void) { ReleaseSRWLockExclusive(&nimblehlo_lock); }
    static void nimblehlo_renew_lock(void) { InitializeSRWLock(&nimblehlo_lock); }
    #else
    #include <pthread.h>
    static pthread_mutex_t nimblehlo_lock = PTHREAD_MUTEX_INITIALIZER;
    static void nimblehlo_take_lock(void) { pthread_mutex_lock(&nimblehlo_lock); }
    static void nimblehlo_release_lock(void) { pthread_mutex_unlock(&nimblehlo_lock); }
    static void nimblehlo_renew_lock(void) { pthread_mutex_init(&nimblehlo_lock, NULL); }
    #endif
    """
    void take_lock "nimblehlo_take_lock"() noexcept nogil
    void release_lock "nimblehlo_release_lock"() noexcept nogil
    void renew_lock "nimblehlo_renew_lock"() noexcept nogil
    bint import_plugin "nimblehlo_import"() nogil
    bint is_finalizing "nimblehlo_is_finalizing"() nogil
    bint lacks "nimblehlo_lacks"(const void *args, const void *last) nogil
    object new_array "nimblehlo_new_array"(
        object dtype, int rank, cnp.npy_intp *dims, cnp.npy_intp *strides, void *data, int flags
    )
    cnp.ndarray copy_array "nimblehlo_copy_array"(object array)

cdef extern from "Python.h":
    ctypedef void *PyThread_type_lock
    ctypedef struct PyThreadState:
        pass
    PyThread_type_lock PyThread_allocate_lock() nogil
    void PyThread_free_lock(PyThread_type_lock lock) nogil
    int PyThread_acquire_lock(PyThread_type_lock lock, int waits) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int interruptible) nogil
    unsigned long PyThread_get_thread_ident() nogil
    unsigned long PyThread_start_new_thread(void (*function)(void *) noexcept nogil, void *argument) nogil
    object PyObject_Call(object function, object arguments, PyObject *keywords)
    int PyGILState_Check() nogil
    int PyGILState_Ensure() nogil
    PyThreadState *PyEval_SaveThread() nogil
    void PyEval_RestoreThread(PyThreadState *state) nogil
    int Py_AddPendingCall(int (*function)(void *) noexcept, void *argument) nogil
    void Py_DecRef(PyObject *value) nogil

cdef enum:
    MAX_RANK = 64
    MAX_KINDS = 40

cdef size_t ITEM_BYTES[MAX_KINDS]
"""Bytes of an element by its PJRT element type; 0 for those that are not supported."""

cdef list _DTYPES = DTYPES
cdef object _TOKEN = np.empty(0, np.bool_)


cdef void abort_for_lack_of_memory() noexcept nogil:
    # Nothing can be told to the caller without memory for an error.
    abort()


cdef void *allocate(size_t size) noexcept nogil:
    """Zeroed memory."""
    cdef void *memory = calloc(1, size if size else 1)
    if memory == NULL:
        abort_for_lack_of_memory()
    return memory


cdef void free_holder(void *holder) noexcept nogil:
    """Free the memory of a returned value, after the caller has read it."""
    free(holder)


cdef object dtype_of(int kind):
    """The dtype of a PJRT element type.

    Raises:
        UnsupportedError: none stands for it.
    """
    dtype = _DTYPES[kind] if 0 <= kind < len(_DTYPES) else None
    if dtype is None:
        raise UnsupportedError(f"PJRT's element type {kind} is not supported")
    return dtype


cdef object empty_array(int kind, const int64_t *dims, size_t rank):
    """An uninitialized array."""
    return np.empty([dims[axis] for axis in range(rank)], dtype_of(kind))


cdef inline void *array_data(PyObject *array) noexcept nogil:
    return cnp.PyArray_DATA(<cnp.ndarray>array)


include "abi.pxi"
include "errors.pxi"
include "events.pxi"
include "references.pxi"
include "devices.pxi"
include "waits.pxi"
include "buffers.pxi"
include "layouts.pxi"
include "executables.pxi"
include "extensions.pxi"
include "workers.pxi"
include "execution.pxi"
include "topology.pxi"

cdef Api API


cdef Error *plugin_initialize(HandleArgs *args) noexcept nogil:
    return NULL


cdef int64_t STABLEHLO_VERSION[3]
cdef NamedValue ATTRIBUTES[1]


cdef Error *plugin_attributes(PluginAttributesArgs *args) noexcept nogil:
    if lacks(args, &args.count):
        return short_structure()
    args.attributes = ATTRIBUTES
    args.count = 1
    return NULL


cdef bint _is_named(const NamedValue *option, const char *name) noexcept nogil:
    """Whether an option is an integer of that name."""
    return (
        option.kind == VALUE_INT64 and option.name_size == strlen(name)
        and strncmp(option.name, name, option.name_size) == 0
    )


cdef Error *_create_client(ClientCreateArgs *args) noexcept with gil:
    cdef bytes version
    cdef size_t index
    try:
        for index in range(args.options_count):
            if _is_named(&args.options[index], b"num_nodes"):
                require_one_process(args.options[index].value)
        version = platform_version().encode()
        args.client = new_client(device_count(), version)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *client_create(ClientCreateArgs *args) noexcept nogil:
    if lacks(args, &args.client):
        return short_structure()
    if not begin_call():
        return shutting_down()
    return _create_client(args)


cdef void _fill_plugin_slots(Api *api) except *:
    cdef int index
    for index in range(3):
        STABLEHLO_VERSION[index] = stablehlo_version()[index]
    ATTRIBUTES[0].header.struct_size = sizeof(NamedValue)
    ATTRIBUTES[0].name = b"stablehlo_current_version"
    ATTRIBUTES[0].name_size = strlen(ATTRIBUTES[0].name)
    ATTRIBUTES[0].kind = VALUE_INT64_LIST
    ATTRIBUTES[0].value = <int64_t>STABLEHLO_VERSION
    ATTRIBUTES[0].value_size = 3
    api.slots[<int>SLOT_Plugin_Initialize] = <void *>plugin_initialize
    api.slots[<int>SLOT_Plugin_Attributes] = <void *>plugin_attributes
    api.slots[<int>SLOT_Client_Create] = <void *>client_create


cdef void _fill_table() except *:
    cdef int index
    API.header.struct_size = sizeof(Api)
    API.version.header.struct_size = <size_t>(&API.version.minor + 1) - <size_t>&API.version
    API.version.major = API_MAJOR
    API.version.minor = API_MINOR
    for index in range(SLOTS):
        API.slots[index] = <void *>unimplemented
    for index in range(len(_DTYPES)):
        ITEM_BYTES[index] = 0 if _DTYPES[index] is None else _DTYPES[index].itemsize
    fill_error_table(&API)
    fill_event_slots(&API)
    fill_device_slots(&API)
    fill_buffer_slots(&API)
    fill_executable_slots(&API)
    fill_extensions(&API)
    fill_execution_slots(&API)
    fill_topology_slots(&API)
    _fill_plugin_slots(&API)


_fill_table()


cdef public const void *GetPjrtApi() noexcept nogil:
    """The table, for clients that load this library; NULL if Python cannot import the module, and says why."""
    if API.header.struct_size == 0 and not import_plugin():
        return NULL
    return &API


def api_capsule():
    """The table in the form that `jaxlib.xla_client.load_pjrt_plugin_with_c_api` takes."""
    return PyCapsule_New(&API, b"pjrt_c_api", NULL)
