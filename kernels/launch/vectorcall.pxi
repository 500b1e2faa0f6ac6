# Calls of Cython classes without a tuple of the arguments (PEP 590), which Cython itself offers for functions only.
# A class that includes this sets its member of type `Vectorcall` in `__cinit__`, and its module enables it.

from cpython.object cimport PyObject

cdef extern from *:
    """
    static void enable_vectorcall(PyObject *type, Py_ssize_t offset) {
        ((PyTypeObject *)type)->tp_vectorcall_offset = offset;
        ((PyTypeObject *)type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified((PyTypeObject *)type);
    }
    #define tuple_items(tuple) ((PyObject *const *)PySequence_Fast_ITEMS(tuple))
    """
    ctypedef object (*Vectorcall "vectorcallfunc")(object, PyObject *const *, size_t, PyObject *)
    # `offset`: of the member of type `Vectorcall` in an instance.
    void enable_vectorcall(object type, Py_ssize_t offset)
    PyObject *const *tuple_items(tuple values)
    Py_ssize_t PyVectorcall_NARGS(size_t count)
