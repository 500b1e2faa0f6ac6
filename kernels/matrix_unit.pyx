# cython: language_level=3, boundscheck=False, wraparound=False
"""Products of stacks of matrices of bytes and of bf16 by the processor's matrix unit (Intel's AMX).

All is compiled ahead of time: nothing here waits for a compiler. `matrix_unit.h` holds the tasks and states the
order in which floats are added, which hangs on the number of terms alone: rows, columns, batches, layouts and
threads change no bits. The unit takes subnormal numbers as zeros, so a product of bf16 is computed only where
none can occur: where the product of the least numbers of both operands, zeros apart, is so large that all sums
are multiples of the least normal number.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint16_t

import numpy as np

from .native import run_in_order

cnp.import_array()

include "aligned_memory.pxi"

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "matrix_unit.h" nogil:
    enum:
        UNIT_LINES
        UNIT_STEP_BYTES
        UNIT_PANEL_STEP
        UNIT_PACKED_BLOCKS
        UNIT_SIGNED_SIGNED
        UNIT_SIGNED_UNSIGNED
        UNIT_UNSIGNED_SIGNED
        UNIT_UNSIGNED_UNSIGNED
        UNIT_BFLOAT16

    ctypedef struct UnitSide:
        const char *address
        int64_t matrix_step, line_step, term_step
        int64_t lines, blocks
        char *panels

    ctypedef struct UnitProduct:
        UnitSide left, right
        char *result
        int64_t batch, terms, steps, kind, rounds
        int64_t pack_tasks, pack_units, pack_size
        int64_t units, size, row_group, row_groups, column_group, column_groups
        uint16_t *least
        int64_t packed

    int unit_is_available()
    bint unit_keeps_all(const UnitProduct *product) noexcept
    void unit_task(int64_t task, void *product) noexcept

cdef dict _KINDS = {
    ("int8", "int8", "int32"): UNIT_SIGNED_SIGNED,
    ("int8", "uint8", "int32"): UNIT_SIGNED_UNSIGNED,
    ("uint8", "int8", "int32"): UNIT_UNSIGNED_SIGNED,
    ("uint8", "uint8", "int32"): UNIT_UNSIGNED_UNSIGNED,
    ("bfloat16", "bfloat16", "bfloat16"): UNIT_BFLOAT16,
    ("bfloat16", "bfloat16", "float32"): UNIT_BFLOAT16,
}

cdef enum:
    # Most bytes of the panels of columns that a unit of work multiplies: they stay in the second cache.
    GROUP_BYTES = 1 << 19
    # So many units, or more, are made of a product that is worth them; least terms of one.
    UNITS = 16
    UNIT_TERMS = 1 << 22
    # Bytes of panels that are made at a time, unless one matrix has more; most that are kept.
    PANEL_BYTES = 1 << 25
    # Bytes that a task packs at least, and most tasks.
    PACKED_TASK_BYTES = 1 << 18
    MOST_TASKS = 128

# Terms and bytes that one thread does in a second, about.
cdef double _BYTE_TERMS = 1e12, _FLOAT_TERMS = 5e11, _PACKED_BYTES = 1e10

cdef object _available = None


def is_available():
    """Whether this processor has a matrix unit, and the system lets this process use it."""
    global _available
    if _available is None:
        _available = bool(unit_is_available())
    return _available


def supports(lhs, rhs, result):
    """Whether the unit multiplies operands of these element types, given by NumPy's names, as `result`."""
    return (lhs, rhs, result) in _KINDS and is_available()


cdef class Product:
    """A product of [batch, row, term] and [batch, term, column].

    Args:
        lhs_shape, rhs_shape: without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: int8 or uint8 and int32, whose sums wrap; or bfloat16, and that or
            float32.
        threads: most threads to use; None: all.

    Raises:
        ValueError: the unit does not multiply such operands.
    """

    cdef UnitProduct plan
    cdef object threads
    cdef cnp.dtype result_dtype
    cdef int64_t batch, matrices, item
    cdef double terms_a_second

    def __init__(self, lhs_shape, rhs_shape, lhs_dtype, rhs_dtype, result_dtype, threads=None):
        names = tuple([np.dtype(dtype).name for dtype in (lhs_dtype, rhs_dtype, result_dtype)])
        batch, rows, terms = lhs_shape
        columns = rhs_shape[2]
        if 0 in (batch, rows, terms, columns) or not supports(*names):
            raise ValueError(f"no matrix unit multiplies {names[0]}{lhs_shape} and {names[1]}{rhs_shape} as {names[2]}")
        cdef UnitProduct *plan = &self.plan
        self.result_dtype, self.threads, self.batch = np.dtype(result_dtype), threads, batch
        plan.kind = _KINDS[names]
        plan.rounds = names[2] == "bfloat16"
        self.item = 2 if plan.kind == UNIT_BFLOAT16 else 1
        self.terms_a_second = _FLOAT_TERMS if plan.kind == UNIT_BFLOAT16 else _BYTE_TERMS
        plan.terms, plan.steps = terms, -(-terms * self.item // UNIT_STEP_BYTES)
        plan.left.lines, plan.left.blocks = rows, -(-rows // UNIT_LINES)
        plan.right.lines, plan.right.blocks = columns, -(-columns // UNIT_LINES)
        panels = (plan.left.blocks + plan.right.blocks) * plan.steps * UNIT_PANEL_STEP
        self.matrices = max(1, min(batch, PANEL_BYTES // panels))
        self.divide()

    cdef divide(self):
        """Choose the units of work, by sizes alone."""
        cdef UnitProduct *plan = &self.plan
        rows, columns, matrices = plan.left.blocks, plan.right.blocks, self.matrices
        down, across = 1, -(-columns * plan.steps * UNIT_PANEL_STEP // GROUP_BYTES)
        terms = plan.left.lines * plan.right.lines * plan.terms
        while matrices * down * across < min(UNITS, matrices * terms // UNIT_TERMS):
            if rows // down >= max(2, columns // across):
                down *= 2
            elif columns // across >= 2:
                across *= 2
            else:
                break
        plan.row_group, plan.column_group = -(-rows // down), -(-columns // min(across, columns))
        plan.row_groups, plan.column_groups = -(-rows // plan.row_group), -(-columns // plan.column_group)

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs):
        """The product, or None where bf16 are so small that the unit would lose some."""
        cdef UnitProduct plan = self.plan
        cdef cnp.npy_intp *left = lhs.strides
        cdef cnp.npy_intp *right = rhs.strides
        cdef int64_t first, count
        cdef cnp.npy_intp *shape = [self.batch, plan.left.lines, plan.right.lines]
        Py_INCREF(self.result_dtype)
        cdef cnp.ndarray result = PyArray_Empty(3, shape, self.result_dtype, 0)
        plan.result = <char *>cnp.PyArray_DATA(result)
        plan.left.address, plan.right.address = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
        plan.left.matrix_step, plan.left.line_step, plan.left.term_step = left[0], left[1], left[2]
        plan.right.matrix_step, plan.right.line_step, plan.right.term_step = right[0], right[2], right[1]
        for first in range(0, self.batch, self.matrices):
            count = min(self.matrices, self.batch - first)
            if not self.multiply(&plan, count):
                return None
            plan.left.address += count * plan.left.matrix_step
            plan.right.address += count * plan.right.matrix_step
            plan.result += count * plan.left.lines * plan.right.lines * cnp.PyArray_ITEMSIZE(result)
        return result

    cdef bint multiply(self, UnitProduct *plan, int64_t batch) except -1:
        """Multiply so many matrices; whether nothing is lost."""
        cdef int64_t panel = plan.steps * UNIT_PANEL_STEP
        cdef int64_t left_bytes = batch * plan.left.blocks * panel, right_bytes = batch * plan.right.blocks * panel
        cdef int64_t terms = batch * plan.left.lines * plan.right.lines * plan.terms, tasks
        cdef double seconds
        cdef AlignedMemory panels
        plan.batch = batch
        plan.pack_units = batch * (packed_groups(plan.left.blocks) + packed_groups(plan.right.blocks))
        plan.pack_tasks = divided(
            plan.pack_units, (left_bytes + right_bytes) // PACKED_TASK_BYTES, &plan.pack_size
        )
        plan.units = batch * plan.row_groups * plan.column_groups
        tasks = divided(plan.units, terms // UNIT_TERMS, &plan.size)
        panels = AlignedMemory(left_bytes + right_bytes + 4 * plan.pack_tasks)
        plan.left.panels, plan.right.panels = panels.memory, panels.memory + left_bytes
        plan.least = <uint16_t *>(plan.right.panels + right_bytes)
        plan.packed = 0
        if plan.pack_tasks == tasks == 1:
            with nogil:
                unit_task(0, plan)
                unit_task(1, plan)
        else:
            seconds = (left_bytes + right_bytes) / _PACKED_BYTES + terms / self.terms_a_second
            run_in_order(<size_t>unit_task, <size_t>plan, plan.pack_tasks + tasks, seconds, self.threads)
        return unit_keeps_all(plan)


cdef int64_t packed_groups(int64_t blocks) noexcept:
    return (blocks + UNIT_PACKED_BLOCKS - 1) // UNIT_PACKED_BLOCKS


cdef int64_t divided(int64_t units, int64_t worth, int64_t *size) noexcept:
    """How many tasks do so many units, whose work is worth so many tasks; `size` is the units of each."""
    cdef int64_t tasks = max(1, min(units, min(worth, MOST_TASKS)))
    size[0] = (units + tasks - 1) // tasks
    return (units + size[0] - 1) // size[0]
