# cython: language_level=3, boundscheck=False, wraparound=False
"""Runs the steps of a Plan.

The frame of a run is a list of its values by slots. The last step that uses a value releases its slot. That step may
overwrite an array to which nothing but the slot refers.
"""

cimport numpy as cnp
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_GET_ITEM
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from collections import namedtuple
from sys import getswitchinterval
from time import perf_counter

import numpy as np

from ..errors import ExecutionError, NimbleError, failure_reason, raised_by_signal_handler
from ..compiler.float_errors import ERRSTATE, ignoring_float_errors
from ..kernels.launch.native import LaunchStopped, NativeFunction
from ..kernels.launch.ufunc_loops import loop_for

cnp.import_array()

include "array_ownership.pxi"
include "launch/vectorcall.pxi"
include "ufunc_loops.pxi"

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET

cdef extern from "numpy/arrayobject.h":
    object PyArray_FromScalar(object scalar, PyObject *dtype)

cdef enum:
    MAX_STACK_ARGUMENTS = 16
    ITERATIONS_BETWEEN_CLOCK_READINGS = 64

cdef enum Kind:
    CALL
    CALL_WITH_REGIONS
    RUN_WHILE
    RUN_IF
    RUN_CASE

# A thread that waits for the GIL asks for it after one interval in which it was not released.
cdef double _SWITCHES_BETWEEN_YIELDS = 2
cdef tuple _OUT = ("out",)
cdef object _ERRSTATE_VARIABLE, _ALL_IGNORED
_ERRSTATE_VARIABLE, _ALL_IGNORED = ERRSTATE or (None, None)
cdef dict _CONTROL = {"while": RUN_WHILE, "if": RUN_IF, "case": RUN_CASE}


# What restores NumPy's handling of floating-point errors; NULL while a run has not changed it.
cdef struct ErrorState:
    PyObject *token


cdef inline int _ignore_errors(ErrorState *errors) except -1:
    """Let NumPy ignore floating-point errors in the rest of a run; NULL: it does so already."""
    if errors != NULL and errors.token == NULL:
        token = PyContextVar_Set(_ERRSTATE_VARIABLE, _ALL_IGNORED)
        Py_INCREF(token)
        errors.token = <PyObject *>token
    return 0


cdef int _restore_errors(ErrorState *errors) except -1:
    if errors.token != NULL:
        token = <object>errors.token
        Py_DECREF(token)
        errors.token = NULL
        PyContextVar_Reset(_ERRSTATE_VARIABLE, token)
    return 0


cdef class Slots:
    """Slot numbers as a C array."""

    cdef Py_ssize_t count
    cdef Py_ssize_t *at

    def __cinit__(self, slots):
        cdef Py_ssize_t index
        self.count = len(slots)
        self.at = <Py_ssize_t *>PyMem_Malloc(max(1, self.count) * sizeof(Py_ssize_t))
        if self.at == NULL:
            raise MemoryError
        for index in range(self.count):
            self.at[index] = slots[index]

    def __dealloc__(self):
        PyMem_Free(self.at)


cdef class Limits:
    """The limits of one run, and what is left of them.

    Args:
        max_steps: the maximum number of steps, where an iteration of a loop counts as one; None: no limit.
        timeout: the maximum number of seconds from now on; None: no limit.
        max_bytes: for messages only; the memory handler enforces it.
    """

    cdef object max_steps, timeout, max_bytes
    cdef long long steps_left
    cdef readonly double deadline
    # The step that began last; None before the first.
    cdef _Step running

    def __cinit__(self, max_steps=None, timeout=None, max_bytes=None):
        self.max_steps, self.timeout, self.max_bytes = max_steps, timeout, max_bytes
        self.steps_left = min(max_steps or 0, 1 << 62)
        self.deadline = 0.0 if timeout is None else perf_counter() + timeout

    cdef int count(self, _Step step, long long steps) except -1:
        """Count steps before they run."""
        if self.max_steps is not None:
            self.steps_left -= steps
            if self.steps_left < 0:
                raise self.exceeded(f"takes more than max_steps = {self.max_steps} steps", step)
        return self.check_deadline(step)

    cdef int begin(self, _Step step) except -1:
        """Called before each step."""
        self.running = step
        return self.count(step, 1)

    cdef int end(self, _Step step, Py_ssize_t index) except -1:
        """Called after the step at `index` of its plan."""
        return self.check_deadline(step)

    cdef int check_deadline(self, _Step step) except -1:
        if self.deadline and perf_counter() > self.deadline:
            raise self.late(step)
        return 0

    cdef object late(self, _Step step):
        """The error of a run that a step keeps from ending in time."""
        return self.exceeded(f"takes longer than timeout = {self.timeout} seconds", step)

    def check_time(self):
        """End a run whose time is over, for a loop within a step.

        Raises:
            ExecutionError: it is; names the step that began last.
        """
        self.check_deadline(self.running)

    def late_in_running_step(self):
        """The error of a run that did not end in time; it names the step that began last."""
        return self.late(self.running)

    cdef bint is_short_of_memory(self, object error):
        """Whether an error reports that memory could not be allocated."""
        return self.max_bytes is not None and isinstance(error, MemoryError)

    cdef str shortage(self, object error):
        return f"the run needs more than max_bytes = {self.max_bytes}: {error}"

    cdef object exceeded(self, str reason, _Step step):
        if step is None:
            return ExecutionError(f"the run {reason}")
        return ExecutionError(
            f"the run {reason}", operation=step.plan_step.operation, location=step.plan_step.location
        )


include "timeline.pxi"


cdef class _Step:
    """A step of a plan, with its slots as C arrays."""

    cdef object function, native
    cdef Slots operands, results, releases, captures
    cdef Py_ssize_t result
    cdef Kind kind
    cdef UfuncLoop ufunc_loop
    cdef bint ignores_errstate, native_ignores_errstate
    cdef Slots reusable_operand_slots, reusing_results
    cdef dict regions
    cdef Runner cond, body
    cdef list branches
    cdef object plan_step

    def __cinit__(self, step):
        self.function = step.function
        step.implementation.on_native_code(self.install_native)
        self.operands = Slots(step.operands)
        self.results = Slots(step.results)
        self.releases = Slots(step.releases)
        self.captures = Slots(step.captures)
        self.result = step.results[0] if len(step.results) == 1 else -1
        self.plan_step = step
        self.ufunc_loop = _ufunc_loop(self.function)
        self.ignores_errstate = _ignores_errstate(self.function)
        pairs = possible_overwrites(step)
        self.reusable_operand_slots = Slots([step.operands[operand] for operand, _ in pairs])
        self.reusing_results = Slots([result for _, result in pairs])
        self.kind = _CONTROL.get(step.control, CALL_WITH_REGIONS if step.regions else CALL)
        self.regions = {
            name: [Runner(one) for one in plan] if isinstance(plan, list) else Runner(plan)
            for name, plan in step.regions.items()
        }
        if self.kind == RUN_WHILE:
            self.cond, self.body = self.regions["cond"], self.regions["body"]
        elif self.kind == RUN_IF:
            self.branches = [self.regions["false_branch"], self.regions["true_branch"]]
        elif self.kind == RUN_CASE:
            self.branches = self.regions["branches"]

    def install_native(self, native):
        """Replace the function by native code, which needs no regions."""
        self.native_ignores_errstate = _ignores_errstate(native)
        self.native = native


cdef bint _ignores_errstate(object function):
    """Whether a function never reads NumPy's handling of floating-point errors (`numpy.errstate`)."""
    return type(function) is NativeFunction


def possible_overwrites(step):
    """The pairs of `step.overwrites` whose operand the step releases.

    An operand that occurs several times must be paired with the same result each time, since the function reads it at
    the index that it writes. An operand that the regions capture may be read at any time, so it has no pair.
    """
    pairs = []
    for operand, result in step.overwrites:
        slot = step.operands[operand]
        occurrences = [index for index, other in enumerate(step.operands) if other == slot]
        is_listed = all((index, result) in step.overwrites for index in occurrences)
        is_captured = slot in step.captures
        if slot in step.releases and is_listed and not is_captured and occurrences[0] == operand:
            pairs.append((operand, result))
    return pairs


cdef inline object _array(object value):
    """A value as an array or token; NumPy's functions return scalars instead of arrays of rank 0."""
    if type(value) is not cnp.ndarray and isinstance(value, np.generic):
        return PyArray_FromScalar(value, NULL)
    return value


cdef inline bint _truth(object value) except -1:
    """Whether a predicate holds."""
    if type(value) is cnp.ndarray and cnp.PyArray_TYPE(<cnp.ndarray>value) == cnp.NPY_BOOL:
        return (<char *>cnp.PyArray_DATA(<cnp.ndarray>value))[0] != 0
    return bool(value)


cdef tuple _take(list frame, Slots slots):
    """The values of some slots."""
    cdef tuple values = PyTuple_New(slots.count)
    cdef Py_ssize_t index
    cdef object value
    for index in range(slots.count):
        value = frame[slots.at[index]]
        Py_INCREF(value)
        PyTuple_SET_ITEM(values, index, value)
    return values


cdef inline void _release(list frame, Slots slots):
    cdef Py_ssize_t index
    for index in range(slots.count):
        frame[slots.at[index]] = None


cdef class BoundRegion:
    """A region with its captured values, as a function from its arguments to a tuple of results."""

    cdef Runner runner
    cdef readonly tuple captures
    cdef Limits limits
    cdef _Step step

    def __call__(self, *arguments):
        return tuple(self.runner.run_values(list(arguments + self.captures), self.limits, NULL))

    def advance(self, list values):
        """The results for arguments in a list, as a list. The region may overwrite arrays to which only the list, which
        is emptied, refers."""
        values.extend(self.captures)
        return self.runner.run_values(values, self.limits, NULL)

    def count_steps(self, steps):
        """Count steps that the operation of the region runs itself, under the limits of the run."""
        if self.limits is not None:
            self.limits.count(self.step, steps)


cdef BoundRegion _bind(Runner runner, tuple captures, _Step step, Limits limits):
    cdef BoundRegion bound = BoundRegion.__new__(BoundRegion)
    bound.runner = runner
    bound.captures = captures
    bound.step = step
    bound.limits = limits
    return bound


cdef class Runner:
    """Runs one plan; may be used by many threads at the same time.

    Args:
        plan: a `nimblehlo.compiler.plan.Plan`.
    """

    cdef Vectorcall vectorcall
    cdef list steps
    cdef list template, idle_frame
    cdef Slots arguments
    cdef Slots results

    def __cinit__(self, plan):
        self.vectorcall = _call_runner
        self.template = [None] * plan.slot_count
        for slot, value in plan.constants.items():
            self.template[slot] = value
        used = {*plan.results}
        for step in plan.steps:
            used.update(step.operands, step.captures)
        self.arguments = Slots([slot if slot in used else -1 for slot in plan.arguments])
        self.results = Slots(plan.results)
        self.steps = [_Step(step) for step in plan.steps]

    def __call__(self, *arguments):
        """The results, as a list. NumPy ignores floating-point errors meanwhile.

        Args:
            arguments: a value for each of the plan's arguments.

        Raises:
            ExecutionError: see `run`.
        """
        return self.call(tuple_items(arguments), len(arguments))

    cdef list call(self, PyObject *const *arguments, Py_ssize_t count):
        cdef list frame = self.idle_frame, values
        cdef Py_ssize_t index, slot
        cdef ErrorState errors = ErrorState(NULL)
        self.check_count(count)
        if _ERRSTATE_VARIABLE is None:
            return ignoring_float_errors(self.run, [<object>arguments[index] for index in range(count)])
        # Calls of other threads make frames of their own meanwhile.
        self.idle_frame = None
        if frame is None:
            frame = self.template[:]
        for index in range(count):
            slot = self.arguments.at[index]
            if slot >= 0:
                frame[slot] = <object>arguments[index]
        try:
            self.run_steps(frame, None, &errors)
        finally:
            _restore_errors(&errors)
        values = self.take_results(frame)
        self.reset(frame)
        self.idle_frame = frame
        return values

    cdef inline int check_count(self, Py_ssize_t count) except -1:
        if count != self.arguments.count:
            raise TypeError(f"takes {self.arguments.count} values, but got {count}")
        return 0

    cdef void reset(self, list frame):
        """Bring a frame to its state before a run."""
        cdef Py_ssize_t slot
        for slot in range(len(self.template)):
            if PyList_GET_ITEM(frame, slot) != PyList_GET_ITEM(self.template, slot):
                frame[slot] = self.template[slot]

    def run(self, arguments, limits=None):
        """The results, as a list.

        Args:
            arguments: a value for each of the plan's arguments. The run empties a list, releases each value after
                its last use, and may overwrite arrays to which nothing else refers.
            limits: `Limits`, or None.

        Raises:
            ExecutionError: a step failed, or the run exceeded a limit; names operation and location.
        """
        return self.run_values(arguments if type(arguments) is list else list(arguments), limits, NULL)

    cdef list run_values(self, list arguments, Limits limits, ErrorState *errors):
        cdef list frame = self.template[:]
        self.check_count(len(arguments))
        self.move_in(frame, arguments)
        self.run_steps(frame, limits, errors)
        return self.take_results(frame)

    cdef void copy_in(self, list frame, list values, Py_ssize_t first):
        """Copy values to the slots of the arguments from `first` on."""
        cdef Py_ssize_t index, slot
        for index in range(len(values)):
            slot = self.arguments.at[first + index]
            if slot >= 0:
                frame[slot] = values[index]

    cdef void move_in(self, list frame, list values):
        """Move the values of a list, which is empty then, to the slots of the arguments."""
        self.copy_in(frame, values, 0)
        values.clear()

    cpdef list take_results(self, list frame):
        """The results, whose slots are reset to their state before a run."""
        cdef Py_ssize_t index
        cdef list values = [None] * self.results.count
        for index in range(self.results.count):
            values[index] = frame[self.results.at[index]]
        for index in range(self.results.count):
            frame[self.results.at[index]] = self.template[self.results.at[index]]
        return values

    def new_frame(self, list arguments):
        """A new frame with these arguments; the list is emptied.

        `new_frame`, `run_range` and `take_results` run a plan in several ranges of steps.
        """
        cdef list frame = self.template[:]
        self.move_in(frame, arguments)
        return frame

    def run_range(self, list frame, Py_ssize_t first, Py_ssize_t last, Limits limits):
        """Run the steps from `first` up to, but not including, `last`."""
        self.run_steps_between(frame, first, last, limits, NULL)

    def count_step(self, Py_ssize_t index, Limits limits):
        """Count a step that the caller runs instead of `run_range`, under the limits of the run."""
        if limits is not None:
            limits.count(<_Step>self.steps[index], 1)

    cdef int run_steps(self, list frame, Limits limits, ErrorState *errors) except -1:
        return self.run_steps_between(frame, 0, len(self.steps), limits, errors)

    cdef int run_steps_between(
        self, list frame, Py_ssize_t index, Py_ssize_t count, Limits limits, ErrorState *errors
    ) except -1:
        cdef _Step step
        try:
            if limits is None:
                while index < count:
                    _run_step(<_Step>PyList_GET_ITEM(self.steps, index), frame, None, errors)
                    index += 1
                    PyErr_CheckSignals()
            else:
                while index < count:
                    step = <_Step>PyList_GET_ITEM(self.steps, index)
                    limits.begin(step)
                    _run_step(step, frame, limits, errors)
                    limits.end(step, index)
                    index += 1
                    PyErr_CheckSignals()
        except NimbleError as error:
            if limits is None or not limits.is_short_of_memory(error.__cause__):
                raise
            raise ExecutionError(
                limits.shortage(error.__cause__), operation=error.operation, location=error.location
            ) from error
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            step = self.steps[index]
            if limits is not None and isinstance(error, LaunchStopped):
                raise limits.late(step) from None
            reason = failure_reason(error)
            if limits is not None and limits.is_short_of_memory(error):
                reason = limits.shortage(error)
            raise ExecutionError(
                reason, operation=step.plan_step.operation, location=step.plan_step.location
            ) from error
        return 0


cdef object _call_runner(object runner, PyObject *const *arguments, size_t count, PyObject *names):
    """The vectorcall function of runners."""
    if names != NULL:
        raise TypeError("takes no keyword arguments")
    return (<Runner>runner).call(arguments, PyVectorcall_NARGS(count))


# Only the member's address is computed, so any object will do.
cdef PyObject *_any = <PyObject *>None
enable_vectorcall(Runner, <char *>&(<Runner>_any).vectorcall - <char *>_any)


cdef int _run_step(_Step step, list frame, Limits limits, ErrorState *errors) except -1:
    cdef Py_ssize_t index
    cdef object result
    if step.native is not None:
        if not step.native_ignores_errstate:
            _ignore_errors(errors)
        result = _call(step, step.native, frame)
    elif step.kind == CALL:
        result = _call_function(step, frame, errors)
    elif step.kind == CALL_WITH_REGIONS:
        _ignore_errors(errors)
        result = _call_with_regions(step, frame, limits)
    elif step.kind == RUN_WHILE:
        result = tuple(_run_while(step, frame, limits, errors))
    else:
        result = tuple(_run_branch(step, frame, limits, errors))
    if type(result) is not tuple:
        if step.result < 0:
            raise ValueError(f"one value for {step.results.count} results")
        frame[step.result] = _array(result)
    elif len(<tuple>result) == step.results.count:
        for index in range(step.results.count):
            frame[step.results.at[index]] = _array(<object>PyTuple_GET_ITEM(result, index))
    else:
        raise ValueError(f"{len(<tuple>result)} values for {step.results.count} results")
    _release(frame, step.releases)
    return 0


cdef inline object _call_function(_Step step, list frame, ErrorState *errors):
    """Call a step's function, or the inner loop of its ufunc if that can serve the operands."""
    cdef object result
    if step.ufunc_loop is not None:
        result = _call_loop(step, frame)
        if result is not None:
            return result
    if not step.ignores_errstate:
        _ignore_errors(errors)
    return _call(step, step.function, frame)


cdef object _call_loop(_Step step, list frame):
    """The result of the inner loop of a ufunc; None where NumPy has to be called."""
    cdef PyObject *operands[MAX_LOOP_OPERANDS]
    cdef PyObject *out = NULL
    cdef Py_ssize_t index
    if step.operands.count != step.ufunc_loop.operands:
        return None
    for index in range(step.operands.count):
        operands[index] = PyList_GET_ITEM(frame, step.operands.at[index])
    for index in range(step.reusable_operand_slots.count):
        if _is_overwritable(PyList_GET_ITEM(frame, step.reusable_operand_slots.at[index])):
            out = PyList_GET_ITEM(frame, step.reusable_operand_slots.at[index])
            break
    return step.ufunc_loop.call(operands, out)


cdef object _call(_Step step, object function, list frame):
    """Call a step's function with the operands, which stay in their slots."""
    cdef PyObject *stack[MAX_STACK_ARGUMENTS + 2]
    cdef Py_ssize_t index, count = step.operands.count
    cdef object out
    if count > MAX_STACK_ARGUMENTS:
        return _call_with_many(step, function, frame)
    for index in range(count):
        stack[1 + index] = <PyObject *>PyList_GET_ITEM(frame, step.operands.at[index])
    if step.reusable_operand_slots.count:
        out = _out(step, frame)
        if out is not None:
            stack[1 + count] = <PyObject *>out
            return PyObject_Vectorcall(
                function, &stack[1], count | PY_VECTORCALL_ARGUMENTS_OFFSET, <PyObject *>_OUT
            )
    return PyObject_Vectorcall(function, &stack[1], count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)


cdef object _call_with_many(_Step step, object function, list frame):
    cdef object out = _out(step, frame)
    cdef tuple operands = _take(frame, step.operands)
    return function(*operands) if out is None else function(*operands, out=out)


cdef object _out(_Step step, list frame):
    """For each result, the array to which it may be written, or None; None for a step that may write to no array."""
    cdef list out = None
    cdef Py_ssize_t index, result
    cdef PyObject *value
    for index in range(step.reusable_operand_slots.count):
        result = step.reusing_results.at[index]
        value = PyList_GET_ITEM(frame, step.reusable_operand_slots.at[index])
        if (out is None or out[result] is None) and _is_overwritable(value):
            if out is None:
                out = [None] * step.results.count
            # From here on the array has two references, so that no other result gets it.
            out[result] = <object>value
    return None if out is None else tuple(out)


cdef object _call_with_regions(_Step step, list frame, Limits limits):
    cdef object out = _out(step, frame)
    cdef tuple captures = _take(frame, step.captures)
    cdef dict bound = {} if out is None else {"out": out}
    for name, runner in step.regions.items():
        if type(runner) is list:
            bound[name] = [_bind(one, captures, step, limits) for one in runner]
        else:
            bound[name] = _bind(runner, captures, step, limits)
    return step.function(*_take(frame, step.operands), **bound)


cdef list _run_branch(_Step step, list frame, Limits limits, ErrorState *errors):
    """The results of the branch that the operand of `if` or `case` selects."""
    cdef object selector = frame[step.operands.at[0]]
    cdef Py_ssize_t count = len(step.branches), index
    cdef list captures = list(_take(frame, step.captures))
    cdef Runner branch
    if step.kind == RUN_IF:
        index = _truth(selector)
    else:
        index = int(selector)
        if not 0 <= index < count:
            index = count - 1
    _release(frame, step.releases)
    branch = step.branches[index]
    return branch.run_values(captures, limits, errors)


cdef list _run_while(_Step step, list frame, Limits limits, ErrorState *errors):
    """The last carried values of a loop.

    The loop owns its carried values: the body may overwrite an array to which nothing else refers. `captures` refers
    to the captured values, so that they are never overwritten.
    """
    cdef Runner cond = step.cond, body = step.body
    cdef list carried = list(_take(frame, step.operands))
    cdef list captures = list(_take(frame, step.captures))
    cdef list cond_frame = cond.template[:], body_frame = body.template[:]
    cdef Py_ssize_t count = len(carried), iteration = 0
    cdef double yielded = perf_counter(), between = _SWITCHES_BETWEEN_YIELDS * getswitchinterval()
    _release(frame, step.releases)
    while True:
        cond.copy_in(cond_frame, carried, 0)
        cond.copy_in(cond_frame, captures, count)
        cond.run_steps(cond_frame, limits, errors)
        holds = _truth(cond_frame[cond.results.at[0]])
        cond_frame[cond.results.at[0]] = cond.template[cond.results.at[0]]
        if not holds:
            return carried
        body.move_in(body_frame, carried)
        body.copy_in(body_frame, captures, count)
        body.run_steps(body_frame, limits, errors)
        carried = body.take_results(body_frame)
        iteration += 1
        PyErr_CheckSignals()
        if limits is not None:
            limits.count(step, 1)
        if iteration % ITERATIONS_BETWEEN_CLOCK_READINGS == 0 and perf_counter() - yielded > between:
            with nogil:
                pass
            yielded, between = perf_counter(), _SWITCHES_BETWEEN_YIELDS * getswitchinterval()
