# Whether nothing else refers to an object. The executor, `boundary`, `dlpack` and `while_loop` include this file and
# have `PyObject`.
#
# All callers ask for the object of a C list, of a variable in C, or of an array's base, which owns the one reference.
# So references that CPython 3.14 only borrows, from a local variable to its stack, are never the ones that are missing
# here: the variable owns one. Free-threaded builds count the references of several threads apart; before 3.14 there is
# no function for it, and the answer is no.

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030E0000
    #define is_uniquely_referenced(object) PyUnstable_Object_IsUniquelyReferenced(object)
    #elif defined(Py_GIL_DISABLED)
    #define is_uniquely_referenced(object) ((void)(object), 0)
    #else
    #define is_uniquely_referenced(object) (Py_REFCNT(object) == 1)
    #endif
    """
    bint is_uniquely_referenced(PyObject *object)
