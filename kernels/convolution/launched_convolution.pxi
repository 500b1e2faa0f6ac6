# Convolutions as launches, for native loops. `convolution_tasks.pyx` includes this.

cdef extern from "launched_convolution.h" nogil:
    enum:
        LAUNCHED_ALWAYS
    ctypedef struct LaunchedPlan:
        pass

    void launched_product_begin(int64_t task, void *closure) noexcept
    void launched_product_task(int64_t task, void *closure) noexcept
    void launched_planes_begin(int64_t task, void *closure) noexcept
    void launched_planes_task(int64_t task, void *closure) noexcept
    void launched_sliding_begin(int64_t task, void *closure) noexcept
    void launched_sliding_task(int64_t task, void *closure) noexcept
    void launched_winograd_begin(int64_t task, void *closure) noexcept
    void launched_winograd_task(int64_t task, void *closure) noexcept
    void launched_scaling_begin(int64_t task, void *closure) noexcept
    void launched_scaling_task(int64_t task, void *closure) noexcept
    void launched_finite_task(int64_t task, void *closure) noexcept
    void launched_overflow_task(int64_t task, void *closure) noexcept
    void launched_replace_task(int64_t task, void *closure) noexcept
    void launched_clear_task(int64_t task, void *closure) noexcept

cdef enum:
    # The arrays of a call, as launches number them.
    LHS = 0
    RHS = 1
    RESULT = 2
    SCRATCH = 3
    FLAG = 4
    OTHER_RESULT = 5

ALWAYS = LAUNCHED_ALWAYS
"""What a launch that waits for no flag is given instead of the flag's value."""


cdef class LaunchList:
    """The launches of a convolution of C-contiguous arrays, in order.

    Args:
        result_bytes: of the result.
        threads: maximum number of threads; None: all.
    """

    cdef list launches
    cdef object threads
    cdef int64_t scratch_bytes, result_bytes
    cdef bint has_other_result

    def __init__(self, int64_t result_bytes, threads):
        self.launches, self.threads = [], threads
        self.scratch_bytes, self.result_bytes, self.has_other_result = 0, result_bytes, False

    def add_check(self, cnp.ndarray rhs not None):
        """Set the flag to whether no factor is an infinity or NaN."""
        is_double = cnp.PyArray_ITEMSIZE(rhs) == 8
        self.add(<size_t>&launched_finite_task, ((RHS, 0), (FLAG, 0)), (cnp.PyArray_SIZE(rhs), is_double))

    def add_clear(self, int64_t wanted):
        """Set the result to 0 if the flag is `wanted`, or always."""
        self.add(<size_t>&launched_clear_task, ((RESULT, 0), (FLAG, 0)), (self.result_bytes, wanted))

    def add_writer(self, writer, int64_t wanted, bint writes_other=False):
        """Run a writer if the flag is `wanted`, or always. Returns whether that can be launched.

        Args:
            writes_other: whether it writes the other result.
        """
        cdef int64_t result = OTHER_RESULT if writes_other else RESULT
        if isinstance(writer, Scaling):
            self.add_scaling(<Scaling>writer, wanted, result)
        elif isinstance(writer, PackingLaunch):
            self.add_packing(<PackingLaunch>writer, wanted, result)
        else:
            return False
        return True

    def add_overflow_check(self):
        """Set the flag to whether Winograd's algorithm, which was added last, has results that are not finite."""
        self.add(<size_t>&launched_overflow_task, ((SCRATCH, 0), (FLAG, 0)), ())

    def add_replacement(self):
        """Replace results that are not finite by those of the other result, if the flag is set."""
        self.has_other_result = True
        accesses = (RESULT, 0), (OTHER_RESULT, 0), (FLAG, 0)
        self.add(<size_t>&launched_replace_task, accesses, (self.result_bytes // sizeof(float),))

    def function(self, operands, result):
        """The launches as a `NativeFunction`.

        Args:
            operands: the bytes of lhs and rhs.
            result: shape and element type.
        """
        from ..launch.native import NativeFunction

        scratch = [((self.scratch_bytes,), np.uint8), ((1,), np.int64)]
        if self.has_other_result:
            scratch.append(result)
        return NativeFunction(operands, [result], self.launches, self.threads, scratch)

    cdef int add(self, size_t task, tuple accesses, tuple integers) except -1:
        """Add a launch of one short task."""
        self.add_tasks(task, 1, accesses, integers, 0.0, None)
        return 0

    cdef int add_tasks(
        self, size_t task, int64_t tasks, tuple accesses, tuple integers, double seconds, keep_alive
    ) except -1:
        from ..launch.native import Launch

        self.launches.append(Launch(task, tasks, accesses, integers, seconds, keep_alive))
        return 0

    cdef int add_scaling(self, Scaling writer, int64_t wanted, int64_t result) except -1:
        accesses = (LHS, 0), (RHS, 0), (result, 0), (SCRATCH, 0), (FLAG, 0)
        self.add_tasks(
            <size_t>&launched_scaling_begin, 1, accesses, (<size_t>&writer.plan, wanted), 0.0, writer)
        self.add_tasks(
            <size_t>&launched_scaling_task, writer.tasks, ((SCRATCH, 0),), (0,), writer.seconds, None)
        self.scratch_bytes = max(self.scratch_bytes, <int64_t>sizeof(LaunchedPlan) + CONV_CACHE_LINE)
        return 0

    cdef int add_packing(self, PackingLaunch writer, int64_t wanted, int64_t result) except -1:
        cdef PackingTasks tasks = writer.packing_tasks()
        cdef ConvLaunch *launch = tasks.launch
        cdef int64_t pack_tasks = launch.pack_tasks
        launch.slots = 1 if writer.tasks == 1 else min(writer.tasks, _threads.chosen_threads(self.threads))
        accesses = (LHS, 0), (RHS, tasks.rhs_offset), (result, tasks.result_offset), (SCRATCH, 0), (FLAG, 0)
        integers = tasks.plan, wanted, writer.panel_bytes
        self.add_tasks(tasks.begin, 1, accesses, integers, 0.0, writer)
        if pack_tasks:
            self.add_tasks(tasks.task, pack_tasks, ((SCRATCH, 0),), (0,), writer.seconds, None)
        self.add_tasks(tasks.task, writer.tasks, ((SCRATCH, 0),), (pack_tasks,), writer.seconds, None)
        needed = sizeof(LaunchedPlan) + 2 * CONV_CACHE_LINE + writer.panel_bytes
        needed += launch.slots * (launch.slot_bytes + sizeof(int32_t))
        self.scratch_bytes = max(self.scratch_bytes, <int64_t>needed)
        return 0
