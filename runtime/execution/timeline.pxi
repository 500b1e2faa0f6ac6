# When steps begin and end. `Timeline` takes the place of `Limits` in a run, so that a run without it does nothing.

cdef extern from *:
    """
    /* The clocks of Python's time.perf_counter. */
    #ifdef _WIN32
    #include <windows.h>
    static double timeline_seconds(void) {
        LARGE_INTEGER count, frequency;
        QueryPerformanceCounter(&count);
        QueryPerformanceFrequency(&frequency);
        return (double)count.QuadPart / (double)frequency.QuadPart;
    }
    #elif defined(__APPLE__)
    #include <time.h>
    static double timeline_seconds(void) { return 1e-9 * (double)clock_gettime_nsec_np(CLOCK_UPTIME_RAW); }
    #else
    #include <time.h>
    static double timeline_seconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    #endif

    /* Ticks of the processor's time-stamp counter where its frequency is constant (CPUID 80000007h, EDX bit 8:
       AMD64 Architecture Programmer's Manual, volume 3, and Intel's, volume 2); elsewhere nanoseconds. Reading
       the counter takes a third of the time of reading the clock. */
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>
    #include <x86intrin.h>
    static int timeline_has_counter(void) {
        unsigned int eax, ebx, ecx, edx;
        return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx >> 8 & 1);
    }
    static int timeline_counts = -1;
    static long long timeline_ticks(void) {
        if (timeline_counts < 0) timeline_counts = timeline_has_counter();
        return timeline_counts ? (long long)__rdtsc() : (long long)(1e9 * timeline_seconds());
    }
    #else
    static long long timeline_ticks(void) { return (long long)(1e9 * timeline_seconds()); }
    #endif
    """
    double timeline_seconds() nogil
    long long timeline_ticks() nogil

# The calls of a step: its `Step`, the position among the timings of the step whose region it is in or None, its index
# in its plan, calls, calls of native code that replaced another implementation, seconds of all calls, seconds of these
# in steps of its regions, and seconds of the longest call.
StepTiming = namedtuple(
    "StepTiming", "step parent plan_index calls native_calls seconds nested_seconds longest_seconds", module=__name__
)

cdef enum:
    MAX_INTERVALS = 1 << 20

cdef enum:
    # Readings of both clocks of which the quickest pair counts: a thread may be interrupted between two.
    CLOCK_READINGS = 5

cdef struct OpenStep:
    long long start
    long long nested
    PyObject *step

cdef struct Instant:
    long long ticks
    double seconds

cdef struct Interval:
    PyObject *step
    PyObject *parent
    Py_ssize_t index
    bint is_native
    long long start
    long long ticks
    long long nested

cdef struct StepTotal:
    long long calls
    long long native_calls
    double seconds
    double nested_seconds
    double longest


cdef Instant present_instant() noexcept:
    """The present instant, read from the clock and in ticks."""
    cdef Instant best
    cdef long long before, after, shortest = -1
    cdef double seconds
    for _ in range(CLOCK_READINGS):
        before = timeline_ticks()
        seconds = timeline_seconds()
        after = timeline_ticks()
        if shortest < 0 or after - before < shortest:
            shortest = after - before
            best.ticks, best.seconds = before + shortest // 2, seconds
    return best


cdef class Timeline(Limits):
    """Records when each step of runs begins and ends, under their limits.

    The intervals of the first MAX_INTERVALS steps that end are stored; totals count all of them. One thread at a
    time may run under a timeline.

    Args:
        max_steps, timeout, max_bytes: see `Limits`; the timeout begins now.
    """

    cdef Interval *intervals
    cdef Py_ssize_t recorded, capacity, max_intervals
    cdef OpenStep *open_steps
    cdef Py_ssize_t depth, open_capacity
    cdef StepTotal *totals
    cdef Py_ssize_t totals_capacity
    cdef Instant origin
    cdef long long last_end, last_reading
    cdef dict numbers
    cdef list entries, stored

    def __cinit__(self, max_steps=None, timeout=None, max_bytes=None):
        self.max_intervals = MAX_INTERVALS
        self.capacity, self.open_capacity, self.totals_capacity = 1 << 16, 64, 64
        self.intervals = <Interval *>PyMem_Malloc(self.capacity * sizeof(Interval))
        self.open_steps = <OpenStep *>PyMem_Malloc(self.open_capacity * sizeof(OpenStep))
        self.totals = <StepTotal *>PyMem_Malloc(self.totals_capacity * sizeof(StepTotal))
        if self.intervals == NULL or self.open_steps == NULL or self.totals == NULL:
            raise MemoryError
        # Writing a page of new memory takes as long as ten steps, so the pages are written before the run.
        memset(self.intervals, 0, self.capacity * sizeof(Interval))
        self.numbers, self.entries, self.stored = {}, [], []
        self.origin = present_instant()
        self.last_reading = self.origin.ticks

    def __dealloc__(self):
        PyMem_Free(self.intervals)
        PyMem_Free(self.open_steps)
        PyMem_Free(self.totals)

    cdef long long read_ticks(self) noexcept:
        """The counter, or its last reading if that is greater: the counters of two processors may differ."""
        self.last_reading = max(self.last_reading, timeline_ticks())
        return self.last_reading

    cdef int begin(self, _Step step) except -1:
        cdef OpenStep *grown
        self.running = step
        if self.max_steps is not None or self.deadline:
            Limits.count(self, step, 1)
        if self.depth == self.open_capacity:
            grown = <OpenStep *>PyMem_Realloc(self.open_steps, 2 * self.open_capacity * sizeof(OpenStep))
            if grown == NULL:
                raise MemoryError
            self.open_steps = grown
            self.open_capacity *= 2
        self.open_steps[self.depth].nested = 0
        self.open_steps[self.depth].step = <PyObject *>step
        # A step begins where the one before it has ended, which saves a reading of the counter.
        self.open_steps[self.depth].start = self.last_end if self.last_end else self.read_ticks()
        self.last_end = 0
        self.depth += 1
        return 0

    cdef int count(self, _Step step, long long steps) except -1:
        self.last_end = 0
        return Limits.count(self, step, steps)

    cdef int end(self, _Step step, Py_ssize_t index) except -1:
        cdef long long now = self.read_ticks()
        cdef Interval *interval
        if self.recorded == self.capacity:
            self.add_up()
        self.depth -= 1
        interval = &self.intervals[self.recorded]
        interval.step = <PyObject *>step
        interval.index = index
        interval.is_native = step.native is not None or (
            # Its own function calls the native code of a loop.
            step.kind == CALL_WITH_REGIONS and step.plan_step.implementation.is_replaced
        )
        interval.start = self.open_steps[self.depth].start
        interval.ticks = now - interval.start
        interval.nested = self.open_steps[self.depth].nested
        interval.parent = NULL
        if self.depth:
            interval.parent = self.open_steps[self.depth - 1].step
            self.open_steps[self.depth - 1].nested += interval.ticks
        self.recorded += 1
        self.last_end = now
        return self.check_deadline(step) if self.deadline else 0

    cdef int add_up(self) except -1:
        """Add the intervals so far to the totals of their steps, and store them up to `max_intervals`."""
        cdef Py_ssize_t position, number, stored = min(self.recorded, self.max_intervals)
        cdef Interval *interval
        cdef StepTotal *total
        cdef cnp.ndarray numbers = np.empty(stored, np.int32), times = np.empty((stored, 2))
        cdef Instant now = present_instant()
        cdef double seconds, tick = (now.seconds - self.origin.seconds) / max(now.ticks - self.origin.ticks, 1)
        cdef int32_t *stored_numbers = <int32_t *>cnp.PyArray_DATA(numbers)
        cdef double *stored_times = <double *>cnp.PyArray_DATA(times)
        for position in range(self.recorded):
            interval = &self.intervals[position]
            number = self.number_of(interval)
            total = &self.totals[number]
            total.calls += 1
            total.native_calls += interval.is_native
            seconds = tick * interval.ticks
            total.seconds += seconds
            total.nested_seconds += tick * interval.nested
            total.longest = max(total.longest, seconds)
            if position < stored:
                stored_numbers[position] = <int32_t>number
                stored_times[2 * position] = self.origin.seconds + tick * (interval.start - self.origin.ticks)
                stored_times[2 * position + 1] = seconds
        if stored:
            self.stored.append((numbers, times))
        self.max_intervals -= stored
        self.recorded = 0
        return 0

    cdef Py_ssize_t number_of(self, Interval *interval) except -1:
        """The number of an interval's step, in the order in which steps are first seen to end."""
        cdef _Step step = <_Step>interval.step
        cdef StepTotal *grown
        cdef object number = self.numbers.get(step)
        if number is not None:
            return number
        cdef Py_ssize_t new = len(self.entries)
        if new == self.totals_capacity:
            grown = <StepTotal *>PyMem_Realloc(self.totals, 2 * new * sizeof(StepTotal))
            if grown == NULL:
                raise MemoryError
            self.totals = grown
            self.totals_capacity = 2 * new
        self.totals[new] = StepTotal(0, 0, 0.0, 0.0, 0.0)
        self.numbers[step] = new
        parent = None if interval.parent == NULL else <_Step>interval.parent
        self.entries.append((step, parent, interval.index))
        return new

    def start(self):
        """The timeline itself, at the start of a run."""
        self.last_end = 0
        self.depth = 0
        return self

    def steps(self):
        """The `StepTiming` of each step that ran."""
        cdef StepTotal total
        cdef Py_ssize_t number
        self.add_up()
        timings = []
        for number in range(len(self.entries)):
            step, parent, index = self.entries[number]
            total = self.totals[number]
            timings.append(StepTiming(
                (<_Step>step).plan_step, self.numbers.get(parent), index, total.calls, total.native_calls,
                total.seconds, total.nested_seconds, total.longest,
            ))
        return timings

    def stored_intervals(self):
        """The step's number, and the start and duration in seconds, of each stored interval, in the order of
        their ends.
        """
        self.add_up()
        if not self.stored:
            return np.empty(0, np.int32), np.empty((0, 2))
        numbers, times = zip(*self.stored, strict=True)
        return np.concatenate(numbers), np.concatenate(times)
