# cython: language_level=3, boundscheck=False, wraparound=False
"""The boundary between a program and its caller: which inputs fit as they are, and who owns the results."""

cimport numpy as cnp
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject

import numpy as np

from .errors import ExecutionError
from .executor import Donated, donated
from .memory import run_with
from .types import TokenType, TupleType, TupleValue

cnp.import_array()


cpdef bint fit_as_they_are(tuple inputs, tuple dtypes, tuple shapes) except -1:
    """Whether each input is a plain array of the wanted element type and shape, without negative strides.

    Args:
        inputs: what the caller passed.
        dtypes, shapes: for each input, None where it is no tensor.
    """
    cdef Py_ssize_t index, axis
    cdef object value, shape
    cdef cnp.ndarray array
    for index in range(len(inputs)):
        value = inputs[index]
        shape = shapes[index]
        if type(value) is not cnp.ndarray or shape is None:
            return False
        array = <cnp.ndarray>value
        if <PyObject*>cnp.PyArray_DESCR(array) != <PyObject*>dtypes[index]:
            return False
        if cnp.PyArray_NDIM(array) != len(<tuple>shape):
            return False
        for axis in range(len(<tuple>shape)):
            if cnp.PyArray_DIM(array, axis) != <Py_ssize_t>((<tuple>shape)[axis]):
                return False
            if cnp.PyArray_STRIDE(array, axis) < 0:
                return False
    return True


cdef object _root(object value):
    """The object that owns an array's memory."""
    cdef PyObject* base
    while isinstance(value, cnp.ndarray):
        base = cnp.PyArray_BASE(<cnp.ndarray>value)
        if base == NULL:
            break
        value = <object>base
    return value


cdef _add_roots(object value, set roots):
    """Enter the memory that a value, or the parts of a tuple, stands in."""
    cdef object root
    if isinstance(value, TupleValue):
        for part in value:
            _add_roots(part, roots)
    else:
        root = _root(value)
        roots.add(<size_t><PyObject*>root)


def with_donations(tuple inputs, numbers):
    """The inputs as a list in which those that may be consumed are arrays of the run's own, in the same memory.

    Args:
        inputs: values that fit.
        numbers: which may be consumed. Those that share memory with another input, or are no C-contiguous and
            writeable arrays, stay as they are.
    """
    cdef list given = list(inputs)
    cdef list roots = [memory_of((value,)) for value in inputs]
    cdef Py_ssize_t index, other
    for index in numbers:
        value = given[index]
        if type(value) is not cnp.ndarray or not cnp.PyArray_ISCARRAY(<cnp.ndarray>value):
            continue
        if all([roots[index].isdisjoint(roots[other]) for other in range(len(given)) if other != index]):
            given[index] = donated(value)
    return given


def memory_of(values):
    """The memory that values stand in, in the form that `owned` takes."""
    cdef set roots = set()
    for value in values:
        _add_roots(value, roots)
    return roots


cpdef list owned(list results, tuple types, arguments, set constants):
    """Results that the caller may keep and write to: contiguous, sharing memory with nothing else.

    Args:
        results: values of a run, to which nothing else holds on but who shares their memory.
        types: their types.
        arguments: what the run was given.
        constants: memory of the program, as `memory_of` tells it.

    Returns:
        A list of arrays, tokens, and for tuples plain tuples.
    """
    cdef set shared = None
    cdef list given = []
    cdef Py_ssize_t index
    for index in range(len(results)):
        if _is_alone(PyList_GET_ITEM(results, index)):
            given.append(results[index])
            continue
        if shared is None:
            shared = memory_of(arguments) | constants
        given.append(_owned(results[index], types[index], shared))
    return given


cdef class DirectCall:
    """Calls a program whose runs need nothing but their arguments.

    It does in one function what `Executable.__call__` and `Program.run` do in eight. Each of these takes a tenth of a
    microsecond, and 5 to 10 after a program whose values have taken the place of the interpreter's in the caches.

    Args:
        dtypes, shapes: see `fit_as_they_are`.
        run: see `Runner.run`.
        types, constants: see `owned`.
        errors_ignored: NumPy's context variable of floating-point errors, and its value while it ignores them.
        prepare: called before a run; None: nothing is.
        memory: the first and the last argument of `run_with`; None: runs are not within it.
        other: is called with inputs that do not fit as they are.
    """

    cdef tuple dtypes, shapes, types
    cdef object run, variable, ignored, prepare, memory, other
    cdef set constants

    def __init__(self, dtypes, shapes, run, types, constants, errors_ignored, prepare, tuple memory, other=None):
        self.dtypes, self.shapes, self.run = dtypes, shapes, run
        self.types, self.constants = types, constants
        self.variable, self.ignored = errors_ignored
        self.prepare, self.memory, self.other = prepare, memory, other

    def __call__(self, *inputs):
        """The results, which belong to the caller.

        Raises:
            ExecutionError: inputs do not fit, or the run failed.
        """
        cdef list results = self.results_if_fit(inputs)
        return self.other(*inputs) if results is None else results

    cpdef list results_if_fit(self, tuple inputs):
        """The results, which belong to the caller; None where the inputs do not fit as they are.

        Raises:
            ExecutionError: the run failed.
        """
        if len(inputs) != len(self.shapes) or not fit_as_they_are(inputs, self.dtypes, self.shapes):
            return None
        if self.prepare is not None:
            self.prepare()
        before = PyContextVar_Set(self.variable, self.ignored)
        try:
            if self.memory is None:
                return self.results(inputs)
            return run_with(self.memory[0], self.results, inputs, self.memory[1])
        finally:
            PyContextVar_Reset(self.variable, before)

    cpdef list results(self, tuple inputs):
        """The results for inputs that fit."""
        return results_of(self.run, inputs, None, self.types, inputs, self.constants)


cpdef list results_of(object run, object inputs, object limits, tuple types, tuple arguments, set constants):
    """Run a program.

    Args:
        run: see `Runner.run`.
        inputs: what the run is given, a tuple or list.
        limits: `Limits`, or None.
        types, arguments, constants: see `owned`.

    Returns:
        The results, which belong to the caller.

    Raises:
        ExecutionError: the run failed, or there is no memory for the results.
    """
    cdef list results = run(inputs, limits)
    try:
        return owned(results, types, arguments, constants)
    except MemoryError as error:
        raise ExecutionError(f"no memory for the results: {error}") from error


cdef inline bint _is_alone(PyObject *value):
    """Whether a value is a contiguous array with memory of its own that nothing but a list refers to."""
    if value.ob_refcnt != 1 or type(<object>value) is not cnp.ndarray:
        return False
    return cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and cnp.PyArray_CHKFLAGS(
        <cnp.ndarray>value, cnp.NPY_ARRAY_OWNDATA
    )


cdef object _owned(object value, object value_type, set shared):
    cdef object root
    cdef size_t key
    if type(value) is cnp.ndarray:
        root = _root(value)
        key = <size_t><PyObject*>root
        is_whole = cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and key not in shared
        if is_whole and (isinstance(root, cnp.ndarray) or type(root) is Donated):
            shared.add(key)
            return value
        return np.array(value, order="C")
    if isinstance(value_type, TupleType):
        return tuple([_owned(part, part_type, shared) for part, part_type in zip(value, value_type.types)])
    if isinstance(value_type, TokenType):
        return value
    return np.array(value, order="C")
