# cython: language_level=3, boundscheck=False, wraparound=False
"""The tasks of convolutions, compiled ahead of time: `convolution` decides, `convolution_tasks.h` holds what is done."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from ..launch import threads as _threads
from ..launch.native import run_in_order

cnp.import_array()

include "launch/aligned_memory.pxi"

cdef extern from "convolution_tasks.h" nogil:
    enum:
        CONV_PART
        CONV_MOST_AXES
        CONV_BLOCK
        CONV_MOST_WIDTH
        CONV_CHANNELS
        CONV_LINES
        CONV_LARGE
        CONV_FEW
        CONV_ENTRIES
    int64_t CONV_OUTSIDE

    ctypedef struct ConvAxis:
        int64_t count, positions, result_step
        const int64_t *places

    ctypedef struct ConvSegment:
        int64_t position, skip, length

    ctypedef struct ConvProduct:
        const char *lhs
        const char *rhs
        char *result
        char *panels
        char *memory
        int64_t rank, positions, features, has_holes, merged, groups, columns, terms, part, part_count
        ConvAxis *axes
        const int64_t *along
        const int64_t *factor_places
        const int64_t *parts
        const ConvSegment *segments
        int64_t feature_step, group_step, output_step, lane_step, factor_feature_step, factor_output_step
        int64_t by_windows, by_groups, is_direct, windows, inner, block, rows, vectors, last_vectors, streams
        int64_t strips, padded, strip_group
        int64_t pack_tasks, pack_size, units, size, slots, slot_bytes, packed
        int32_t *busy
        int64_t kind, level

    ctypedef struct ConvRun:
        int64_t first, step, count, lhs_step

    ctypedef struct ConvScaling:
        const char *lhs
        const char *factors
        char *result
        int64_t rank, positions, channels
        ConvAxis *axes
        const int64_t *along
        const int64_t *line_places
        const int64_t *factor_places
        const ConvRun *runs
        int64_t run_count, lines, line_blocks, line_block, channel_blocks, channel_block
        int64_t by_channels, lhs_channel_step, result_channel_step, streams
        int64_t units, size, kind, level

    int conv_best_level()
    int conv_serves(int64_t kind, int64_t level)
    void conv_vectors(int64_t kind, int64_t level, int64_t *lanes, int64_t *vectors)
    void conv_product_task(int64_t task, void *product) noexcept
    void conv_scaling_task(int64_t task, void *scaling) noexcept
    bint conv_are_finite_float32(const uint32_t *bits, int64_t count)
    bint conv_are_finite_float64(const uint64_t *bits, int64_t count)

PART = CONV_PART
OUTSIDE = CONV_OUTSIDE
BLOCK = CONV_BLOCK
CHANNELS = CONV_CHANNELS
LINES = CONV_LINES
ENTRIES = CONV_ENTRIES
LARGE = CONV_LARGE
FEW = CONV_FEW
MOST_AXES = CONV_MOST_AXES

cdef dict _KINDS = {"float32": 0, "float64": 1, "int32": 2, "int64": 3}

cdef enum:
    MAX_TASKS = 128
    # Bytes that a task packs at least.
    PACKED_TASK_BYTES = 1 << 17


def best_level():
    """The number of the best instruction set of this processor that there are loops for."""
    return conv_best_level()


def supports(name, level):
    """Whether there are loops for this element type, by NumPy's name, and instruction set."""
    return name in _KINDS and bool(conv_serves(_KINDS[name], level))


def vectors(name, level):
    """The items of a vector, and the most vectors of a tile."""
    cdef int64_t lanes, most
    conv_vectors(_KINDS[name], level, &lanes, &most)
    return lanes, most


def are_finite(cnp.ndarray values not None):
    """Whether no element of an array of floats is an infinity or NaN."""
    cdef int64_t count = cnp.PyArray_SIZE(values)
    cdef void *bits = cnp.PyArray_DATA(values)
    if cnp.PyArray_IS_C_CONTIGUOUS(values) and cnp.PyArray_ISBEHAVED_RO(values):
        if cnp.PyArray_TYPE(values) == cnp.NPY_FLOAT32:
            return conv_are_finite_float32(<uint32_t *>bits, count)
        if cnp.PyArray_TYPE(values) == cnp.NPY_FLOAT64:
            return conv_are_finite_float64(<uint64_t *>bits, count)
    return bool(np.isfinite(values).all())


cdef int fill_axes(ConvAxis *to, axes, list kept) except -1:
    cdef cnp.ndarray places
    for number, (windows, positions, result_step, found) in enumerate(axes):
        places = as_integers(found, kept)
        to[number].count, to[number].positions, to[number].result_step = windows, positions, result_step
        to[number].places = <const int64_t *>cnp.PyArray_DATA(places)
    return 0


cdef cnp.ndarray as_integers(array, list kept):
    found = np.ascontiguousarray(array, np.int64)
    kept.append(found)
    return found


cdef class Products:
    """Windows times rhs. `layout` has the fields of `ConvProduct` that hang on shapes and strides.

    Args:
        name: the element type.
        level: the instruction set.
        axes: (windows, positions, step in the result, places) of each.
        tables: `along`, `factor_places`, `segments` and `parts`.
        layout: the fields.
        offsets: bytes from where rhs and the result begin to the parts of them that are meant.
        seconds: how long a call takes on one thread, about.
        threads: most threads to use; None: all.
    """

    cdef ConvProduct plan
    cdef list kept
    cdef object threads
    cdef double seconds
    cdef int64_t tasks, panel_bytes, item, rhs_offset, result_offset

    def __init__(self, name, level, axes, tables, layout, offsets, seconds, threads=None):
        cdef ConvProduct *p = &self.plan
        self.kept, self.threads, self.seconds, self.item = [], threads, seconds, np.dtype(name).itemsize
        self.rhs_offset, self.result_offset = offsets
        p.kind, p.level, p.rank = _KINDS[name], level, len(axes)
        fill_axes(p.axes, axes, self.kept)
        p.along = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["along"], self.kept))
        p.factor_places = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_places"], self.kept))
        p.segments = <const ConvSegment *>cnp.PyArray_DATA(as_integers(tables["segments"], self.kept))
        p.parts = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["parts"], self.kept))
        (p.positions, p.features, p.has_holes, p.merged, p.groups, p.columns, p.terms, p.part, p.part_count) = layout["terms"]
        (p.feature_step, p.group_step, p.output_step, p.lane_step) = layout["steps"]
        p.factor_feature_step, p.factor_output_step = layout["factor_steps"]
        (p.by_windows, p.by_groups, p.is_direct, p.windows, p.inner, p.block, p.rows, p.vectors, p.last_vectors) = layout["tiles"]
        (p.strips, p.padded, p.strip_group, p.units, p.streams) = layout["strips"]
        if not p.by_groups:
            strips = p.part_count * p.groups * p.strips
            self.panel_bytes = -(-p.terms * p.groups * p.padded * self.item // 64) * 64
            p.pack_tasks = divided(strips, self.panel_bytes // PACKED_TASK_BYTES, &p.pack_size)
        self.tasks = divided(p.units, MAX_TASKS, &p.size)
        p.slot_bytes = CONV_MOST_WIDTH * CONV_PART * self.item + CONV_PART * CONV_BLOCK * 8
        p.slot_bytes += -(-(p.groups * p.features + CONV_PART) * self.item // 64) * 64

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """Write the result for arrays with the strides that were prepared."""
        cdef ConvProduct plan = self.plan
        cdef AlignedMemory memory
        plan.slots = 1 if self.tasks == 1 else min(self.tasks, _threads.way_of_running(self.threads)[1])
        memory = AlignedMemory(self.panel_bytes + plan.slots * (plan.slot_bytes + sizeof(int32_t)))
        plan.lhs, plan.rhs = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs) + self.rhs_offset
        plan.result = <char *>cnp.PyArray_DATA(result) + self.result_offset
        plan.packed = 0
        plan.panels = memory.memory
        plan.memory = plan.panels + self.panel_bytes
        plan.busy = <int32_t *>(plan.memory + plan.slots * plan.slot_bytes)
        memset(plan.busy, 0, plan.slots * sizeof(int32_t))
        run_in_order(
            <size_t>conv_product_task, <size_t>&plan, plan.pack_tasks + self.tasks, self.seconds, self.threads
        )


cdef class Scaling:
    """Scaled elements, added. Arguments as for `Products`."""

    cdef ConvScaling plan
    cdef list kept
    cdef object threads
    cdef double seconds
    cdef int64_t tasks

    def __init__(self, name, level, axes, tables, layout, seconds, threads=None):
        cdef ConvScaling *p = &self.plan
        self.kept, self.threads, self.seconds = [], threads, seconds
        p.kind, p.level, p.rank = _KINDS[name], level, len(axes)
        fill_axes(p.axes, axes, self.kept)
        p.along = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["along"], self.kept))
        p.line_places = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["line_places"], self.kept))
        p.factor_places = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_places"], self.kept))
        p.runs = <const ConvRun *>cnp.PyArray_DATA(as_integers(tables["runs"], self.kept))
        p.run_count, p.positions = len(tables["runs"]), len(tables["along"])
        (p.channels, p.lines, p.line_blocks, p.line_block, p.channel_blocks, p.channel_block) = layout["blocks"]
        (p.by_channels, p.lhs_channel_step, p.result_channel_step, p.units, p.streams) = layout["steps"]
        self.tasks = divided(p.units, MAX_TASKS, &p.size)

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """The same; what rhs has for one position lies side by side."""
        cdef ConvScaling plan = self.plan
        plan.lhs, plan.factors = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
        plan.result = <char *>cnp.PyArray_DATA(result)
        run_in_order(<size_t>conv_scaling_task, <size_t>&plan, self.tasks, self.seconds, self.threads)


cdef int64_t divided(int64_t units, int64_t worth, int64_t *size) noexcept:
    """How many tasks do so many units, whose work is worth so many tasks; `size` is the units of each."""
    cdef int64_t tasks = max(1, min(units, min(worth, MAX_TASKS)))
    size[0] = (units + tasks - 1) // tasks
    return (units + size[0] - 1) // size[0]
