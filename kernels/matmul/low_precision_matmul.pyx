# cython: language_level=3, boundscheck=False, wraparound=False
"""GEMM of stacks of matrices of integers of 8 and 16 bits and of bf16, by instructions that add up several products.

The module needs no compiler at run time. `low_precision_matmul.h` holds the tasks and says where the
order of additions of floats is stated, which depends on k alone: rows, columns, batches, layouts and threads change
no bits. These instructions treat subnormal numbers as zeros, so a product of bf16 is computed
only where none can occur: where the product of both operands' smallest magnitudes, zeros apart, is so large that
all sums are multiples of the smallest normal number.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint16_t

import numpy as np

from ..launch.native import run_in_order
from ..launch.threads import chosen_threads

cnp.import_array()

include "launch/aligned_memory.pxi"

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "low_precision_matmul.h" nogil:
    enum:
        LOWP_BLOCK
        LOWP_TILE_ROW_BYTES
        LOWP_TILE_PAIR_BYTES
        LOWP_PACKED_BLOCKS
        LOWP_MAX_BLOCKS
        LOWP_S8S8
        LOWP_S8U8
        LOWP_U8S8
        LOWP_U8U8
        LOWP_BF16
        LOWP_BF16_DOTS
        LOWP_BF16_CHAIN_DOTS
        LOWP_S8S8_DOTS
        LOWP_U8S8_DOTS
        LOWP_S16_DOTS
        DOTS_MAX_FUSED_BLOCKS

    ctypedef struct LowpOperand:
        const char *address
        int64_t batch_stride, outer_stride, k_stride
        int64_t outer_size, blocks
        char *panels

    ctypedef struct LowpProduct:
        LowpOperand left, right
        char *result
        int64_t batch, k_size, k_tiles, kind, rounds_to_bf16, fuses_packing
        int64_t pack_tasks, pack_items, pack_items_per_task
        int64_t work_items, items_per_task, row_group, row_groups, column_group, column_groups
        uint16_t *min_magnitude
        int64_t magnitude_tasks, packed_tasks

    int amx_is_available()
    int dots_are_available(bint of_integers)
    int dots_of_bf16_are_fast()
    int lowp_itemsize(int64_t kind) noexcept
    bint lowp_has_no_subnormals(const LowpProduct *product) noexcept
    void lowp_task(int64_t task, void *product) noexcept

AMX = "the processor's matrix unit"
AVX512_BF16 = "pairs of bf16"
AVX512_BF16_AS_F32 = "pairs of bf16, in the order of f32"
AVX512_VNNI = "dot products of integers"

cdef dict _KINDS = {
    ("int8", "int8", "int32"): {AMX: LOWP_S8S8, AVX512_VNNI: LOWP_S8S8_DOTS},
    ("int8", "uint8", "int32"): {AMX: LOWP_S8U8},
    ("uint8", "int8", "int32"): {AMX: LOWP_U8S8, AVX512_VNNI: LOWP_U8S8_DOTS},
    ("uint8", "uint8", "int32"): {AMX: LOWP_U8U8},
    ("int16", "int16", "int32"): {AVX512_VNNI: LOWP_S16_DOTS},
    ("bfloat16", "bfloat16", "bfloat16"): {
        AMX: LOWP_BF16, AVX512_BF16: LOWP_BF16_CHAIN_DOTS, AVX512_BF16_AS_F32: LOWP_BF16_DOTS
    },
    ("bfloat16", "bfloat16", "float32"): {
        AMX: LOWP_BF16, AVX512_BF16: LOWP_BF16_CHAIN_DOTS, AVX512_BF16_AS_F32: LOWP_BF16_DOTS
    },
}

cdef enum:
    # Bytes of the panels of columns of a work item, at most: they stay in the L2 cache. Half of that for dot products
    # and bf16, whose k blocks have half the k tiles, so that no more than LOWP_MAX_GROUP blocks have several k blocks.
    MAX_GROUP_BYTES = 1 << 19
    MAX_SHORT_GROUP_BYTES = LOWP_MAX_BLOCKS * LOWP_TILE_PAIR_BYTES
    # A product is divided into this many work items if each has so many multiply-adds (by AMX and by dot products).
    TARGET_WORK_ITEMS = 16
    MIN_ITEM_FMAS = 1 << 22
    MIN_DOTS_ITEM_FMAS = 1 << 20
    # Packing columns takes as long as multiplying them with this many rows.
    PACKING_ROWS = 12
    # Bytes of panels that are packed at a time for each thread, unless one matrix has more: they stay in its L2 cache.
    THREAD_PANEL_BYTES = 1 << 19
    # The same for all threads; also the most that stays allocated.
    MAX_PANEL_BYTES = 1 << 25
    # Bytes that a task packs, at least, and tasks, at most.
    MIN_PACKED_TASK_BYTES = 1 << 18
    MAX_TASKS = 128

# Estimated multiply-adds, and bytes that are packed, in a second by one thread.
cdef double _INT8_FMAS_PER_SECOND = 1e12, _BF16_FMAS_PER_SECOND = 5e11
cdef double _DOTS_FMAS_PER_SECOND = 1e11, _PACKED_BYTES_PER_SECOND = 1e10

cdef object _available = None


def available():
    """The implementations that this processor has and the system lets this process use, the fastest first."""
    global _available
    if _available is None:
        candidates = (
            (AMX, amx_is_available()),
            (AVX512_BF16, dots_are_available(False)),
            (AVX512_BF16_AS_F32, dots_are_available(False)),
            (AVX512_VNNI, dots_are_available(True)),
        )
        _available = tuple([implementation for implementation, is_available in candidates if is_available])
    return _available


def is_fast(implementation):
    """Whether an available implementation is faster than products of the numbers as f32."""
    return implementation not in (AVX512_BF16, AVX512_BF16_AS_F32) or bool(dots_of_bf16_are_fast())


def implementations(lhs, rhs, result):
    """The implementations for operands of these element types, given by NumPy's names, with results of type
    `result`."""
    kinds = _KINDS.get((lhs, rhs, result), ())
    return tuple([implementation for implementation in available() if implementation in kinds])


cdef class Product:
    """A product of [batch, row, k] and [batch, k, column].

    Args:
        lhs_shape, rhs_shape: without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: int8, uint8 or int16 and int32, whose sums wrap; or bfloat16, and that or
            float32.
        threads: maximum number of threads; None: all.
        implementation: one of `implementations`; None: the first.
        is_rhs_constant: whether the right operand has the same elements in all calls: a single matrix is packed once.

    Raises:
        ValueError: nothing multiplies such operands.
    """

    cdef LowpProduct plan
    cdef object threads
    cdef cnp.dtype result_dtype
    # The right matrix, packed by an earlier call, behind it the bits of its smallest magnitude.
    cdef bint keeps_panels
    cdef AlignedMemory right_panels
    # `fmas`: multiply-adds of a matrix.
    cdef int64_t batch, matrices, min_item_fmas, max_group_bytes, fmas
    cdef double fmas_per_second

    def __init__(self, lhs_shape, rhs_shape, lhs_dtype, rhs_dtype, result_dtype, threads=None, implementation=None,
                 bint is_rhs_constant=False):
        names = tuple([np.dtype(dtype).name for dtype in (lhs_dtype, rhs_dtype, result_dtype)])
        batch, rows, k_size = lhs_shape
        columns = rhs_shape[2]
        candidates = implementations(*names)
        if 0 in (batch, rows, k_size, columns) or not candidates or implementation not in (None, *candidates):
            raise ValueError(f"nothing multiplies {names[0]}{lhs_shape} and {names[1]}{rhs_shape} as {names[2]}")
        cdef LowpProduct *plan = &self.plan
        cdef bint uses_vectors
        self.result_dtype, self.threads, self.batch = np.dtype(result_dtype), threads, batch
        plan.kind = _KINDS[names][implementation or candidates[0]]
        plan.rounds_to_bf16 = names[2] == "bfloat16"
        uses_vectors = plan.kind >= LOWP_BF16_DOTS
        if uses_vectors:
            self.max_group_bytes, self.min_item_fmas = MAX_SHORT_GROUP_BYTES, MIN_DOTS_ITEM_FMAS
            self.fmas_per_second = _DOTS_FMAS_PER_SECOND
        elif plan.kind == LOWP_BF16:
            self.max_group_bytes, self.min_item_fmas = MAX_SHORT_GROUP_BYTES, MIN_ITEM_FMAS
            self.fmas_per_second = _BF16_FMAS_PER_SECOND
        else:
            self.max_group_bytes, self.min_item_fmas = MAX_GROUP_BYTES, MIN_ITEM_FMAS
            self.fmas_per_second = _INT8_FMAS_PER_SECOND
        plan.k_size, plan.k_tiles = k_size, -(-k_size * lowp_itemsize(plan.kind) // LOWP_TILE_ROW_BYTES)
        plan.left.outer_size, plan.left.blocks = rows, -(-rows // LOWP_BLOCK)
        plan.right.outer_size, plan.right.blocks = columns, -(-columns // LOWP_BLOCK)
        max_fused_blocks = min(DOTS_MAX_FUSED_BLOCKS, batch * plan.right.blocks)
        self.keeps_panels = is_rhs_constant and batch == 1
        plan.fuses_packing = uses_vectors and plan.left.blocks <= max_fused_blocks and not self.keeps_panels
        self.fmas = (rows + PACKING_ROWS if plan.fuses_packing else rows) * k_size * columns
        panels = (plan.left.blocks
            + (0 if plan.fuses_packing else plan.right.blocks)) * plan.k_tiles * LOWP_TILE_PAIR_BYTES
        panel_bytes = min(MAX_PANEL_BYTES, THREAD_PANEL_BYTES * chosen_threads(threads))
        self.matrices = max(1, min(batch, panel_bytes // panels))
        self.divide()

    cdef divide(self):
        """Divide the product into work items, by sizes alone."""
        cdef LowpProduct *plan = &self.plan
        rows, columns, matrices = plan.left.blocks, plan.right.blocks, self.matrices
        down, across = 1, 1 if plan.fuses_packing else -(-columns * plan.k_tiles
            * LOWP_TILE_PAIR_BYTES // self.max_group_bytes)
        while matrices * down * across < min(TARGET_WORK_ITEMS, matrices * self.fmas // self.min_item_fmas):
            if not plan.fuses_packing and rows // down >= max(2, columns // across):
                down *= 2
            elif columns // across >= 2:
                across *= 2
            else:
                break
        plan.row_group, plan.column_group = -(-rows // down), -(-columns // min(across, columns))
        if plan.fuses_packing and plan.column_group > LOWP_PACKED_BLOCKS:
            plan.column_group = packed_groups(plan.column_group) * LOWP_PACKED_BLOCKS
        plan.row_groups, plan.column_groups = -(-rows // plan.row_group), -(-columns // plan.column_group)

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs):
        """The product, or None where a bf16 is so small that subnormal numbers could occur."""
        cdef LowpProduct plan = self.plan
        cdef cnp.npy_intp *left = lhs.strides
        cdef cnp.npy_intp *right = rhs.strides
        cdef int64_t first, count
        cdef cnp.npy_intp *shape = [self.batch, plan.left.outer_size, plan.right.outer_size]
        Py_INCREF(self.result_dtype)
        cdef cnp.ndarray result = PyArray_Empty(3, shape, self.result_dtype, 0)
        plan.result = <char *>cnp.PyArray_DATA(result)
        plan.left.address, plan.right.address = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
        plan.left.batch_stride, plan.left.outer_stride, plan.left.k_stride = left[0], left[1], left[2]
        plan.right.batch_stride, plan.right.outer_stride, plan.right.k_stride = right[0], right[2], right[1]
        for first in range(0, self.batch, self.matrices):
            count = min(self.matrices, self.batch - first)
            if not self.multiply(&plan, count):
                return None
            plan.left.address += count * plan.left.batch_stride
            plan.right.address += count * plan.right.batch_stride
            plan.result += count * plan.left.outer_size * plan.right.outer_size * cnp.PyArray_ITEMSIZE(result)
        return result

    cdef bint multiply(self, LowpProduct *plan, int64_t batch) except -1:
        """Multiply `batch` matrices. Returns whether no subnormal number can occur."""
        cdef int64_t panel = plan.k_tiles * LOWP_TILE_PAIR_BYTES
        cdef int64_t left_bytes = batch * plan.left.blocks * panel
        cdef int64_t right_bytes = 0 if plan.fuses_packing else batch * plan.right.blocks * panel
        cdef int64_t packed_bytes, task
        cdef uint16_t *kept_magnitude = NULL
        cdef int64_t fmas = batch * self.fmas, tasks
        cdef double seconds
        # Decided once: another thread may store its panels while this one packs its own.
        cdef AlignedMemory panels, right_panels = self.right_panels
        cdef bint is_packed = right_panels is not None
        plan.batch = batch
        plan.pack_items = batch * packed_groups(plan.left.blocks)
        if not plan.fuses_packing and not is_packed:
            plan.pack_items += batch * packed_groups(plan.right.blocks)
        packed_bytes = left_bytes + (0 if is_packed else right_bytes)
        plan.pack_tasks = divide_items(
            plan.pack_items, packed_bytes // MIN_PACKED_TASK_BYTES, &plan.pack_items_per_task
        )
        plan.work_items = batch * plan.row_groups * plan.column_groups
        tasks = divide_items(plan.work_items, fmas // self.min_item_fmas, &plan.items_per_task)
        plan.magnitude_tasks = plan.pack_tasks + (tasks if plan.fuses_packing else is_packed)
        panels = AlignedMemory(
            left_bytes + (0 if self.keeps_panels else right_bytes) + 4 * plan.magnitude_tasks
        )
        plan.left.panels, plan.right.panels = panels.memory, panels.memory + left_bytes
        if self.keeps_panels:
            if not is_packed:
                right_panels = AlignedMemory(right_bytes + sizeof(uint16_t), True)
            plan.right.panels = right_panels.memory
            plan.min_magnitude = <uint16_t *>(panels.memory + left_bytes)
            kept_magnitude = <uint16_t *>(right_panels.memory + right_bytes)
        else:
            plan.min_magnitude = <uint16_t *>(plan.right.panels + right_bytes)
        if is_packed:
            plan.min_magnitude[2 * plan.pack_tasks] = 0xFFFF
            plan.min_magnitude[2 * plan.pack_tasks + 1] = kept_magnitude[0]
        plan.packed_tasks = 0
        if plan.pack_tasks == tasks == 1:
            with nogil:
                lowp_task(0, plan)
                lowp_task(1, plan)
        else:
            seconds = packed_bytes / _PACKED_BYTES_PER_SECOND + fmas / self.fmas_per_second
            run_in_order(<size_t>lowp_task, <size_t>plan, plan.pack_tasks + tasks, seconds, self.threads)
        if self.keeps_panels and not is_packed:
            kept_magnitude[0] = 0xFFFF
            for task in range(plan.pack_tasks):
                kept_magnitude[0] = min(kept_magnitude[0], plan.min_magnitude[2 * task + 1])
            self.right_panels = right_panels
        return lowp_has_no_subnormals(plan)


cdef int64_t packed_groups(int64_t blocks) noexcept:
    return (blocks + LOWP_PACKED_BLOCKS - 1) // LOWP_PACKED_BLOCKS


cdef int64_t divide_items(int64_t work_items, int64_t wanted_tasks, int64_t *items_per_task) noexcept:
    """The number of tasks for these work items, at most `wanted_tasks`; sets `items_per_task`."""
    cdef int64_t tasks = max(1, min(work_items, min(wanted_tasks, MAX_TASKS)))
    items_per_task[0] = (work_items + tasks - 1) // tasks
    return (work_items + items_per_task[0] - 1) // items_per_task[0]
