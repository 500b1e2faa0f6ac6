# cython: language_level=3, boundscheck=False, wraparound=True
"""Cholesky factors, LU factors and solutions of triangular systems, for batches of problems; `linalg.h` states the
order of operations."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uintptr_t

import math

import numpy as np

from ..launch.native import run_in_order
from ..launch.threads import available_threads

cnp.import_array()

include "launch/aligned_memory.pxi"
include "launch/empty_results.pxi"

cdef extern from "linalg.h" nogil:
    enum:
        LINALG_CHOLESKY
        LINALG_LU
        LINALG_TRIANGULAR_SOLVE

    ctypedef struct LinalgMatrix:
        char *address
        int64_t problem_stride, row_stride, column_stride
        int is_conjugate

    ctypedef struct Linalg:
        int64_t routine, kind, components, count, order, columns
        int is_unit, zeros_other_triangle
        LinalgMatrix a, b, x
        int32_t *info
        int32_t *pivots
        int64_t first, work_items, items_per_task, workspace_bytes
        char *workspace
        char *packed

    int64_t linalg_vector_bytes()
    int64_t linalg_workspace_bytes(const Linalg *p)
    int64_t linalg_item_problems(const Linalg *p)
    bint linalg_is_single(const Linalg *p)
    int64_t linalg_block_columns(const Linalg *p)
    int64_t linalg_next_panel(const Linalg *p, int64_t first)
    int64_t linalg_panels(const Linalg *p)
    int64_t linalg_steps(const Linalg *p)
    void linalg_pack(const Linalg *p)
    void linalg_load(const Linalg *p)
    int64_t linalg_factor_block(const Linalg *p)
    void linalg_store(const Linalg *p, int64_t info)
    void linalg_task(int64_t task, void *closure) noexcept

cdef enum:
    # Bytes of a workspace on the stack, at most.
    MAX_STACK_BYTES = 65536
    # Multiply-adds of a task, at least; of a problem that several tasks share.
    MIN_TASK_FMAS = 1 << 17
    MIN_SHARED_FMAS = 1 << 21

# Multiply-adds of a second on one thread, per byte of a vector.
cdef double _FMAS_PER_SECOND = 2e8


def is_available():
    """Whether the compiler of this module knew the vectors that the functions need."""
    return linalg_vector_bytes() > 0


cdef class LinalgRoutine:
    """The prepared function of `cholesky`, `lu` and `triangular_solve`.

    Args:
        operands: with the shapes and the element type for which the function was prepared.

    Returns:
        A tuple of results.
    """

    cdef Linalg plan
    cdef tuple shapes, dtypes, are_zero
    cdef int64_t a_offset, x_offset
    cdef object threads

    cdef int describe(self, dtype, count, order, columns, threads) except -1:
        cdef object element = np.dtype(dtype)
        if not linalg_vector_bytes():
            raise ValueError("this build has no vectors")
        self.plan.components = 2 if element.kind == "c" else 1
        self.plan.kind = {4: 0, 8: 1}[element.itemsize // self.plan.components]
        self.plan.count, self.plan.order, self.plan.columns = count, order, columns
        self.a_offset = self.x_offset = 0
        self.threads = threads
        return 0

    cdef int set_results(self, results) except -1:
        """Set the shapes and the element types of results."""
        self.shapes = tuple([tuple(shape) for shape, _ in results])
        self.dtypes = tuple([np.dtype(dtype) for _, dtype in results])
        self.are_zero = (False,) * len(results)
        return 0

    def __call__(self, *operands):
        """Return the results for C-contiguous or other operands."""
        cdef list arrays = []
        cdef list addresses = []
        cdef cnp.ndarray array
        cdef tuple results = empty_results(self.shapes, self.dtypes, self.are_zero)
        cdef char *sources[2]
        cdef char *targets[3]
        cdef Py_ssize_t position = 0
        for operand in operands:
            array = operand
            if not cnp.PyArray_ISCARRAY_RO(array):
                array = np.array(array, order="C")
            arrays.append(array)
            sources[position] = <char *>cnp.PyArray_DATA(array)
            position += 1
        for position in range(len(results)):
            targets[position] = <char *>cnp.PyArray_DATA(<cnp.ndarray>results[position])
        self.run(sources, targets)
        return results

    cdef double fmas(self) noexcept:
        """Multiply-adds of all problems."""
        return <double>self.plan.count * self.plan.order * self.plan.order * self.plan.columns / 3

    cdef int64_t work_items(self) noexcept:
        cdef int64_t problems = linalg_item_problems(&self.plan)
        return (self.plan.count + problems - 1) // problems

    cdef bint shares_panels(self) noexcept:
        """Whether tasks share the panels of the only problem."""
        return self.plan.count == 1 and self.fmas() > MIN_SHARED_FMAS and not linalg_is_single(&self.plan)

    cdef int64_t max_tasks(self) noexcept:
        """The number of tasks that are worth it to compute all problems."""
        return max(1, min(self.work_items(), <int64_t>(self.fmas() / MIN_TASK_FMAS)))

    cdef int run(self, char **sources, char **targets) except -1:
        """Compute all problems, by tasks where they are worth it."""
        cdef Linalg p = self.plan
        cdef AlignedMemory memory
        cdef int64_t tasks, bytes = linalg_workspace_bytes(&p)
        cdef double fmas = self.fmas()
        set_addresses(self, &p, sources, targets)
        if self.shares_panels():
            self.run_panels(&p, fmas)
            return 0
        p.work_items = self.work_items()
        tasks = min(self.max_tasks(), <int64_t>available_threads())
        if tasks == 1 and bytes <= MAX_STACK_BYTES:
            with nogil:
                run_on_stack(&p)
            return 0
        p.workspace_bytes, p.items_per_task = rounded(bytes), (p.work_items + tasks - 1) // tasks
        tasks = (p.work_items + p.items_per_task - 1) // p.items_per_task
        memory = AlignedMemory(tasks * p.workspace_bytes)
        p.workspace = memory.memory
        self.run_tasks(&p, tasks, fmas)
        return 0

    cdef int run_panels(self, Linalg *p, double fmas) except -1:
        """Compute the only problem, its panels by tasks."""
        cdef int64_t tasks = available_threads(), info = 0, block_info, first, steps = linalg_steps(p)
        cdef bint solves = p.routine == LINALG_TRIANGULAR_SOLVE
        cdef AlignedMemory memory
        p.workspace_bytes = rounded(linalg_workspace_bytes(p))
        memory = AlignedMemory((1 + tasks * solves) * p.workspace_bytes)
        p.packed, p.workspace = memory.memory, memory.memory + p.workspace_bytes
        if solves:
            with nogil:
                linalg_pack(p)
            self.run_shares(p, linalg_panels(p), tasks, fmas)
            return 0
        with nogil:
            linalg_load(p)
        for first in range(0, steps, linalg_block_columns(p)):
            p.first = first
            with nogil:
                block_info = linalg_factor_block(p)
            info = info or block_info
            if info and p.routine == LINALG_CHOLESKY:
                break
            self.run_shares(p, linalg_panels(p) - linalg_next_panel(p, first), tasks, fmas / (steps / 64 + 1))
        with nogil:
            linalg_store(p, info)
        return 0

    cdef int run_shares(self, Linalg *p, int64_t items, int64_t tasks, double fmas) except -1:
        """Do work items by equal shares."""
        if items <= 0:
            return 0
        p.work_items, p.items_per_task = items, (items + tasks - 1) // tasks
        return self.run_tasks(p, (items + p.items_per_task - 1) // p.items_per_task, fmas)

    cdef int run_tasks(self, Linalg *p, int64_t tasks, double fmas) except -1:
        if tasks == 1:
            with nogil:
                linalg_task(0, p)
        else:
            seconds = fmas / (_FMAS_PER_SECOND * linalg_vector_bytes())
            run_in_order(<size_t>&linalg_task, <size_t>p, tasks, seconds, self.threads)
        return 0

    @property
    def solver(self):
        """The address of `void solve(LinalgRoutine, void **operands, void **results)`, which computes what a call does
        without the GIL. Operands and results must be C-contiguous and must not overlap. None for problems that tasks
        share, or whose workspace may not be on the stack."""
        is_serial = not self.shares_panels() and self.max_tasks() == 1
        fits = linalg_workspace_bytes(&self.plan) <= MAX_STACK_BYTES
        return <uintptr_t>&solve_contiguous if is_serial and fits else None


cdef void set_addresses(LinalgRoutine routine, Linalg *p, char **sources, char **targets) noexcept nogil:
    """Set the addresses of matrices in the arguments of tasks."""
    cdef int64_t element_bytes = p.components * (8 if p.kind else 4)
    p.a.address = sources[0] + routine.a_offset * element_bytes
    p.x.address = targets[0] + routine.x_offset * element_bytes
    if p.routine == LINALG_TRIANGULAR_SOLVE:
        p.b.address = sources[1] + routine.x_offset * element_bytes
    elif p.routine == LINALG_LU:
        p.pivots, p.info = <int32_t *>targets[1], <int32_t *>targets[2]
    elif not p.zeros_other_triangle:
        p.info = <int32_t *>targets[1]


cdef void solve_contiguous(LinalgRoutine routine, char **operands, char **results) noexcept nogil:
    """See `LinalgRoutine.solver`."""
    cdef Linalg p = routine.plan
    set_addresses(routine, &p, operands, results)
    run_on_stack(&p)


cdef void run_on_stack(Linalg *p) noexcept nogil:
    """Compute all problems in memory of the stack."""
    cdef char memory[MAX_STACK_BYTES + MEMORY_ALIGNMENT]
    cdef int64_t problems = linalg_item_problems(p)
    p.work_items = p.items_per_task = (p.count + problems - 1) // problems
    p.workspace = memory + (-<size_t>memory) % MEMORY_ALIGNMENT
    linalg_task(0, p)


cdef int64_t rounded(int64_t size) noexcept:
    return (size + MEMORY_ALIGNMENT - 1) // MEMORY_ALIGNMENT * MEMORY_ALIGNMENT


def cholesky(dtype, tuple shape not None, lower, zeros_other_triangle, threads=None):
    """Prepare Cholesky factors of matrices, [..., order, order].

    Args:
        dtype: of the elements: f32, f64, or complex numbers of these.
        shape: of the operand, none of its sizes 0.
        lower: whether L of a = L L^H is wanted, or U of a = U^H U. Only that triangle of the operand is read.
        zeros_other_triangle: whether the other triangle of a result is zeros, and all of a matrix NaN that has no
            factor. If not, the other triangle is the operand's, and a second result of i32 has for each problem the
            row without a factor, counted from 1, or 0.
        threads: maximum number of threads; None: all.
    """
    cdef LinalgRoutine result = LinalgRoutine()
    cdef int64_t order = shape[-1]
    cdef LinalgMatrix *a = &result.plan.a
    result.describe(dtype, math.prod(shape[:-2]), order, order, threads)
    result.plan.routine, result.plan.zeros_other_triangle = LINALG_CHOLESKY, zeros_other_triangle
    a.problem_stride, a.is_conjugate = order * order, lower
    a.row_stride, a.column_stride = 1 if lower else order, order if lower else 1
    result.plan.x = a[0]
    result.set_results([(shape, dtype)] if zeros_other_triangle else [(shape, dtype), (shape[:-2], np.int32)])
    return result


def lu(dtype, tuple shape not None, threads=None):
    """Prepare LU factors with partial pivoting of matrices, [..., rows, columns].

    The results are L below the diagonal and U on and above it; of i32 for each step the row that was exchanged with the
    step's, counted from 1; and of i32 the first pivot that is zero, counted from 1, or 0.

    Args:
        dtype: of the elements: f32, f64, or complex numbers of these.
        shape: of the operand, none of its sizes 0.
        threads: maximum number of threads; None: all.
    """
    cdef LinalgRoutine result = LinalgRoutine()
    cdef int64_t rows = shape[-2], columns = shape[-1]
    cdef LinalgMatrix *a = &result.plan.a
    result.describe(dtype, math.prod(shape[:-2]), rows, columns, threads)
    result.plan.routine = LINALG_LU
    a.problem_stride, a.row_stride, a.column_stride = rows * columns, columns, 1
    result.plan.x = a[0]
    result.set_results([(shape, dtype), ((*shape[:-2], min(rows, columns)), np.int32), (shape[:-2], np.int32)])
    return result


def triangular_solve(dtype, tuple shape not None, left_side, lower, transpose, unit_diagonal, threads=None):
    """Prepare solutions of op(a) x = b, or of x op(a) = b, with triangular matrices a.

    Args:
        dtype: of the elements: f32, f64, or complex numbers of these.
        shape: of b and x, none of its sizes 0.
        left_side, lower: on which side a is, and which triangle of it is read.
        transpose: "N", "T" or "C", the operation op.
        unit_diagonal: whether the diagonal counts as ones, unread.
        threads: maximum number of threads; None: all.
    """
    cdef LinalgRoutine result = LinalgRoutine()
    cdef int64_t rows = shape[-2], columns = shape[-1], order = rows if left_side else columns
    cdef LinalgMatrix *a = &result.plan.a
    cdef LinalgMatrix *x = &result.plan.x
    cdef bint is_transposed = (transpose != "N") == bool(left_side)
    result.describe(dtype, math.prod(shape[:-2]), order, columns if left_side else rows, threads)
    result.plan.routine, result.plan.is_unit = LINALG_TRIANGULAR_SOLVE, unit_diagonal
    a.problem_stride, a.is_conjugate = order * order, transpose == "C"
    a.row_stride, a.column_stride = 1 if is_transposed else order, order if is_transposed else 1
    x.problem_stride = rows * columns
    x.row_stride, x.column_stride = columns if left_side else 1, 1 if left_side else columns
    if is_transposed == bool(lower):
        # An upper triangle is a lower one from its end.
        result.a_offset, result.x_offset = order * order - 1, (order - 1) * x.row_stride
        a.row_stride, a.column_stride, x.row_stride = -a.row_stride, -a.column_stride, -x.row_stride
    result.plan.b = x[0]
    result.set_results([(shape, dtype)])
    return result
