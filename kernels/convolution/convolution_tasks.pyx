# cython: language_level=3, boundscheck=False, wraparound=False
"""Launches of the tasks of convolutions, which `convolution_tasks.h` holds and `convolution.py` plans."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from ..launch import threads as _threads
from ..launch.native import run_in_order, run_independent

cnp.import_array()

include "launch/aligned_memory.pxi"
include "launch/epilogue.pxi"

cdef extern from "convolution_tasks.h" nogil:
    enum:
        CONV_K_BLOCK
        CONV_MAX_AXES
        CONV_WINDOW_BLOCK
        CONV_MAX_WIDTH
        CONV_CHANNELS
        CONV_WINDOW_ROWS
        CONV_NONTEMPORAL_BYTES
        CONV_GROUP_WINDOWS
        CONV_MAX_ENTRIES
        CONV_CACHE_LINE
        CONV_NARROW_ROWS
        CONV_LOW_ROWS
        CONV_PACKED_FACTORS
    int64_t CONV_OUTSIDE

    ctypedef struct ConvAxis:
        int64_t count, positions, result_stride
        const int64_t *lhs_offsets

    ctypedef struct ConvSegment:
        int64_t position, skip, length

    ctypedef struct ConvLaunch:
        char *panels
        char *memory
        int64_t pack_items, pack_tasks, packs_per_task, packed_tasks, work_items, items_per_task, slots, slot_bytes
        int32_t *busy

    ctypedef struct ConvProduct:
        const char *lhs
        const char *rhs
        char *result
        const Epilogue *epilogue
        int64_t rank, positions, features, has_base_dilation, groups, columns
        int64_t k_size, k_block_size, k_block_count
        ConvAxis *axes
        const int64_t *position_indices
        const int64_t *factor_offsets
        const int64_t *k_block_segments
        const ConvSegment *segments
        int64_t feature_stride, group_stride, output_stride, lane_stride, factor_feature_stride, factor_output_stride
        int64_t by_windows, by_groups, is_direct, windows, inner, block, rows, vectors, last_vectors, nontemporal
        int64_t strips, padded, strip_group, packs_items, item_windows, windows_first
        int64_t factor_run, first_factor, row_axis
        const int64_t *factor_positions
        const int64_t *row_begins
        const int64_t *row_ends
        int64_t kind, level
        ConvLaunch launch

    ctypedef struct ConvBlock:
        pass

    ctypedef struct ConvRun:
        int64_t first, stride, count, lhs_stride

    ctypedef struct ConvScaling:
        const char *lhs
        const char *factors
        char *result
        const Epilogue *epilogue
        int64_t rank, positions, channels
        ConvAxis *axes
        const int64_t *position_indices
        const int64_t *run_offsets
        const int64_t *factor_offsets
        const ConvRun *runs
        int64_t run_count, window_rows, item_rows, row_blocks, row_block, channel_blocks, channel_block
        int64_t by_channels, lhs_channel_stride, result_channel_stride, nontemporal
        int64_t column_step, low_column, columns, column_stride
        int64_t work_items, items_per_task, kind, level

    enum:
        _WINOGRAD_COLUMNS "WINOGRAD_COLUMNS"
        _WINOGRAD_TILES "WINOGRAD_TILES"
        WINOGRAD_PACKED_FEATURES
        WINOGRAD_POSITIONS
        WINOGRAD_LANES
        WINOGRAD_COPIED

    ctypedef struct ConvWinograd:
        const char *lhs
        const char *rhs
        char *result
        const Epilogue *epilogue
        int64_t features, columns, k_block_size, k_block_count
        int64_t tile_rows, tile_columns, tiles, result_rows, result_columns
        const int64_t *row_offsets
        const int64_t *column_offsets
        const int64_t *factor_offsets
        int64_t factor_run, first_factor
        int64_t lhs_batch_stride, feature_stride, factor_feature_stride, factor_output_stride
        int64_t result_batch_stride, result_row_stride, result_column_stride, output_stride
        int64_t block, blocks, non_finite, level
        ConvLaunch launch

    ctypedef struct ConvPlanes:
        const char *lhs
        const char *rhs
        char *result
        int64_t channels, rows, columns, window_rows, window_columns, low_row, low_column, row_step, column_step
        int64_t lhs_batch_stride, lhs_row_stride, lhs_column_stride, lhs_channel_stride
        int64_t result_batch_stride, result_row_stride, result_column_stride, result_channel_stride, nontemporal
        int64_t block, blocks, copied_rows, pitch, positions, factor_output_stride
        const int64_t *copy_offsets
        const int64_t *factor_offsets
        int64_t kind, level
        ConvLaunch launch

    void conv_planes_task(int64_t task, void *planes) noexcept
    int64_t winograd_position_stride(int64_t rows, int64_t width)
    int64_t winograd_row_stride(int64_t k_size)
    void winograd_task(int64_t task, void *convolution) noexcept
    int conv_best_level()
    int conv_supports(int64_t kind, int64_t level)
    void conv_tile_shape(int64_t kind, int64_t level, int64_t *lanes, int64_t *vectors, int64_t *rows)
    void conv_product_task(int64_t task, void *product) noexcept
    void conv_scaling_task(int64_t task, void *scaling) noexcept
    bint conv_are_finite_float32(const uint32_t *bits, int64_t count)
    bint conv_are_finite_float64(const uint64_t *bits, int64_t count)

K_BLOCK = CONV_K_BLOCK
OUTSIDE = CONV_OUTSIDE
BLOCK = CONV_WINDOW_BLOCK
CHANNELS = CONV_CHANNELS
WINDOW_ROWS = CONV_WINDOW_ROWS
MAX_ENTRIES = CONV_MAX_ENTRIES
NONTEMPORAL_BYTES = CONV_NONTEMPORAL_BYTES
NARROW_ROWS, LOW_ROWS = CONV_NARROW_ROWS, CONV_LOW_ROWS
GROUP_WINDOWS = CONV_GROUP_WINDOWS
MAX_AXES = CONV_MAX_AXES
WINOGRAD_TILES = _WINOGRAD_TILES
WINOGRAD_COLUMNS = _WINOGRAD_COLUMNS

cdef dict _KINDS = {"float32": 0, "float64": 1, "int32": 2, "int64": 3}

cdef enum:
    MAX_TASKS = 128
    # Bytes that a task packs, at least.
    MIN_PACKED_TASK_BYTES = 1 << 17
    # Writers that a convolution caches, one for each combination of operand strides, at most.
    MAX_WRITERS = 8

# What a launch needs of a `PackingLaunch` (`launched_convolution.pxi`): how a call begins, its task and its plan, and
# the bytes from the beginning of rhs and of the result to the slices to use.
cdef struct PackingTasks:
    size_t begin, task, plan
    ConvLaunch *launch
    int64_t rhs_offset, result_offset


def best_level():
    """The number of the best instruction set of this processor that there are loops for."""
    return conv_best_level()


def supports(name, level):
    """Whether there are loops for this element type, by NumPy's name, and instruction set."""
    return name in _KINDS and bool(conv_supports(_KINDS[name], level))


def tile_shape(name, level):
    """The items of a vector, the maximum vectors of a tile, and the rows of tiles with that many vectors."""
    cdef int64_t lanes, max_vectors, rows
    conv_tile_shape(_KINDS[name], level, &lanes, &max_vectors, &rows)
    return lanes, max_vectors, rows


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


cdef int fill_axes(ConvAxis *to, axes, list keep_alive) except -1:
    cdef cnp.ndarray lhs_offsets
    for number, (windows, positions, result_stride, values) in enumerate(axes):
        lhs_offsets = as_integers(values.T, keep_alive)
        to[number].count, to[number].positions, to[number].result_stride = windows, positions, result_stride
        to[number].lhs_offsets = <const int64_t *>cnp.PyArray_DATA(lhs_offsets)
    return 0


cdef cnp.ndarray as_integers(array, list keep_alive):
    values = np.ascontiguousarray(array, np.int64)
    keep_alive.append(values)
    return values


cdef class PackingLaunch:
    """Launches whose first tasks pack rhs.

    Args:
        seconds: estimated duration of a call on one thread.
        threads: maximum number of threads; None: all.
        keeps_panels: whether all calls are given the same rhs. The first call's panels then serve the others.
    """

    cdef list keep_alive
    cdef object threads
    cdef double seconds
    cdef int64_t tasks, panel_bytes
    cdef bint keeps_panels
    cdef AlignedMemory kept_panels

    def __init__(self, seconds, threads, keeps_panels):
        self.seconds, self.threads, self.keeps_panels = seconds, threads, keeps_panels
        self.keep_alive = []

    cdef PackingTasks packing_tasks(self) noexcept:
        """See `PackingTasks`."""
        return PackingTasks(0, 0, 0, NULL, 0, 0)

    cdef void divide_packing(self, ConvLaunch *launch, int64_t pack_items, int64_t panel_bytes) noexcept:
        """Divide the packing of `panel_bytes` into tasks."""
        self.panel_bytes, launch.pack_items = rounded(panel_bytes), pack_items
        launch.pack_tasks = divide_items(
            pack_items, self.panel_bytes // MIN_PACKED_TASK_BYTES, &launch.packs_per_task)

    cdef int run(self, size_t task, size_t plan, ConvLaunch *launch, double epilogue_seconds=0.0) except -1:
        """Run the tasks of a call, whose arguments are `plan` and have `launch`."""
        cdef AlignedMemory memory, panels = self.kept_panels
        cdef int64_t panel_bytes = 0 if self.keeps_panels else self.panel_bytes
        if panels is not None:
            launch.pack_tasks = 0
        elif self.keeps_panels:
            panels = AlignedMemory(self.panel_bytes, True)
        launch.slots = 1 if self.tasks == 1 else min(self.tasks, _threads.chosen_threads(self.threads))
        memory = AlignedMemory(panel_bytes + launch.slots * (launch.slot_bytes + sizeof(int32_t)))
        launch.packed_tasks = 0
        launch.panels = memory.memory if panels is None else panels.memory
        launch.memory = memory.memory + panel_bytes
        launch.busy = <int32_t *>(launch.memory + launch.slots * launch.slot_bytes)
        memset(launch.busy, 0, launch.slots * sizeof(int32_t))
        # Threads begin with consecutive work items: what one has written, it reads in the next convolution.
        run = run_in_order if launch.pack_tasks else run_independent
        run(task, plan, launch.pack_tasks + self.tasks, self.seconds + epilogue_seconds, self.threads)
        # Concurrent first calls each pack panels of their own.
        self.kept_panels = panels
        return 0


cdef class Products(PackingLaunch):
    """Windows times rhs. `layout` has the fields of `ConvProduct` that depend on shapes and strides.

    Args:
        name: the element type.
        level: the instruction set.
        axes: (windows, positions, stride in the result, lhs offsets) of each.
        tables: `position_indices`, `factor_offsets`, `segments` and `k_block_segments`.
        layout: the fields.
        offsets: bytes from the beginning of rhs and of the result to the slices to use.
        seconds, threads, keeps_panels: see `PackingLaunch`.
    """

    cdef ConvProduct plan
    cdef int64_t itemsize, rhs_offset, result_offset

    def __init__(self, name, level, axes, tables, layout, offsets, seconds, threads=None, keeps_panels=False):
        cdef ConvProduct *p = &self.plan
        super().__init__(seconds, threads, keeps_panels)
        self.itemsize = np.dtype(name).itemsize
        self.rhs_offset, self.result_offset = offsets
        p.kind, p.level, p.rank = _KINDS[name], level, len(axes)
        fill_axes(p.axes, axes, self.keep_alive)
        p.position_indices = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["position_indices"], self.keep_alive))
        p.factor_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_offsets"], self.keep_alive))
        p.segments = <const ConvSegment *>cnp.PyArray_DATA(as_integers(tables["segments"], self.keep_alive))
        p.k_block_segments = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["k_block_segments"], self.keep_alive))
        (p.positions, p.features, p.has_base_dilation, p.groups, p.columns, p.k_size, p.k_block_size,
            p.k_block_count) = layout["contraction"]
        (p.feature_stride, p.group_stride, p.output_stride, p.lane_stride) = layout["strides"]
        p.factor_feature_stride, p.factor_output_stride = layout["factor_strides"]
        (p.by_windows, p.by_groups, p.is_direct, p.windows, p.inner, p.block, p.rows, p.vectors,
            p.last_vectors) = layout["tiles"]
        (p.strips, p.padded, p.strip_group, p.launch.work_items, p.nontemporal) = layout["strips"]
        p.packs_items, p.item_windows, p.windows_first = layout["items"]
        p.factor_run, p.first_factor = layout["factor_run"]
        p.factor_positions = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_positions"], self.keep_alive))
        if layout["row_axis"]:
            (p.row_axis,) = layout["row_axis"]
            p.row_begins = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["row_begins"], self.keep_alive))
            p.row_ends = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["row_ends"], self.keep_alive))
        if not p.by_groups and not p.packs_items:
            self.divide_packing(
                &p.launch, packing_items(p), p.k_size * p.groups * p.padded * self.itemsize)
        self.tasks = divide_items(p.launch.work_items, MAX_TASKS, &p.launch.items_per_task)
        p.launch.slot_bytes = slot_bytes(p, self.itemsize)

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """Write the result for arrays with the strides that were prepared."""
        self.write(lhs, rhs, result, NULL, 0.0)

    cdef PackingTasks packing_tasks(self) noexcept:
        return PackingTasks(
            <size_t>&launched_product_begin, <size_t>&launched_product_task, <size_t>&self.plan, &self.plan.launch,
            self.rhs_offset, self.result_offset,
        )

    cdef bint takes_epilogue(self) noexcept:
        """Whether the result is a matrix of windows and contiguous features, if it is contiguous."""
        return self.plan.output_stride == 1 and not self.plan.by_windows

    cdef int write(
        self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result, const Epilogue *epilogue, double epilogue_seconds,
    ) except -1:
        """Write the result, to which an epilogue that takes so long is applied, unless it is NULL."""
        cdef ConvProduct plan = self.plan
        plan.lhs, plan.rhs = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs) + self.rhs_offset
        plan.result = <char *>cnp.PyArray_DATA(result) + self.result_offset
        plan.epilogue = epilogue
        # The epilogue reads what the product has stored.
        plan.nontemporal = plan.nontemporal and epilogue == NULL
        self.run(<size_t>conv_product_task, <size_t>&plan, &plan.launch, epilogue_seconds)
        return 1


cdef int64_t packing_items(ConvProduct *p) noexcept:
    """The items into which the packing of all strips is divided."""
    if not p.factor_run:
        return p.k_block_count * p.groups * p.strips
    cdef int64_t chunks = (p.factor_run + CONV_PACKED_FACTORS - 1) // CONV_PACKED_FACTORS
    return p.k_size // p.factor_run * chunks * p.groups * p.strips


cdef int64_t slot_bytes(ConvProduct *p, int64_t itemsize) noexcept:
    """Bytes of a task's memory: blocks of windows, addresses, windows or panels, and zeros."""
    cdef int64_t blocks = (p.item_windows + p.block - 1) // p.block
    cdef int64_t addresses = CONV_K_BLOCK * CONV_WINDOW_BLOCK
    cdef int64_t items = CONV_MAX_WIDTH * CONV_K_BLOCK + p.groups * p.features + CONV_K_BLOCK
    if p.packs_items:
        items += p.strip_group * CONV_MAX_WIDTH * CONV_K_BLOCK
    return rounded(blocks * sizeof(ConvBlock) + addresses * sizeof(void *) + items * itemsize + 2 * CONV_CACHE_LINE)


cdef class Winograd(PackingLaunch):
    """Winograd's convolution. `layout` has the fields of `ConvWinograd` that depend on shapes and strides.

    Args:
        level: the instruction set.
        tables: `row_offsets`, `column_offsets` and `factor_offsets`.
        layout: the fields.
        seconds, threads, keeps_panels: see `PackingLaunch`.
    """

    cdef ConvWinograd plan

    def __init__(self, level, tables, layout, seconds, threads=None, keeps_panels=False):
        cdef ConvWinograd *p = &self.plan
        cdef int64_t groups, lanes, vectors, rows, row_stride, items
        super().__init__(seconds, threads, keeps_panels)
        p.level = level
        p.row_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["row_offsets"], self.keep_alive))
        p.column_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["column_offsets"], self.keep_alive))
        p.factor_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_offsets"], self.keep_alive))
        p.features, p.columns, p.k_block_size, p.k_block_count = layout["contraction"]
        p.tile_rows, p.tile_columns, p.tiles, p.result_rows, p.result_columns, p.block = layout["tiles"]
        p.factor_run, p.first_factor = layout["factor_run"]
        p.lhs_batch_stride, p.feature_stride = layout["lhs_strides"]
        p.factor_feature_stride, p.factor_output_stride = layout["factor_strides"]
        p.result_batch_stride, p.result_row_stride, p.result_column_stride, p.output_stride = layout["result_strides"]
        conv_tile_shape(_KINDS["float32"], level, &lanes, &vectors, &rows)
        groups = (p.columns + _WINOGRAD_COLUMNS - 1) // _WINOGRAD_COLUMNS
        p.blocks = (p.tiles + p.block - 1) // p.block
        p.launch.work_items = groups * p.blocks
        self.tasks = divide_items(p.launch.work_items, MAX_TASKS, &p.launch.items_per_task)
        items = p.features * ((p.columns + lanes - 1) // lanes * lanes) + groups * p.k_block_count * WINOGRAD_LANES
        self.divide_packing(
            &p.launch, (p.features + WINOGRAD_PACKED_FEATURES - 1) // WINOGRAD_PACKED_FEATURES,
            WINOGRAD_POSITIONS * items * sizeof(float))
        row_stride = winograd_row_stride(p.k_block_size)
        items = winograd_position_stride(p.block, row_stride) + winograd_position_stride(p.block, _WINOGRAD_COLUMNS)
        items = WINOGRAD_POSITIONS * items + WINOGRAD_COPIED + CONV_K_BLOCK
        p.launch.slot_bytes = rounded(
            items * sizeof(float) + (p.block + CONV_NARROW_ROWS) * sizeof(void *) + 2 * CONV_CACHE_LINE)

    cdef PackingTasks packing_tasks(self) noexcept:
        return PackingTasks(
            <size_t>&launched_winograd_begin, <size_t>&launched_winograd_task, <size_t>&self.plan, &self.plan.launch,
            0, 0,
        )

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """Write the result for arrays with the strides that were prepared; return whether it is all finite."""
        return self.write(lhs, rhs, result, NULL, 0.0) == 1

    cdef bint takes_epilogue(self) noexcept:
        """As of `Products`."""
        return self.plan.output_stride == 1 and self.plan.result_column_stride == self.plan.columns

    cdef int write(
        self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result, const Epilogue *epilogue, double epilogue_seconds,
    ) except -1:
        """As of `Products`; return whether the convolution is all finite."""
        cdef ConvWinograd plan = self.plan
        plan.lhs, plan.rhs = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
        plan.result = <char *>cnp.PyArray_DATA(result)
        plan.epilogue = epilogue
        plan.non_finite = 0
        self.run(<size_t>winograd_task, <size_t>&plan, &plan.launch, epilogue_seconds)
        return plan.non_finite == 0


cdef int64_t rounded(int64_t size) noexcept:
    """Round a size up to a multiple of the cache line."""
    return (size + CONV_CACHE_LINE - 1) // CONV_CACHE_LINE * CONV_CACHE_LINE


cdef class CachedByStrides:
    """A convolution of lhs and rhs that caches the writers of its result by the operands' strides.

    Args:
        make: gives the writer for lhs, rhs and the result.
        shape, dtype: of the result.
    """

    cdef object make
    cdef tuple shape
    cdef cnp.dtype dtype
    cdef dict writers

    def __init__(self, make, tuple shape, cnp.dtype dtype):
        self.make, self.shape, self.dtype, self.writers = make, shape, dtype, {}

    def __call__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None):
        cdef cnp.ndarray result = self.new_result()
        lhs, rhs = with_positive_strides(lhs), with_positive_strides(rhs)
        self.writer_of(lhs, rhs, result)(lhs, rhs, result)
        return result

    cdef cnp.ndarray new_result(self):
        """Memory for the result."""
        cdef cnp.npy_intp shape[CONV_MAX_AXES + 1]
        cdef Py_ssize_t axis
        for axis in range(len(self.shape)):
            shape[axis] = self.shape[axis]
        return cnp.PyArray_EMPTY(len(self.shape), shape, self.dtype.type_num, 0)

    def writer(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None):
        """A writer of contiguous results for operands with these strides, whose elements are not read."""
        return self.make(lhs, rhs, self.new_result())

    cdef object writer_of(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """The writer for operands with these strides."""
        strides = strides_of(lhs), strides_of(rhs)
        write = self.writers.get(strides)
        if write is None:
            if len(self.writers) >= MAX_WRITERS:
                self.writers.clear()
            write = self.writers[strides] = self.make(lhs, rhs, result)
        return write


cdef bytes strides_of(cnp.ndarray array):
    """The strides of an array, as a key."""
    return (<char *>cnp.PyArray_STRIDES(array))[:cnp.PyArray_NDIM(array) * sizeof(cnp.npy_intp)]


cdef cnp.ndarray with_positive_strides(cnp.ndarray array):
    """The array, or a contiguous copy if a stride is not a positive multiple of the item size."""
    cdef int axis
    if not cnp.PyArray_ISALIGNED(array):
        return np.ascontiguousarray(array)
    if cnp.PyArray_IS_C_CONTIGUOUS(array):
        return array
    for axis in range(cnp.PyArray_NDIM(array)):
        stride = cnp.PyArray_STRIDE(array, axis)
        if cnp.PyArray_DIM(array, axis) != 1 and (stride <= 0 or stride % cnp.PyArray_ITEMSIZE(array)):
            return np.ascontiguousarray(array)
    return array


cdef class Scaling:
    """Sums of scaled elements. Arguments as for `Products`."""

    cdef ConvScaling plan
    cdef list keep_alive
    cdef object threads
    cdef double seconds
    cdef int64_t tasks

    def __init__(self, name, level, axes, tables, layout, seconds, threads=None):
        cdef ConvScaling *p = &self.plan
        self.keep_alive, self.threads, self.seconds = [], threads, seconds
        p.kind, p.level, p.rank = _KINDS[name], level, len(axes)
        fill_axes(p.axes, axes, self.keep_alive)
        p.position_indices = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["position_indices"], self.keep_alive))
        p.run_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["run_offsets"], self.keep_alive))
        p.factor_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_offsets"], self.keep_alive))
        p.runs = <const ConvRun *>cnp.PyArray_DATA(as_integers(tables["runs"], self.keep_alive))
        p.run_count, p.positions = len(tables["runs"]), len(tables["position_indices"])
        (p.channels, p.window_rows, p.item_rows, p.row_blocks, p.row_block, p.channel_blocks,
            p.channel_block) = layout["blocks"]
        (p.by_channels, p.lhs_channel_stride, p.result_channel_stride, p.work_items, p.nontemporal) = layout["strides"]
        p.column_step, p.low_column, p.columns, p.column_stride = layout["tiles"]
        self.tasks = divide_items(p.work_items, MAX_TASKS, &p.items_per_task)

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """Write the result; rhs is contiguous for each position."""
        self.write(lhs, rhs, result, NULL, 0.0)

    cdef bint takes_epilogue(self) noexcept:
        """As of `Products`."""
        return self.plan.by_channels

    cdef int write(
        self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result, const Epilogue *epilogue, double epilogue_seconds,
    ) except -1:
        """As of `Products`."""
        cdef ConvScaling plan = self.plan
        plan.lhs, plan.factors = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
        plan.result = <char *>cnp.PyArray_DATA(result)
        plan.epilogue = epilogue
        plan.nontemporal = plan.nontemporal and epilogue == NULL
        # Threads begin with consecutive rows: what one has written, it reads in the next convolution.
        run_independent(
            <size_t>conv_scaling_task, <size_t>&plan, self.tasks, self.seconds + epilogue_seconds, self.threads)
        return 1


cdef class Planes(PackingLaunch):
    """A depthwise convolution of planes. `layout` has the fields of `ConvPlanes` that depend on shapes and strides.

    Args:
        name: the element type.
        level: the instruction set.
        tables: `copy_offsets` and `factor_offsets`.
        layout: the fields.
        seconds, threads: see `PackingLaunch`.
    """

    cdef ConvPlanes plan

    def __init__(self, name, level, tables, layout, seconds, threads=None):
        cdef ConvPlanes *p = &self.plan
        cdef int64_t batch, lanes, vectors, rows
        super().__init__(seconds, threads, False)
        p.kind, p.level = _KINDS[name], level
        p.copy_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["copy_offsets"], self.keep_alive))
        p.factor_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_offsets"], self.keep_alive))
        p.positions = len(tables["copy_offsets"])
        (batch, p.channels, p.rows, p.columns, p.window_rows, p.window_columns) = layout["sizes"]
        (p.low_row, p.low_column, p.row_step, p.column_step) = layout["windows"]
        p.lhs_batch_stride, p.lhs_row_stride, p.lhs_column_stride, p.lhs_channel_stride = layout["lhs_strides"]
        (p.result_batch_stride, p.result_row_stride, p.result_column_stride,
            p.result_channel_stride) = layout["result_strides"]
        p.factor_output_stride, p.nontemporal = layout["stores"]
        (p.block, p.copied_rows, p.pitch) = layout["blocks"]
        conv_tile_shape(p.kind, level, &lanes, &vectors, &rows)
        p.blocks = (p.window_rows + p.block - 1) // p.block
        p.launch.pack_tasks, p.launch.work_items = 0, batch * p.blocks * ((p.channels + lanes - 1) // lanes)
        self.tasks = divide_items(p.launch.work_items, MAX_TASKS, &p.launch.items_per_task)
        p.launch.slot_bytes = rounded(CONV_CACHE_LINE + lanes * np.dtype(name).itemsize * (
            p.copied_rows * p.pitch + p.block * p.window_columns + p.positions))

    cdef PackingTasks packing_tasks(self) noexcept:
        return PackingTasks(
            <size_t>&launched_planes_begin, <size_t>&launched_planes_task, <size_t>&self.plan, &self.plan.launch, 0, 0,
        )

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """Write the result for arrays with the strides that were prepared."""
        cdef ConvPlanes plan = self.plan
        plan.lhs, plan.rhs = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
        plan.result = <char *>cnp.PyArray_DATA(result)
        self.run(<size_t>conv_planes_task, <size_t>&plan, &plan.launch)


include "sliding.pxi"
include "convolution_epilogue.pxi"
include "launched_convolution.pxi"


cdef int64_t divide_items(int64_t work_items, int64_t wanted_tasks, int64_t *items_per_task) noexcept:
    """The number of tasks for these work items, at most `wanted_tasks`; sets `items_per_task`."""
    cdef int64_t tasks = max(1, min(work_items, min(wanted_tasks, MAX_TASKS)))
    items_per_task[0] = (work_items + tasks - 1) // tasks
    return (work_items + items_per_task[0] - 1) // items_per_task[0]
