# cython: language_level=3
"""The inner loops of NumPy's ufuncs, by the addresses of their functions and of the functions' data.

NumPy has no public function that gives them, so they are read from the object of a ufunc, whose first fields NumPy 2
declares in ufuncobject.h. NumPy's own declarations for Cython changed in 2.5, hence this module has its own. At import
it makes a ufunc by NumPy's public function, and looks whether the fields hold what the ufunc was made of. Each ufunc's
numbers are also compared with its public attributes. Where they differ a ufunc has no loops here, and callers call the
ufunc itself.
"""

cimport numpy as cnp
from libc.stddef cimport size_t

import numpy as np

cnp.import_array()
cnp.import_ufunc()

cdef extern from *:
    """
    /* The head of NumPy 2's PyUFuncObject, as ufuncobject.h of 2.0 to 2.5 has it. */
    typedef struct {
        PyObject_HEAD
        int nin, nout, nargs, identity;
        void **functions;
        void *const *data;
        int ntypes, flags;
        const char *name;
        const char *types;
    } UfuncFields;
    """
    ctypedef struct UfuncFields:
        int nin, nout, nargs
        void **functions
        void **data
        int ntypes
        const char *name
        const char *types

cdef cnp.PyUFuncGenericFunction _probe_functions[1]
cdef void *_probe_data[1]
cdef char _probe_types[3]
cdef const char *_probe_name = "probe"


cdef void _do_nothing(char **arrays, const cnp.npy_intp *counts, const cnp.npy_intp *strides, void *data) noexcept:
    """The inner loop of the ufunc of `probe`."""


def probe():
    """A ufunc that NumPy made of the static arrays of this module."""
    _probe_functions[0] = <cnp.PyUFuncGenericFunction>_do_nothing
    _probe_types[:] = [cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_DOUBLE]
    return cnp.PyUFunc_FromFuncAndData(
        _probe_functions, _probe_data, _probe_types, 1, 2, 1, cnp.PyUFunc_None, _probe_name, "Does nothing.", 0
    )


def has_fields_of_probe(function) -> bool:
    """Whether the fields of a ufunc, where this module reads them, hold what `probe` was made of."""
    cdef UfuncFields *fields
    if np.ufunc.__basicsize__ < sizeof(UfuncFields):
        return False
    fields = <UfuncFields *><void *>function
    return (
        (fields.nin, fields.nout, fields.nargs, fields.ntypes) == (2, 1, 3, 1)
        and <void *>fields.functions == <void *>_probe_functions
        and <void *>fields.data == <void *>_probe_data
        and fields.name == _probe_name
        and fields.types == <const char *>_probe_types
    )


HAS_LOOPS = has_fields_of_probe(probe())
"""Whether the loops of ufuncs can be read with the NumPy that is installed."""


def has_known_fields(function) -> bool:
    """Whether a ufunc's fields lie where this module reads them: its numbers and types are the public ones."""
    if not HAS_LOOPS or not isinstance(function, np.ufunc):
        return False
    cdef UfuncFields *fields = <UfuncFields *><void *>function
    counts = (fields.nin, fields.nout, fields.nargs, fields.ntypes)
    if counts != (function.nin, function.nout, function.nargs, function.ntypes):
        return False
    if fields.ntypes and (fields.types == NULL or fields.functions == NULL or fields.data == NULL):
        return False
    try:
        numbers = [number for text in function.types for number in _numbers(text)]
    except TypeError:
        # The character of an element type that another package defines.
        return False
    return [fields.types[index] for index in range(fields.ntypes * fields.nargs)] == numbers


# It refers to the ufuncs: callers keep the addresses, which belong to them.
cdef dict _loops = {}


def loop_of(function, tuple dtypes):
    """The addresses of a ufunc's inner loop for these operand and result types and of the loop's data; None if it has
    no such loop."""
    return _loops_by_types(function).get(tuple([dtype.num for dtype in dtypes]))


def loop_for(function, tuple operands):
    """The loop for operands of these type numbers: its addresses, as `loop_of` gives them, and its results' numbers.

    Returns:
        (function, data, (result type numbers...)); None if there is no loop for exactly these types.
    """
    for types, loop in _loops_by_types(function).items():
        if types[: function.nin] == operands:
            return *loop, types[function.nin :]
    return None


def loops_of(function):
    """The addresses of all inner loops of a ufunc and of their data, as `loop_of` gives them."""
    return list(_loops_by_types(function).values())


cdef dict _loops_by_types(object function):
    """The loops of a ufunc by the type numbers of operands and results, in NumPy's order."""
    cdef UfuncFields *fields
    cdef int number
    if not HAS_LOOPS:
        return {}
    loops = _loops.get(function)
    if loops is None:
        loops = {}
        if has_known_fields(function):
            fields = <UfuncFields *><void *>function
            for number, text in enumerate(function.types):
                if fields.functions[number] != NULL:
                    loop = (<size_t>fields.functions[number], <size_t>fields.data[number])
                    loops.setdefault(_numbers(text), loop)
        _loops[function] = loops
    return loops


cdef tuple _numbers(str types):
    """The type numbers of operands and results in an entry of `ufunc.types`, such as ``ff->f``."""
    return tuple([np.dtype(character).num for character in types.replace("->", "")])
