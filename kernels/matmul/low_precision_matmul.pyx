# cython: language_level=3, boundscheck=False, wraparound=False
"""Products of stacks of matrices of bytes and of bf16, by instructions that add up several products.

All is compiled ahead of time: nothing here waits for a compiler. `low_precision_matmul.h` holds the tasks, and says where
the ways state the order in which floats are added, which hangs on the number of terms alone: rows, columns, batches,
layouts and threads change no bits. These instructions take subnormal numbers as zeros, so a product of bf16 is
computed only where none can occur: where the product of the least numbers of both operands, zeros apart, is so large
that all sums are multiples of the least normal number.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint16_t

import numpy as np

from ..launch.native import run_in_order

cnp.import_array()

include "launch/aligned_memory.pxi"

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "low_precision_matmul.h" nogil:
    enum:
        NARROW_LINES
        NARROW_STEP_BYTES
        NARROW_PANEL_STEP
        NARROW_PACKED_BLOCKS
        NARROW_SIGNED_SIGNED
        NARROW_SIGNED_UNSIGNED
        NARROW_UNSIGNED_SIGNED
        NARROW_UNSIGNED_UNSIGNED
        NARROW_BFLOAT16
        NARROW_PAIRS
        PAIR_LATE_BLOCKS

    ctypedef struct NarrowSide:
        const char *address
        int64_t matrix_step, line_step, term_step
        int64_t lines, blocks
        char *panels

    ctypedef struct NarrowProduct:
        NarrowSide left, right
        char *result
        int64_t batch, terms, steps, kind, rounds, is_late
        int64_t pack_tasks, pack_units, pack_size
        int64_t units, size, row_group, row_groups, column_group, column_groups
        uint16_t *least
        int64_t least_tasks, packed

    int unit_is_available()
    int pair_is_available()
    int pair_is_quick()
    int narrow_item(int64_t kind) noexcept
    bint narrow_keeps_all(const NarrowProduct *product) noexcept
    void narrow_task(int64_t task, void *product) noexcept

BY_UNIT = "the processor's matrix unit"
BY_PAIRS = "pairs of bf16"

cdef dict _KINDS = {
    ("int8", "int8", "int32"): {BY_UNIT: NARROW_SIGNED_SIGNED},
    ("int8", "uint8", "int32"): {BY_UNIT: NARROW_SIGNED_UNSIGNED},
    ("uint8", "int8", "int32"): {BY_UNIT: NARROW_UNSIGNED_SIGNED},
    ("uint8", "uint8", "int32"): {BY_UNIT: NARROW_UNSIGNED_UNSIGNED},
    ("bfloat16", "bfloat16", "bfloat16"): {BY_UNIT: NARROW_BFLOAT16, BY_PAIRS: NARROW_PAIRS},
    ("bfloat16", "bfloat16", "float32"): {BY_UNIT: NARROW_BFLOAT16, BY_PAIRS: NARROW_PAIRS},
}

cdef enum:
    # Most bytes of the panels of columns that a unit of work multiplies: they stay in the second cache. Half of that for
    # pairs, whose parts have half the steps, so that no more than NARROW_GROUP blocks have several parts.
    GROUP_BYTES = 1 << 19
    PAIR_GROUP_BYTES = 1 << 18
    # So many units, or more, are made of a product that is worth them; least terms of one, by the unit and by pairs.
    UNITS = 16
    UNIT_TERMS = 1 << 22
    PAIR_UNIT_TERMS = 1 << 20
    # To pack columns takes as long as to multiply them with so many rows.
    PAIR_PACKED_ROWS = 12
    # Bytes of panels that are made at a time, unless one matrix has more; most that are kept.
    PANEL_BYTES = 1 << 25
    # Bytes that a task packs at least, and most tasks.
    PACKED_TASK_BYTES = 1 << 18
    MAX_TASKS = 128

# Terms and bytes that one thread does in a second, about.
cdef double _BYTE_TERMS = 1e12, _FLOAT_TERMS = 5e11, _PAIR_TERMS = 1e11, _PACKED_BYTES = 1e10

cdef object _available = None


def available():
    """The ways that this processor has, and the system lets this process use, the quickest first."""
    global _available
    if _available is None:
        there = ((BY_UNIT, unit_is_available()), (BY_PAIRS, pair_is_available()))
        _available = tuple([way for way, is_there in there if is_there])
    return _available


def is_quick(way):
    """Whether an available way is quicker than products of the numbers as f32."""
    return way != BY_PAIRS or bool(pair_is_quick())


def ways(lhs, rhs, result):
    """The ways to multiply operands of these element types, given by NumPy's names, as `result`."""
    kinds = _KINDS.get((lhs, rhs, result), ())
    return tuple([way for way in available() if way in kinds])


cdef class Product:
    """A product of [batch, row, term] and [batch, term, column].

    Args:
        lhs_shape, rhs_shape: without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: int8 or uint8 and int32, whose sums wrap; or bfloat16, and that or
            float32.
        threads: most threads to use; None: all.
        way: one of `ways`; None: the first.

    Raises:
        ValueError: there is no way to multiply such operands.
    """

    cdef NarrowProduct plan
    cdef object threads
    cdef cnp.dtype result_dtype
    # `terms`: the work of a matrix.
    cdef int64_t batch, matrices, unit_terms, group_bytes, terms
    cdef double terms_a_second

    def __init__(self, lhs_shape, rhs_shape, lhs_dtype, rhs_dtype, result_dtype, threads=None, way=None):
        names = tuple([np.dtype(dtype).name for dtype in (lhs_dtype, rhs_dtype, result_dtype)])
        batch, rows, terms = lhs_shape
        columns = rhs_shape[2]
        there = ways(*names)
        if 0 in (batch, rows, terms, columns) or not there or way not in (None, *there):
            raise ValueError(f"nothing multiplies {names[0]}{lhs_shape} and {names[1]}{rhs_shape} as {names[2]}")
        cdef NarrowProduct *plan = &self.plan
        self.result_dtype, self.threads, self.batch = np.dtype(result_dtype), threads, batch
        plan.kind = _KINDS[names][way or there[0]]
        plan.rounds = names[2] == "bfloat16"
        if plan.kind == NARROW_PAIRS:
            self.group_bytes, self.unit_terms, self.terms_a_second = PAIR_GROUP_BYTES, PAIR_UNIT_TERMS, _PAIR_TERMS
        else:
            self.group_bytes, self.unit_terms = GROUP_BYTES, UNIT_TERMS
            self.terms_a_second = _FLOAT_TERMS if plan.kind == NARROW_BFLOAT16 else _BYTE_TERMS
        plan.terms, plan.steps = terms, -(-terms * narrow_item(plan.kind) // NARROW_STEP_BYTES)
        plan.left.lines, plan.left.blocks = rows, -(-rows // NARROW_LINES)
        plan.right.lines, plan.right.blocks = columns, -(-columns // NARROW_LINES)
        few = min(PAIR_LATE_BLOCKS, batch * plan.right.blocks)
        plan.is_late = plan.kind == NARROW_PAIRS and plan.left.blocks <= few
        self.terms = (rows + PAIR_PACKED_ROWS if plan.is_late else rows) * terms * columns
        panels = (plan.left.blocks + (0 if plan.is_late else plan.right.blocks)) * plan.steps * NARROW_PANEL_STEP
        self.matrices = max(1, min(batch, PANEL_BYTES // panels))
        self.divide()

    cdef divide(self):
        """Choose the units of work, by sizes alone."""
        cdef NarrowProduct *plan = &self.plan
        rows, columns, matrices = plan.left.blocks, plan.right.blocks, self.matrices
        down, across = 1, 1 if plan.is_late else -(-columns * plan.steps * NARROW_PANEL_STEP // self.group_bytes)
        while matrices * down * across < min(UNITS, matrices * self.terms // self.unit_terms):
            if not plan.is_late and rows // down >= max(2, columns // across):
                down *= 2
            elif columns // across >= 2:
                across *= 2
            else:
                break
        plan.row_group, plan.column_group = -(-rows // down), -(-columns // min(across, columns))
        if plan.is_late and plan.column_group > NARROW_PACKED_BLOCKS:
            plan.column_group = packed_groups(plan.column_group) * NARROW_PACKED_BLOCKS
        plan.row_groups, plan.column_groups = -(-rows // plan.row_group), -(-columns // plan.column_group)

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs):
        """The product, or None where bf16 are so small that some would be lost."""
        cdef NarrowProduct plan = self.plan
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

    cdef bint multiply(self, NarrowProduct *plan, int64_t batch) except -1:
        """Multiply so many matrices; whether nothing is lost."""
        cdef int64_t panel = plan.steps * NARROW_PANEL_STEP
        cdef int64_t left_bytes = batch * plan.left.blocks * panel
        cdef int64_t right_bytes = 0 if plan.is_late else batch * plan.right.blocks * panel
        cdef int64_t terms = batch * self.terms, tasks
        cdef double seconds
        cdef AlignedMemory panels
        plan.batch = batch
        plan.pack_units = batch * packed_groups(plan.left.blocks)
        if not plan.is_late:
            plan.pack_units += batch * packed_groups(plan.right.blocks)
        plan.pack_tasks = divided(
            plan.pack_units, (left_bytes + right_bytes) // PACKED_TASK_BYTES, &plan.pack_size
        )
        plan.units = batch * plan.row_groups * plan.column_groups
        tasks = divided(plan.units, terms // self.unit_terms, &plan.size)
        plan.least_tasks = plan.pack_tasks + tasks if plan.is_late else plan.pack_tasks
        panels = AlignedMemory(left_bytes + right_bytes + 4 * plan.least_tasks)
        plan.left.panels, plan.right.panels = panels.memory, panels.memory + left_bytes
        plan.least = <uint16_t *>(plan.right.panels + right_bytes)
        plan.packed = 0
        if plan.pack_tasks == tasks == 1:
            with nogil:
                narrow_task(0, plan)
                narrow_task(1, plan)
        else:
            seconds = (left_bytes + right_bytes) / _PACKED_BYTES + terms / self.terms_a_second
            run_in_order(<size_t>narrow_task, <size_t>plan, plan.pack_tasks + tasks, seconds, self.threads)
        return narrow_keeps_all(plan)


cdef int64_t packed_groups(int64_t blocks) noexcept:
    return (blocks + NARROW_PACKED_BLOCKS - 1) // NARROW_PACKED_BLOCKS


cdef int64_t divided(int64_t units, int64_t worth, int64_t *size) noexcept:
    """How many tasks do so many units, whose work is worth so many tasks; `size` is the units of each."""
    cdef int64_t tasks = max(1, min(units, min(worth, MAX_TASKS)))
    size[0] = (units + tasks - 1) // tasks
    return (units + size[0] - 1) // size[0]
