# cython: language_level=3, boundscheck=False, wraparound=False
"""Runs a Plan; nothing else."""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM

import numpy as np

from .errors import ExecutionError, NimbleError

cnp.import_array()

cdef class _Step:
    """A step of a plan with its slots at hand."""

    cdef object function
    cdef tuple operands
    cdef tuple results
    cdef tuple releases
    cdef tuple captures
    cdef dict regions
    cdef object plan_step
    cdef Py_ssize_t result

    def __cinit__(self, step):
        self.function = step.function
        self.operands = step.operands
        self.results = step.results
        self.releases = step.releases
        self.captures = step.captures
        self.result = self.results[0] if len(self.results) == 1 else -1
        self.plan_step = step
        self.regions = None
        if step.regions:
            self.regions = {
                name: [Runner(one) for one in plan] if isinstance(plan, list) else Runner(plan)
                for name, plan in step.regions.items()
            }

cdef tuple _take(list values, tuple slots):
    """The values of some slots."""
    cdef Py_ssize_t count = len(slots), index
    cdef tuple taken = PyTuple_New(count)
    cdef object value
    for index in range(count):
        value = values[<Py_ssize_t>(<object>PyTuple_GET_ITEM(slots, index))]
        Py_INCREF(value)
        PyTuple_SET_ITEM(taken, index, value)
    return taken

cdef inline object _array(object value):
    """A value as steps may count on it: NumPy's functions give scalars in the place of arrays of rank 0."""
    if type(value) is not cnp.ndarray and isinstance(value, np.generic):
        return np.asarray(value)
    return value

cdef class BoundRegion:
    """A region with the values that it captures: a function from its arguments to a tuple of results."""

    cdef Runner runner
    cdef readonly tuple captures

    def __call__(self, *arguments):
        return tuple(self.runner.run_values(arguments + self.captures))

cdef dict _bind(dict regions, tuple captures):
    """The regions of a step bound to what they capture."""
    cdef dict bound = {}
    for name, runner in regions.items():
        if type(runner) is list:
            bound[name] = [_bind_one(one, captures) for one in runner]
        else:
            bound[name] = _bind_one(runner, captures)
    return bound

cdef BoundRegion _bind_one(Runner runner, tuple captures):
    cdef BoundRegion bound = BoundRegion.__new__(BoundRegion)
    bound.runner = runner
    bound.captures = captures
    return bound

cdef class Runner:
    """Runs one plan; may be used by many threads at the same time.

    Args:
        plan: a `nimblehlo.plan.Plan`.
    """

    cdef list steps
    cdef list template
    cdef tuple arguments
    cdef tuple results

    def __cinit__(self, plan):
        self.template = [None] * plan.slot_count
        for slot, value in plan.constants.items():
            self.template[slot] = value
        self.arguments = plan.arguments
        self.results = plan.results
        self.steps = [_Step(step) for step in plan.steps]

    def run(self, arguments):
        """The results, as a list, for a tuple of arguments, one for each of the plan's.

        Raises:
            ExecutionError: a step failed; names its operation and location.
        """
        return self.run_values(arguments)

    cdef list run_values(self, tuple arguments):
        cdef list values = self.template[:]
        cdef Py_ssize_t index
        cdef _Step step
        cdef object item
        if len(arguments) != len(self.arguments):
            raise TypeError(f"takes {len(self.arguments)} values, but got {len(arguments)}")
        for index in range(len(arguments)):
            values[<Py_ssize_t>(<object>PyTuple_GET_ITEM(self.arguments, index))] = arguments[index]
        for item in self.steps:
            step = <_Step>item
            try:
                self.run_step(step, values)
            except NimbleError:
                raise
            except Exception as error:
                raise ExecutionError(
                    f"failed with {type(error).__name__}: {error}",
                    operation=step.plan_step.operation,
                    location=step.plan_step.location,
                ) from error
        return [values[slot] for slot in self.results]

    cdef int run_step(self, _Step step, list values) except -1:
        cdef tuple operands = _take(values, step.operands)
        cdef object result
        cdef Py_ssize_t index
        if step.regions is None:
            result = step.function(*operands)
        else:
            result = step.function(*operands, **_bind(step.regions, _take(values, step.captures)))
        operands = None
        if type(result) is not tuple:
            if step.result < 0:
                raise ValueError(f"one value for {len(step.results)} results")
            values[step.result] = _array(result)
        elif len(<tuple>result) == len(step.results):
            for index in range(len(step.results)):
                values[<Py_ssize_t>(<object>PyTuple_GET_ITEM(step.results, index))] = _array((<tuple>result)[index])
        else:
            raise ValueError(f"{len(<tuple>result)} values for {len(step.results)} results")
        for index in range(len(step.releases)):
            values[<Py_ssize_t>(<object>PyTuple_GET_ITEM(step.releases, index))] = None
        return 0
