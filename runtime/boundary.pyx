# cython: language_level=3, boundscheck=False, wraparound=False
"""The boundary between a program and its caller: the check of inputs, the call, and the ownership of results."""

cimport numpy as cnp
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject

import numpy as np

from .errors import ExecutionError
from .executor import Donated, donated
from .float_errors import ERRORS_IGNORED, without_warnings
from .memory import limited, run_with
from .types import TokenType, TupleType, TupleValue

cnp.import_array()


cpdef bint fit_as_they_are(tuple inputs, tuple dtypes, tuple shapes) except -1:
    """Whether each input is an array of the expected element type and shape, without negative strides.

    Args:
        inputs: the caller's inputs.
        dtypes, shapes: of each input; None if it is no tensor.
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
    """Add the memory of a value, or of the elements of a tuple, to `roots`."""
    cdef object root
    if isinstance(value, TupleValue):
        for one in value:
            _add_roots(one, roots)
    else:
        root = _root(value)
        roots.add(<size_t><PyObject*>root)


def with_donations(tuple inputs, numbers):
    """The inputs as a list, in which new arrays that the run owns have the memory of the donated inputs.

    Args:
        inputs: values that fit.
        numbers: the donated inputs. An input that shares memory with another one, or is no C-contiguous and
            writeable array, is not donated.
    """
    cdef list passed = list(inputs)
    cdef list roots = [memory_of((value,)) for value in inputs]
    cdef Py_ssize_t index, other
    for index in numbers:
        value = passed[index]
        if type(value) is not cnp.ndarray or not cnp.PyArray_ISCARRAY(<cnp.ndarray>value):
            continue
        if all([roots[index].isdisjoint(roots[other]) for other in range(len(passed)) if other != index]):
            passed[index] = donated(value)
    return passed


def memory_of(values):
    """The memory of values, as `owned` takes it."""
    cdef set roots = set()
    for value in values:
        _add_roots(value, roots)
    return roots


cpdef list owned(list results, tuple types, arguments, set constants):
    """Results that the caller may keep and write to: contiguous, sharing memory with nothing else.

    Args:
        results: the values of a run, to which only values that share their memory refer.
        types: their types.
        arguments: the arguments of the run.
        constants: the memory of the program's constants, from `memory_of`.

    Returns:
        A list of arrays, tokens and plain tuples.
    """
    cdef set shared = None
    cdef list own = []
    cdef Py_ssize_t index
    for index in range(len(results)):
        if _is_alone(PyList_GET_ITEM(results, index)):
            own.append(results[index])
            continue
        if shared is None:
            shared = memory_of(arguments) | constants
        own.append(_owned(results[index], types[index], shared))
    return own


cdef class ProgramCall:
    """Calls a program with arguments that fit.

    It is one Cython class because each Python function in between takes a tenth of a microsecond, and 5 to 10 after a
    program whose values have replaced the interpreter's in the caches.

    Args:
        run: see `Runner.run`.
        types, constants: see `owned`.
        donated: the numbers of the arguments that a run may consume.
        wake: called before a run, such as `wake_workers`; None: nothing is.
        handler, retention: the first and the last argument of `run_with`; without a handler, NumPy allocates.
        max_bytes: the memory that a run may use; it replaces `handler`.
        new_state: makes the context in which a run has its `call_state`; None: it needs none.
        new_limits: makes the `Limits` of a run; None: there are none.
    """

    cdef object run, wake, handler, retention, max_bytes, new_state, new_limits, variable, ignored
    cdef tuple types
    cdef set constants
    cdef list donated

    def __init__(
        self, run, types, constants, *, donated=(), wake=None, handler=None, retention=None, max_bytes=None,
        new_state=None, new_limits=None,
    ):
        self.run, self.types, self.constants, self.donated = run, types, constants, list(donated)
        self.wake, self.handler, self.retention, self.max_bytes = wake, handler, retention, max_bytes
        self.new_state, self.new_limits = new_state, new_limits
        self.variable, self.ignored = ERRORS_IGNORED or (None, None)

    def under(self, new_limits):
        """The same call with other limits."""
        return ProgramCall(
            self.run, self.types, self.constants, donated=self.donated, wake=self.wake, handler=self.handler,
            retention=self.retention, max_bytes=self.max_bytes, new_state=self.new_state, new_limits=new_limits,
        )

    cpdef list results(self, tuple arguments):
        """The results, which belong to the caller.

        Raises:
            ExecutionError: the run failed, or there is no memory for the results.
        """
        if self.wake is not None:
            self.wake()
        if self.variable is None:
            return without_warnings(self._results, arguments)
        before = PyContextVar_Set(self.variable, self.ignored)
        try:
            return self._results(arguments)
        finally:
            PyContextVar_Reset(self.variable, before)

    cpdef list _results(self, tuple arguments):
        """The results, with the state of a call if it needs one."""
        if self.new_state is None:
            return self._results_within_memory(arguments)
        with self.new_state():
            return self._results_within_memory(arguments)

    cdef list _results_within_memory(self, tuple arguments):
        cdef object handler = self.handler if self.max_bytes is None else limited(self.max_bytes)
        if handler is None:
            return self._owned_results(arguments)
        return run_with(handler, self._owned_results, arguments, self.retention)

    cpdef list _owned_results(self, tuple arguments):
        cdef object inputs = with_donations(arguments, self.donated) if self.donated else arguments
        cdef list results = self.run(inputs, None if self.new_limits is None else self.new_limits())
        try:
            return owned(results, self.types, arguments, self.constants)
        except MemoryError as error:
            raise ExecutionError(f"no memory for the results: {error}") from error


cdef class DirectCall:
    """Calls a program with any inputs.

    Args:
        dtypes, shapes: see `fit_as_they_are`.
        call: is called with inputs that fit as they are.
        other: is called with all other inputs.
    """

    cdef tuple dtypes, shapes
    cdef ProgramCall call
    cdef object other

    def __init__(self, dtypes, shapes, ProgramCall call, other=None):
        self.dtypes, self.shapes, self.call, self.other = dtypes, shapes, call, other

    def __call__(self, *inputs):
        """The results, which belong to the caller.

        Raises:
            ExecutionError: inputs do not fit, or the run failed.
        """
        cdef list results = self.results_if_fit(inputs)
        return self.other(*inputs) if results is None else results

    cpdef list results_if_fit(self, tuple inputs):
        """The results, which belong to the caller; None if the inputs do not fit as they are.

        Raises:
            ExecutionError: the run failed.
        """
        if len(inputs) != len(self.shapes) or not fit_as_they_are(inputs, self.dtypes, self.shapes):
            return None
        return self.call.results(inputs)


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
        is_unshared = cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and key not in shared
        if is_unshared and (isinstance(root, cnp.ndarray) or type(root) is Donated):
            shared.add(key)
            return value
        return np.array(value, order="C")
    if isinstance(value_type, TupleType):
        return tuple([_owned(one, one_type, shared) for one, one_type in zip(value, value_type.types)])
    if isinstance(value_type, TokenType):
        return value
    return np.array(value, order="C")
