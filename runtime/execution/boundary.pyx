# cython: language_level=3, boundscheck=False, wraparound=False
"""The boundary between a program and its caller: the check of inputs, the call, and the ownership of results."""

cimport numpy as cnp
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.list cimport PyList_GET_ITEM
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from functools import partial

import numpy as np

from ..errors import ExecutionError
from .executor import Donated, Runner, donated
from ..compiler.float_errors import ERRSTATE, ignoring_float_errors
from ..compiler.plan.tiering.time_limit import RUNS_UNTIL_DEADLINE
from ..kernels.launch.free_memory import MIN_CHECKED_BYTES as _MIN_CHECKED_BYTES, shortage_of
from .memory import idle_bytes, limited, run_with
from ..types import TokenType, TupleType, TupleValue

cnp.import_array()

cdef Py_ssize_t MIN_CHECKED_BYTES = _MIN_CHECKED_BYTES

include "launch/vectorcall.pxi"
include "launch/unique_reference.pxi"

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)


cdef object _root(object value):
    """The object that owns an array's memory."""
    cdef PyObject* base
    while isinstance(value, cnp.ndarray):
        base = cnp.PyArray_BASE(<cnp.ndarray>value)
        if base == NULL:
            break
        value = <object>base
    return value


cdef int _add_roots(object value, set roots) except -1:
    """Add the memory of a value, or of the elements of a tuple, to `roots`."""
    cdef object root
    if type(value) is not cnp.ndarray and isinstance(value, TupleValue):
        for one in value:
            _add_roots(one, roots)
    else:
        root = _root(value)
        roots.add(<size_t><PyObject*>root)
    return 0


def with_donations(tuple inputs, numbers):
    """The inputs as a list, in which new arrays that the run owns have the memory of the donated inputs.

    Args:
        inputs: values that fit.
        numbers: the donated inputs. An input that shares memory with another one, or is no C-contiguous and
            writeable array, is not donated.
    """
    cdef list passed = list(inputs)
    cdef set shared = _sharing(inputs)
    cdef Py_ssize_t index
    for index in numbers:
        value = passed[index]
        if type(value) is cnp.ndarray and cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and index not in shared:
            passed[index] = donated(value)
    return passed


cdef set _sharing(tuple inputs):
    """The numbers of the inputs that have an owner or bytes of memory in common with another one.

    Two objects may own one memory, which they have by the buffer protocol. A program may have hundreds of inputs, so
    they are not compared in pairs.
    """
    cdef set shared = set()
    cdef dict first = {}
    cdef list ranges = []
    cdef Py_ssize_t index
    for index, value in enumerate(inputs):
        for root in base_addresses((value,)):
            if first.setdefault(root, index) != index:
                shared.update((index, first[root]))
        _add_ranges(value, index, ranges)
    ranges.sort()
    end, last = 0, -1
    for low, high, index in ranges:
        if low < end and index != last:
            shared.update((index, last))
        if high > end:
            end, last = high, index
    return shared


cdef int _add_ranges(object value, Py_ssize_t index, list ranges) except -1:
    """Add the addresses that bound each array of a value, with the number of its input."""
    cdef cnp.ndarray array
    cdef size_t low, high
    cdef Py_ssize_t axis, extent
    if isinstance(value, TupleValue):
        for one in value:
            _add_ranges(one, index, ranges)
    elif isinstance(value, cnp.ndarray) and cnp.PyArray_SIZE(<cnp.ndarray>value):
        array = value
        low = high = <size_t>cnp.PyArray_DATA(array)
        for axis in range(cnp.PyArray_NDIM(array)):
            extent = (cnp.PyArray_DIM(array, axis) - 1) * cnp.PyArray_STRIDE(array, axis)
            if extent > 0:
                high += extent
            else:
                low += extent
        ranges.append((low, high + cnp.PyArray_ITEMSIZE(array), index))
    return 0


cdef bint _is_immutable(object value):
    """Whether nothing can write to an array: neither it nor an array whose memory it has is writeable."""
    cdef PyObject *base
    while isinstance(value, cnp.ndarray):
        if cnp.PyArray_ISWRITEABLE(<cnp.ndarray>value):
            return False
        base = cnp.PyArray_BASE(<cnp.ndarray>value)
        value = None if base == NULL else <object>base
    return True


cdef object _own_copy(object value):
    """A copy of a value to which others may write."""
    if type(value) is cnp.ndarray:
        return value if _is_immutable(value) else cnp.PyArray_NewCopy(<cnp.ndarray>value, cnp.NPY_CORDER)
    return TupleValue([_own_copy(one) for one in value]) if isinstance(value, TupleValue) else value


def base_addresses(values):
    """The addresses of the objects that own the memory of values, which `_owned_all` compares."""
    cdef set roots = set()
    for value in values:
        _add_roots(value, roots)
    return roots


cdef list _owned_all(list results, tuple types, tuple arguments, set constants):
    """Results that the caller may keep and write to: contiguous, sharing memory with nothing else.

    Args:
        results: the values of a run, to which only values that share their memory refer. They are replaced in place.
        types: their types.
        arguments: the arguments of the run.
        constants: the memory of the program's constants, from `base_addresses`.

    Returns:
        A list of arrays, tokens and plain tuples.
    """
    cdef set shared = None
    cdef Py_ssize_t index
    for index in range(len(results)):
        if _is_uniquely_referenced_result(PyList_GET_ITEM(results, index)):
            continue
        if shared is None:
            shared = base_addresses(arguments)
        results[index] = _owned(results[index], types[index], shared, constants)
    return results


cdef class ProgramCall:
    """Calls a program with arguments that fit.

    It is one Cython class because each Python function in between takes a tenth of a microsecond, and 5 to 10 after a
    program whose values have replaced the interpreter's in the caches.

    Args:
        runner: a `Runner`, or anything else with its method `run`.
        types, constants: see `_owned_all`.
        donated: the numbers of the arguments that a run may consume.
        wake: called before a run, such as `wake_workers`; None: nothing is.
        handler, retention: the first and the last argument of `run_with`; without a handler, NumPy allocates.
        max_bytes: the memory that a run may use; it replaces `handler`.
        needed_bytes: the memory that a run takes for results and temporaries; there must be as much before it begins.
        new_state: makes the context in which a run has its `call_state`; None: it needs none.
        new_limits: makes the `Limits` of a run; None: there are none.
        may_be_abandoned: whether a run with a deadline is called on a thread that is abandoned where native code does
            not end in time; see `timed_calls`.
    """

    # Whether the runner is called with the arguments as they are, and whether a run needs nothing besides
    # that call.
    cdef bint is_direct, needs_no_setup, may_be_abandoned
    cdef object runner, wake, handler, retention, max_bytes, new_state, new_limits, variable, ignored
    cdef object compile_until
    cdef Py_ssize_t needed_bytes
    cdef tuple types
    cdef set constants
    cdef list donated

    def __init__(
        self, runner, types, constants, *, donated=(), wake=None, handler=None, retention=None, max_bytes=None,
        needed_bytes=0, new_state=None, new_limits=None, may_be_abandoned=False,
    ):
        self.runner, self.types, self.constants, self.donated = runner, types, constants, list(donated)
        self.wake, self.handler, self.retention, self.max_bytes = wake, handler, retention, max_bytes
        self.new_state, self.new_limits, self.needed_bytes = new_state, new_limits, needed_bytes
        self.may_be_abandoned = may_be_abandoned
        self.variable, self.ignored = ERRSTATE or (None, None)
        self.is_direct = type(runner) is Runner and not self.donated and new_limits is None
        self.needs_no_setup = (
            self.is_direct and wake is None and new_state is None and handler is None and max_bytes is None
        )

    def with_limits(self, new_limits):
        """The same call with other limits."""
        return ProgramCall(
            self.runner, self.types, self.constants, donated=self.donated, wake=self.wake, handler=self.handler,
            retention=self.retention, max_bytes=self.max_bytes, needed_bytes=self.needed_bytes,
            new_state=self.new_state, new_limits=new_limits, may_be_abandoned=self.may_be_abandoned,
        )

    cpdef list run(self, tuple arguments):
        """The results, which belong to the caller.

        Raises:
            ExecutionError: the run failed, or there is no memory for the results.
        """
        if self.needs_no_setup:
            return self._owned_results(arguments)
        if self.wake is not None:
            self.wake()
        if self.is_direct:
            return self._results(arguments, None)
        limits = None if self.new_limits is None else self.new_limits()
        if limits is not None and limits.deadline:
            if self.may_be_abandoned:
                return self._results_until(limits, arguments)
            return self._results_of_bounded_compilations(arguments, limits)
        return self._results_without_float_errors(arguments, limits)

    cdef list _results_until(self, object limits, tuple arguments):
        """The results of a run on a thread that may be abandoned."""
        from .timed_calls import Abandoned, call_until  # most programs have no deadline

        try:
            return call_until(limits.deadline, partial(self._results_from_copies, arguments, limits))
        except Abandoned:
            raise limits.late_in_running_step() from None

    cdef list _results_of_bounded_compilations(self, tuple arguments, object limits):
        """The results of a run on this thread, which waits for code until the deadline."""
        if self.compile_until is None:
            from .timed_calls import compile_until

            self.compile_until = compile_until
        before = PyContextVar_Set(RUNS_UNTIL_DEADLINE, partial(self.compile_until, limits.deadline))
        try:
            return self._results_without_float_errors(arguments, limits)
        finally:
            PyContextVar_Reset(RUNS_UNTIL_DEADLINE, before)

    cpdef list _results_from_copies(self, tuple arguments, object limits):
        """The results from inputs to which no other thread writes: the caller may, once it has its error."""
        try:
            arguments = tuple([_own_copy(value) for value in arguments])
        except MemoryError as error:
            raise ExecutionError(f"no memory for copies of the inputs: {error}") from error
        return self._results_without_float_errors(arguments, limits)

    cpdef list _results_without_float_errors(self, tuple arguments, object limits):
        """The results; NumPy ignores floating-point errors meanwhile."""
        if self.variable is None:
            return ignoring_float_errors(partial(self._results, arguments), limits)
        before = PyContextVar_Set(self.variable, self.ignored)
        try:
            return self._results(arguments, limits)
        finally:
            PyContextVar_Reset(self.variable, before)

    cpdef list _results(self, tuple arguments, object limits):
        """The results, with the state of a call if it needs one."""
        if self.new_state is None:
            return self._results_within_memory(arguments, limits)
        with self.new_state():
            return self._results_within_memory(arguments, limits)

    cdef list _results_within_memory(self, tuple arguments, object limits):
        cdef object handler = self.handler if self.max_bytes is None else limited(self.max_bytes)
        if handler is None:
            return self._owned_results(arguments, limits)
        if self.needed_bytes >= MIN_CHECKED_BYTES:
            self.require_free_memory()
        return run_with(handler, partial(self._owned_results, arguments), limits, self.retention)

    cdef int require_free_memory(self) except -1:
        """Raise where a run would take more memory than there is, since the kernel may end the process that tries."""
        shortage = shortage_of(self.needed_bytes - idle_bytes())
        if shortage is not None:
            raise ExecutionError(f"a call takes {shortage}")
        return 0

    cpdef list _owned_results(self, tuple arguments, object limits=None):
        cdef list results
        if self.is_direct:
            results = <list>PyObject_Vectorcall(self.runner, tuple_items(arguments), len(arguments), NULL)
        else:
            inputs = with_donations(arguments, self.donated) if self.donated else arguments
            results = self.runner.run(inputs, limits)
            del inputs
        try:
            return _owned_all(results, self.types, arguments, self.constants)
        except MemoryError as error:
            raise ExecutionError(f"no memory for the results: {error}") from error


# What an input has to be. `dtype` is NULL if it is no tensor. Arrays that were unpickled have a dtype of their own.
cdef struct ExpectedArray:
    PyObject *dtype
    int type_number
    int rank
    cnp.npy_intp *sizes


cdef class DirectCall:
    """Calls a program with arrays at once where these fit as they are; the base of `Executable`."""

    cdef ProgramCall call
    cdef Py_ssize_t count
    cdef ExpectedArray *expected
    cdef cnp.npy_intp *sizes
    cdef tuple dtypes

    def set_expected_inputs(self, tuple dtypes, tuple shapes, ProgramCall call=None):
        """Set what this calls. It may be done once.

        Args:
            dtypes, shapes: of each input; None if it is no tensor.
            call: is called with inputs that fit as they are; None: `call_converted` takes all inputs.
        """
        cdef Py_ssize_t index, axis
        cdef cnp.npy_intp *sizes
        if self.expected != NULL:
            raise ValueError("the inputs are set already")
        self.expected = <ExpectedArray *>PyMem_Malloc(max(len(dtypes), 1) * sizeof(ExpectedArray))
        rank_sum = sum([len(shape) for shape in shapes if shape is not None])
        self.sizes = sizes = <cnp.npy_intp *>PyMem_Malloc(max(rank_sum, 1) * sizeof(cnp.npy_intp))
        if self.expected == NULL or sizes == NULL:
            raise MemoryError
        for index in range(len(dtypes)):
            if shapes[index] is None:
                self.expected[index] = ExpectedArray(NULL, -1, 0, sizes)
                continue
            self.expected[index] = ExpectedArray(
                <PyObject *>dtypes[index], (<cnp.dtype>dtypes[index]).type_num, len(shapes[index]), sizes
            )
            for axis in range(self.expected[index].rank):
                sizes[axis] = shapes[index][axis]
            sizes += self.expected[index].rank
        self.count, self.dtypes, self.call = len(dtypes), dtypes, call

    def __dealloc__(self):
        PyMem_Free(self.expected)
        PyMem_Free(self.sizes)

    def __call__(self, *inputs):
        """Run it.

        Args:
            inputs: see `execute`.

        Raises:
            ExecutionError: inputs do not fit, or the run failed.
        """
        if self.call is not None and self.fits(inputs):
            return self.call.run(inputs)
        return self.call_converted(*inputs)

    cpdef bint fits(self, tuple inputs) except -1:
        """Whether each input is an array of the expected element type and shape, without negative strides."""
        cdef Py_ssize_t index
        cdef int axis
        cdef PyObject *value
        cdef cnp.ndarray array
        cdef ExpectedArray *expected = self.expected
        if len(inputs) != self.count:
            return False
        for index in range(self.count):
            value = tuple_items(inputs)[index]
            if type(<object>value) is not cnp.ndarray:
                return False
            array = <cnp.ndarray>value
            if <PyObject *>cnp.PyArray_DESCR(array) != expected[index].dtype and not (
                cnp.PyArray_TYPE(array) == expected[index].type_number and cnp.PyArray_ISNOTSWAPPED(array)
            ):
                return False
            if cnp.PyArray_NDIM(array) != expected[index].rank:
                return False
            for axis in range(expected[index].rank):
                if cnp.PyArray_DIM(array, axis) != expected[index].sizes[axis]:
                    return False
                if cnp.PyArray_STRIDE(array, axis) < 0:
                    return False
        return True


cdef inline bint _is_uniquely_referenced_result(PyObject *value):
    """Whether a value is a contiguous array with memory of its own that nothing but a list refers to."""
    if not is_uniquely_referenced(value) or type(<object>value) is not cnp.ndarray:
        return False
    return cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and cnp.PyArray_CHKFLAGS(
        <cnp.ndarray>value, cnp.NPY_ARRAY_OWNDATA
    )


cdef inline bint _is_small_part(cnp.ndarray value, cnp.ndarray root):
    """Whether an array is less than half of the memory that it would keep alive."""
    return 2 * cnp.PyArray_NBYTES(value) < cnp.PyArray_NBYTES(root)


cdef object _owned(object value, object value_type, set shared, set constants):
    """A result that the caller may keep and write to.

    Args:
        value: the result as the run returned it.
        value_type: its type.
        shared: the memory of the arguments and of the results before it, to which this adds that of the result.
        constants: the memory of the program's constants.
    """
    cdef object root
    cdef size_t key
    if type(value) is cnp.ndarray:
        if not cnp.PyArray_ISCARRAY(<cnp.ndarray>value):
            return cnp.PyArray_NewCopy(<cnp.ndarray>value, cnp.NPY_CORDER)
        root = _root(value)
        key = <size_t><PyObject*>root
        is_unshared = key not in shared and key not in constants
        is_whole = isinstance(root, cnp.ndarray) and not _is_small_part(<cnp.ndarray>value, <cnp.ndarray>root)
        if is_unshared and (is_whole or type(root) is Donated):
            shared.add(key)
            return value
        return cnp.PyArray_NewCopy(<cnp.ndarray>value, cnp.NPY_CORDER)
    if isinstance(value_type, TupleType):
        return tuple(
            [_owned(one, one_type, shared, constants) for one, one_type in zip(value, value_type.types)]
        )
    if isinstance(value_type, TokenType):
        return value
    return np.array(value, order="C")
