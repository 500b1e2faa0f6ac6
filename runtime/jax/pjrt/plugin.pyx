# cython: language_level=3, boundscheck=False, wraparound=False
"""The table of functions that PJRT calls.

A function of the table may be called by any thread, with or without the GIL. Those that need it take it
by `with gil`, unless the interpreter is shutting down. References to Python objects are given up by `drop`, which
never waits for the GIL.
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
from .client import (
    MEMORY_KINDS,
    device_count,
    platform_version,
    require_one_process,
    stablehlo_version,
    topology_size,
)
from .element_types import DTYPES
from .failures import describe
from .compilation import compile_program, deserialize_program

cnp.import_array()

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define nimblehlo_is_finalizing() Py_IsFinalizing()
    #else
    #define nimblehlo_is_finalizing() _Py_IsFinalizing()
    #endif
    /* The functions of the table, and of the extensions, are reached through entry points. These refuse an argument
       structure that ends before the last field that its function needs, since the caller has another version of PJRT,
       and calls of functions that need Python while the interpreter is shutting down. */
    static struct { void *(*function)(void *args); size_t size; int needs_python; } nimblehlo_functions[150];
    static void *(*nimblehlo_refuse)(void);
    static void *(*nimblehlo_begin)(void);
    static void *nimblehlo_call_with_python(int number, void *args) {
        void *error = nimblehlo_begin();
        return error ? error : nimblehlo_functions[number].function(args);
    }
    #define NIMBLEHLO_ENTRY_POINT(n) static void *nimblehlo_entry_point_##n(void *args) { \
        if (*(size_t *)args < nimblehlo_functions[n].size) return nimblehlo_refuse(); \
        if (nimblehlo_functions[n].needs_python) return nimblehlo_call_with_python(n, args); \
        return nimblehlo_functions[n].function(args); }
    #define NIMBLEHLO_NAME(n) nimblehlo_entry_point_##n,
    #define NIMBLEHLO_TEN(m, t) m(t##0) m(t##1) m(t##2) m(t##3) m(t##4) m(t##5) m(t##6) m(t##7) m(t##8) m(t##9)
    #define NIMBLEHLO_ALL(m) NIMBLEHLO_TEN(m,) NIMBLEHLO_TEN(m, 1) NIMBLEHLO_TEN(m, 2) NIMBLEHLO_TEN(m, 3) \
        NIMBLEHLO_TEN(m, 4) NIMBLEHLO_TEN(m, 5) NIMBLEHLO_TEN(m, 6) NIMBLEHLO_TEN(m, 7) NIMBLEHLO_TEN(m, 8) \
        NIMBLEHLO_TEN(m, 9) NIMBLEHLO_TEN(m, 10) NIMBLEHLO_TEN(m, 11) NIMBLEHLO_TEN(m, 12) NIMBLEHLO_TEN(m, 13) \
        NIMBLEHLO_TEN(m, 14)
    NIMBLEHLO_ALL(NIMBLEHLO_ENTRY_POINT)
    static void *(*const nimblehlo_entry_points[])(void *args) = { NIMBLEHLO_ALL(NIMBLEHLO_NAME) };
    static void *nimblehlo_entry_point_of(int number, void *function, size_t size, int needs_python) {
        nimblehlo_functions[number].function = (void *(*)(void *))function;
        nimblehlo_functions[number].size = size;
        nimblehlo_functions[number].needs_python = needs_python;
        return (void *)nimblehlo_entry_points[number];
    }
    #define nimblehlo_entry_point(number, function, last) \
        nimblehlo_entry_point_of(number, function, (size_t)((last) + 1), 0)
    static void **nimblehlo_slots;
    #define nimblehlo_offer(slot, function, last) (nimblehlo_slots[slot] = nimblehlo_entry_point(slot, function, last))
    #define nimblehlo_offer_python(slot, function, last) \
        (nimblehlo_slots[slot] = nimblehlo_entry_point_of(slot, function, (size_t)((last) + 1), 1))
    static void nimblehlo_begin_table(void **slots, void *refuse, void *begin) {
        nimblehlo_slots = slots;
        nimblehlo_refuse = (void *(*)(void))refuse;
        nimblehlo_begin = (void *(*)(void))begin;
    }
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
    void begin_table "nimblehlo_begin_table"(void **slots, void *refuse, void *begin) nogil
    void *entry_point "nimblehlo_entry_point"(int number, void *function, const void *last) nogil
    void offer "nimblehlo_offer"(int slot, void *function, const void *last) nogil
    void offer_python "nimblehlo_offer_python"(int slot, void *function, const void *last) nogil
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
    int PyThreadState_SetAsyncExc(unsigned long thread, PyObject *exception)
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
    MAX_ELEMENT_TYPES = 40

cdef size_t ITEM_BYTES[MAX_ELEMENT_TYPES]
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


cdef void retain(Py_ssize_t *references) noexcept nogil:
    """Count one more holder of an object."""
    take_lock()
    references[0] += 1
    release_lock()


cdef bint release(Py_ssize_t *references) noexcept nogil:
    """Count one holder of an object less; whether it was the last one."""
    cdef bint is_last
    take_lock()
    references[0] -= 1
    is_last = references[0] == 0
    release_lock()
    return is_last


cdef void free_holder(void *holder) noexcept nogil:
    """Free the memory of a returned value, after the caller has read it."""
    free(holder)


cdef object dtype_of(int element_type):
    """The dtype of a PJRT element type.

    Raises:
        UnsupportedError: none stands for it.
    """
    dtype = _DTYPES[element_type] if 0 <= element_type < len(_DTYPES) else None
    if dtype is None:
        raise UnsupportedError(f"PJRT's element type {element_type} is not supported")
    return dtype


cdef object empty_array(int element_type, const int64_t *dims, size_t rank):
    """An uninitialized array."""
    return np.empty([dims[axis] for axis in range(rank)], dtype_of(element_type))


cdef inline void *array_data(PyObject *array) noexcept nogil:
    return cnp.PyArray_DATA(<cnp.ndarray>array)


include "abi.pxi"

cdef Api API

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


cdef Error *plugin_initialize(HandleArgs *args) noexcept nogil:
    return NULL


cdef int64_t STABLEHLO_VERSION[3]
cdef NamedValue ATTRIBUTES[1]


cdef Error *plugin_attributes(PluginAttributesArgs *args) noexcept nogil:
    args.attributes = ATTRIBUTES
    args.count = 1
    return NULL


cdef bint _is_named(const NamedValue *option, const char *name) noexcept nogil:
    """Whether an option is an integer of that name."""
    return (
        option.value_kind == VALUE_INT64 and option.name_size == strlen(name)
        and strncmp(option.name, name, option.name_size) == 0
    )


cdef Error *client_create(ClientCreateArgs *args) noexcept with gil:
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


cdef void _fill_plugin_slots() except *:
    cdef int index
    for index in range(3):
        STABLEHLO_VERSION[index] = stablehlo_version()[index]
    ATTRIBUTES[0].header.struct_size = sizeof(NamedValue)
    ATTRIBUTES[0].name = b"stablehlo_current_version"
    ATTRIBUTES[0].name_size = strlen(ATTRIBUTES[0].name)
    ATTRIBUTES[0].value_kind = VALUE_INT64_LIST
    ATTRIBUTES[0].value = <int64_t>STABLEHLO_VERSION
    ATTRIBUTES[0].value_size = 3
    API.slots[<int>SLOT_Plugin_Initialize] = <void *>plugin_initialize
    offer(SLOT_Plugin_Attributes, <void *>plugin_attributes, &(<PluginAttributesArgs *>NULL).count)
    offer_python(SLOT_Client_Create, <void *>client_create, &(<ClientCreateArgs *>NULL).client)


cdef void _fill_table() except *:
    cdef int index
    API.header.struct_size = <size_t>&API.later_slots - <size_t>&API
    API.version.header.struct_size = <size_t>(&API.version.minor + 1) - <size_t>&API.version
    API.version.major = API_MAJOR
    API.version.minor = API_MINOR
    begin_table(API.slots, <void *>short_structure, <void *>begin_python)
    for index in range(SLOTS):
        API.slots[index] = <void *>unimplemented
    for index in range(LATER_SLOTS):
        API.later_slots[index] = <void *>unimplemented
    for index in range(len(_DTYPES)):
        ITEM_BYTES[index] = 0 if _DTYPES[index] is None else _DTYPES[index].itemsize
    fill_error_table()
    fill_event_slots()
    fill_device_slots()
    fill_buffer_slots()
    fill_executable_slots()
    fill_extensions()
    fill_execution_slots()
    fill_topology_slots()
    _fill_plugin_slots()


_fill_table()


cdef public const void *GetPjrtApi() noexcept nogil:
    """The table, for clients that load this library; NULL if Python cannot import the module, and says why."""
    if API.header.struct_size == 0 and not import_plugin():
        return NULL
    return &API


def api_capsule():
    """The table in the form that `jaxlib.xla_client.load_pjrt_plugin_with_c_api` takes."""
    return PyCapsule_New(&API, b"pjrt_c_api", NULL)
