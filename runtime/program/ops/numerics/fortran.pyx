# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of Fortran routines by their address, once for each problem of a batch, which threads share.

A Fortran routine takes addresses alone, and after them the lengths of its character arguments. All that does not
depend on the elements is computed when a call is prepared: a small problem costs little more than the routine.

Some routines iterate, or choose indices by comparisons: with an element that is not finite they may never end, or write
beyond their arguments. Such a routine is not called for a problem in which an element that must be finite is not. The
problem's results are then those of a routine that failed: NaN, the permutation that changes nothing, and -i as
information where argument i is at fault. The results of a problem for which such a routine itself reports a failure are
NaN as well: it has not computed all of them.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

import numpy as np

from ....kernels.launch.native import run_independent
from ....kernels.launch.threads import chosen_threads

cnp.import_array()

include "launch/empty_results.pxi"

# A routine ignores excess arguments, as the caller removes them from the stack. A 1 is the length of a character.
cdef extern from *:
    """
    #include <stdint.h>
    #define MAX_ARGUMENTS 20
    typedef uintptr_t address;
    typedef void (*routine)(address, address, address, address, address, address, address, address, address, address,
                            address, address, address, address, address, address, address, address, address, address);
    static void call_routine(address routine_address, const address *p) {
        ((routine) routine_address)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12],
                            p[13], p[14], p[15], p[16], p[17], p[18], p[19]);
    }
    """
    enum:
        MAX_ARGUMENTS
    void call_routine(uintptr_t address, const uintptr_t *arguments) noexcept nogil

cdef enum:
    # Maximum size in bytes of a workspace on the stack.
    MAX_STACK_BYTES = 65536
    # Columns that are transposed at a time.
    TRANSPOSED_COLUMNS = 16
    ALIGNMENT = 64

# Seconds of a task, at least, where several share the problems.
cdef double MIN_TASK_SECONDS = 2e-5

cdef enum Storage:
    IN_WORKSPACE
    IN_RESULT
    IN_OPERAND

# The elements of an array that must be finite.
cdef enum FiniteElements:
    NO_ELEMENTS
    ALL_ELEMENTS
    LOWER_TRIANGLE
    UPPER_TRIANGLE

cdef dict _FINITE_ELEMENTS = {None: NO_ELEMENTS, "all": ALL_ELEMENTS, "L": LOWER_TRIANGLE, "U": UPPER_TRIANGLE}

cdef struct Pair:
    uint64_t first, second

ctypedef fused Element:
    uint32_t
    uint64_t
    Pair

ctypedef fused Real:
    float
    double


def capsule_address(capsule) -> int:
    """The address of a function in a capsule, such as those of `scipy.linalg.cython_lapack`."""
    return <uintptr_t> PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


def capsule_signature(capsule) -> str:
    """The declaration in C of the function in such a capsule: its name, as Cython has it."""
    return PyCapsule_GetName(capsule).decode()


cdef void copy_elements(
    Element *to, const char *source, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t row_stride,
    Py_ssize_t column_stride,
) noexcept nogil:
    """`copy_matrix` for elements of one size, some columns at a time, so that what is read stays cached."""
    cdef Py_ssize_t i, j, first = 0, last
    while first < columns:
        last = min(first + TRANSPOSED_COLUMNS, columns)
        for i in range(rows):
            for j in range(first, last):
                to[i * columns + j] = (<const Element *> (source + i * row_stride + j * column_stride))[0]
        first = last


cdef void copy_matrix(
    char *to, const char *source, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t row_stride, Py_ssize_t column_stride,
    Py_ssize_t item_bytes,
) noexcept nogil:
    """Copy a matrix with strides in bytes to one that is stored row by row."""
    cdef Py_ssize_t i
    if columns == 1 or column_stride == item_bytes:
        if rows == 1 or row_stride == columns * item_bytes:
            memcpy(to, source, rows * columns * item_bytes)
        else:
            for i in range(rows):
                memcpy(to + i * columns * item_bytes, source + i * row_stride, columns * item_bytes)
    elif item_bytes == 4:
        copy_elements(<uint32_t *> to, source, rows, columns, row_stride, column_stride)
    elif item_bytes == 8:
        copy_elements(<uint64_t *> to, source, rows, columns, row_stride, column_stride)
    else:
        copy_elements(<Pair *> to, source, rows, columns, row_stride, column_stride)


cdef void unpack(Real *to, const Real *packed, const Real *imaginary, Py_ssize_t order) noexcept nogil:
    """Complex eigenvectors, row by row; those of a conjugate pair are packed into two real columns."""
    cdef Py_ssize_t i, j
    cdef Real sign
    for j in range(order):
        sign = 0
        if imaginary[j] > 0 and j + 1 < order:
            sign = 1
        elif imaginary[j] < 0 and j > 0:
            sign = -1
        for i in range(order):
            if sign > 0:
                to[2 * (i * order + j)] = packed[j * order + i]
                to[2 * (i * order + j) + 1] = packed[(j + 1) * order + i]
            elif sign < 0:
                to[2 * (i * order + j)] = packed[(j - 1) * order + i]
                to[2 * (i * order + j) + 1] = -packed[j * order + i]
            else:
                to[2 * (i * order + j)] = packed[j * order + i]
                to[2 * (i * order + j) + 1] = 0


cdef struct Buffer:
    # An array argument, as `lapack_library.Buffer` declares it.
    Storage storage
    # The operand that it begins as and the result that it ends as; -1: none.
    Py_ssize_t source, result
    # The rank of one problem's array, 0 to 2.
    int rank
    Py_ssize_t rows, columns, item_bytes, component_bytes
    # In bytes: its offset in the workspace, the skipped elements, and the strides between problems.
    Py_ssize_t offset, skipped, stride, result_stride
    bint by_columns, is_zero, is_integer, is_information
    FiniteElements finite
    # The argument with the imaginary parts of eigenvalues whose vectors it has; -1: it has no such vectors.
    Py_ssize_t pairs


cdef struct Routine:
    uintptr_t address
    # The number of arguments that are declared, and the bytes of the workspace of one problem.
    Py_ssize_t used, bytes
    uintptr_t passed[MAX_ARGUMENTS]
    int64_t wide[MAX_ARGUMENTS]
    int32_t narrow[MAX_ARGUMENTS]
    char characters[MAX_ARGUMENTS]
    bint is_buffer[MAX_ARGUMENTS]
    # Whether the routine needs finite elements.
    bint is_guarded
    Buffer buffers[MAX_ARGUMENTS]

# Problems that tasks share: task t solves those from `t * count // tasks` on, in the t-th workspace. `sources`, `targets`
# and `strides` are those of the arguments that are buffers.
cdef struct Problems:
    const Routine *routine
    Py_ssize_t count, tasks
    char *workspace
    char *sources[MAX_ARGUMENTS]
    char *targets[MAX_ARGUMENTS]
    Py_ssize_t strides[MAX_ARGUMENTS][3]


cdef class Call:
    """A prepared routine: everything that a call needs except the arrays.

    Args:
        address: where the routine is.
        has_wide_integers: whether the routine's integers have 64 bits, and not 32.
        count: how many problems there are.
        arguments: characters, integers, constant arrays, or pairs of an element type and a
            `lapack_library.Buffer`. What the routine writes to is the caller's to have made large enough.
        results: shape and element type of each result; zero where no argument becomes it.
        context: what is entered around the calls; None: nothing.
        seconds: that one problem takes, at least.
        threads: the maximum number of threads that share the problems; None: all.

    Raises:
        OverflowError: an integer is too large for the routine.
        ValueError: there are too many arguments.
    """

    cdef Routine routine
    cdef Py_ssize_t count
    cdef tuple shapes, dtypes, are_zero
    cdef list constants
    cdef object context, threads
    cdef double seconds

    def __init__(
        self, uintptr_t address, bint has_wide_integers, Py_ssize_t count, arguments, results, context=None,
        double seconds=0.0, threads=1,
    ):
        cdef Py_ssize_t position = 0
        cdef Routine *routine = &self.routine
        self.count, self.seconds, self.threads = count, seconds, threads
        routine.address, routine.used, routine.bytes, routine.is_guarded = address, len(arguments), 0, False
        if routine.used > MAX_ARGUMENTS - 4:
            raise ValueError(f"a routine has {routine.used} arguments")
        self.shapes = tuple([tuple(shape) for shape, _ in results])
        self.dtypes = tuple([np.dtype(dtype) for _, dtype in results])
        are_made = [False] * len(results)
        self.constants = []
        self.context = context
        for argument in arguments:
            routine.is_buffer[position] = False
            if isinstance(argument, str):
                routine.characters[position] = ord(argument)
                routine.passed[position] = <uintptr_t> &routine.characters[position]
            elif isinstance(argument, int) and has_wide_integers:
                routine.wide[position] = argument
                routine.passed[position] = <uintptr_t> &routine.wide[position]
            elif isinstance(argument, int):
                routine.narrow[position] = argument
                routine.passed[position] = <uintptr_t> &routine.narrow[position]
            elif isinstance(argument, np.ndarray):
                self.constants.append(argument)
                routine.passed[position] = <uintptr_t> cnp.PyArray_DATA(<cnp.ndarray> argument)
            else:
                routine.is_buffer[position] = True
                self.enter(argument[0], argument[1], &routine.buffers[position])
                routine.is_guarded |= routine.buffers[position].finite != NO_ELEMENTS
                if routine.buffers[position].result >= 0:
                    are_made[routine.buffers[position].result] = True
            position += 1
        self.are_zero = tuple([not is_made for is_made in are_made])
        for position in range(routine.used, MAX_ARGUMENTS):
            routine.passed[position] = 1

    cdef int enter(self, dtype, declared, Buffer *buffer) except -1:
        cdef Py_ssize_t size, item = dtype.itemsize
        buffer.rank = len(declared.shape)
        buffer.rows = declared.shape[0] if buffer.rank == 2 else 1
        buffer.columns = declared.shape[buffer.rank - 1] if buffer.rank else 1
        buffer.item_bytes, buffer.skipped = item, declared.skipped * item
        buffer.source = -1 if declared.source is None else declared.source
        buffer.result = -1 if declared.result is None else declared.result
        buffer.pairs = -1 if declared.pairs is None else declared.pairs
        buffer.is_zero = declared.is_zero
        buffer.component_bytes = item // 2 if dtype.kind == "c" else item
        buffer.is_integer, buffer.is_information = dtype.kind == "i", declared.is_information
        buffer.finite = _FINITE_ELEMENTS[declared.finite]
        buffer.by_columns = declared.by_columns and buffer.rows != 1 and buffer.columns != 1
        size = buffer.rows * buffer.columns * item
        buffer.stride = buffer.offset = buffer.result_stride = 0
        buffer.storage = IN_WORKSPACE
        if buffer.result >= 0:
            buffer.result_stride = buffer.rows * buffer.columns * self.dtypes[buffer.result].itemsize
            if not buffer.by_columns and buffer.pairs < 0 and buffer.result_stride == size:
                buffer.storage, buffer.stride = IN_RESULT, size
        elif declared.is_read_only and not buffer.by_columns:
            buffer.storage, buffer.stride = IN_OPERAND, size
        if buffer.storage == IN_WORKSPACE:
            buffer.offset = self.routine.bytes
            self.routine.bytes += (size // ALIGNMENT + 1) * ALIGNMENT
        return 0

    cdef tuple run(self, tuple operands):
        """The results for some operands."""
        cdef Problems problems
        cdef char stack_memory[MAX_STACK_BYTES + ALIGNMENT]
        cdef Py_ssize_t position
        cdef cnp.npy_intp bytes
        cdef Buffer *buffer
        cdef cnp.ndarray array
        cdef list held = []
        cdef tuple results = empty_results(self.shapes, self.dtypes, self.are_zero)
        problems.routine, problems.count, problems.tasks = &self.routine, self.count, self.max_tasks()
        if problems.tasks > 1:
            problems.tasks = min(problems.tasks, <Py_ssize_t> chosen_threads(self.threads))
        problems.workspace, bytes = stack_memory, problems.tasks * workspace_bytes(&self.routine)
        if bytes > MAX_STACK_BYTES + ALIGNMENT:
            array = cnp.PyArray_SimpleNew(1, &bytes, cnp.NPY_UINT8)
            held.append(array)
            problems.workspace = <char *> cnp.PyArray_DATA(array)
        for position in range(self.routine.used):
            if not self.routine.is_buffer[position]:
                continue
            buffer = &self.routine.buffers[position]
            if buffer.source >= 0:
                array = _by_problems(operands[buffer.source], buffer, problems.strides[position])
                held.append(array)
                problems.sources[position] = <char *> cnp.PyArray_DATA(array)
            if buffer.result >= 0:
                problems.targets[position] = <char *> cnp.PyArray_DATA(<cnp.ndarray> results[buffer.result])
        if problems.tasks > 1:
            run_independent(
                <size_t> &solve_share, <size_t> &problems, problems.tasks, self.count * self.seconds, self.threads
            )
        else:
            with nogil:
                solve_share(0, &problems)
        return results

    cdef Py_ssize_t max_tasks(self) noexcept:
        """The number of tasks that are worth it to solve all problems."""
        return max(1, min(self.count, <Py_ssize_t> (self.count * self.seconds / MIN_TASK_SECONDS)))

    @property
    def solver(self):
        """The address of `void solve(Call, void **operands, void **results)`, which calls the routine without Python on
        C-contiguous arrays that do not overlap. None if the call needs Python: it enters a context, needs more memory
        than the stack has, leaves results as zeros, or has problems that tasks share."""
        is_plain = self.context is None and self.routine.bytes <= MAX_STACK_BYTES and not any(self.are_zero)
        is_plain = is_plain and self.max_tasks() == 1
        return <uintptr_t> &solve_contiguous if is_plain else None


cdef Py_ssize_t workspace_bytes(const Routine *routine) noexcept nogil:
    """Bytes of the workspace of a task, which begins at any address."""
    return routine.bytes + ALIGNMENT


cdef void solve_share(int64_t task, void *closure) noexcept nogil:
    """Solve the problems of a task; see `Problems`."""
    cdef const Problems *problems = <const Problems *> closure
    cdef const Routine *routine = problems.routine
    cdef uintptr_t passed[MAX_ARGUMENTS]
    cdef const char *sources[MAX_ARGUMENTS]
    cdef char *targets[MAX_ARGUMENTS]
    cdef Py_ssize_t problem, position, first = task * problems.count // problems.tasks
    cdef char *workspace = problems.workspace + task * workspace_bytes(routine)
    cdef const Buffer *buffer
    workspace += (ALIGNMENT - <uintptr_t> workspace % ALIGNMENT) % ALIGNMENT
    memcpy(passed, routine.passed, sizeof(passed))
    for position in range(routine.used):
        if routine.is_buffer[position]:
            buffer = &routine.buffers[position]
            if buffer.source >= 0:
                sources[position] = problems.sources[position] + first * problems.strides[position][0]
            if buffer.result >= 0:
                targets[position] = problems.targets[position] + first * buffer.result_stride
            passed[position] = address_of(buffer, workspace, sources[position], targets[position])
    for problem in range(first, (task + 1) * problems.count // problems.tasks):
        solve_problem(routine, passed, sources, targets, problems.strides)
        for position in range(routine.used):
            if routine.is_buffer[position]:
                buffer = &routine.buffers[position]
                passed[position] += buffer.stride
                if buffer.source >= 0:
                    sources[position] += problems.strides[position][0]
                if buffer.result >= 0:
                    targets[position] += buffer.result_stride


cdef void solve_problem(
    const Routine *routine, const uintptr_t *passed, const char **sources, char **targets,
    const Py_ssize_t (*strides)[3],
) noexcept nogil:
    """Solve one problem, from its operands to its results."""
    cdef Py_ssize_t position
    cdef bint is_solved
    cdef const Buffer *buffer
    for position in range(routine.used):
        if routine.is_buffer[position]:
            buffer = &routine.buffers[position]
            begin(buffer, <char *> passed[position] - buffer.skipped, sources[position], strides[position])
    is_solved = call_guarded(routine, passed)
    for position in range(routine.used):
        buffer = &routine.buffers[position]
        if not routine.is_buffer[position] or buffer.result < 0:
            continue
        if not is_solved and not buffer.is_information:
            fail(buffer, targets[position])
        elif buffer.storage != IN_RESULT:
            end(buffer, <char *> passed[position] - buffer.skipped, targets[position], passed)


cdef bint call_guarded(const Routine *routine, const uintptr_t *passed) noexcept nogil:
    """Call the routine if it can bear the elements. Whether the problem is solved; always if the routine needs no
    finite elements, since what it reports then is for the program alone."""
    cdef Py_ssize_t position, faulty = -1
    cdef const Buffer *buffer
    if routine.is_guarded:
        for position in range(routine.used):
            if routine.is_buffer[position] and not are_bearable(&routine.buffers[position], <void *> passed[position]):
                faulty = position
                break
    if faulty < 0:
        call_routine(routine.address, passed)
    if not routine.is_guarded:
        return True
    for position in range(routine.used):
        buffer = &routine.buffers[position]
        if routine.is_buffer[position] and buffer.is_information:
            if faulty >= 0:
                set_integer(buffer, <char *> passed[position], -1 - faulty)
            elif integer(buffer, <char *> passed[position]) != 0:
                return False
    return faulty < 0


cdef void solve_contiguous(Call call, char **operands, char **results) noexcept nogil:
    """Solve all problems; see `Call.solver`."""
    cdef Problems problems
    cdef char workspace[MAX_STACK_BYTES + ALIGNMENT]
    cdef Py_ssize_t position
    cdef Buffer *buffer
    problems.routine, problems.count, problems.tasks, problems.workspace = &call.routine, call.count, 1, workspace
    for position in range(call.routine.used):
        if not call.routine.is_buffer[position]:
            continue
        buffer = &call.routine.buffers[position]
        if buffer.source >= 0:
            problems.sources[position] = operands[buffer.source]
            contiguous_strides(buffer, problems.strides[position])
        if buffer.result >= 0:
            problems.targets[position] = results[buffer.result]
    solve_share(0, &problems)


cdef uintptr_t address_of(
    const Buffer *buffer, const char *workspace, const char *source, const char *target
) noexcept nogil:
    """The argument of the routine for the first problem."""
    cdef const char *memory = workspace + buffer.offset
    if buffer.storage == IN_OPERAND:
        memory = source
    elif buffer.storage == IN_RESULT:
        memory = target
    return <uintptr_t> memory + buffer.skipped


cdef void contiguous_strides(const Buffer *buffer, Py_ssize_t *strides) noexcept nogil:
    """The strides in bytes of problems, rows and columns in a C-contiguous array."""
    strides[1], strides[2] = buffer.columns * buffer.item_bytes, buffer.item_bytes
    strides[0] = buffer.rows * strides[1]


cdef void begin(const Buffer *buffer, char *memory, const char *source, const Py_ssize_t *strides) noexcept nogil:
    """Set the initial elements of a buffer."""
    if buffer.is_zero:
        memset(memory, 0, buffer.rows * buffer.columns * buffer.item_bytes)
    elif buffer.source < 0 or buffer.storage == IN_OPERAND:
        return
    elif buffer.by_columns:
        copy_matrix(memory, source, buffer.columns, buffer.rows, strides[2], strides[1], buffer.item_bytes)
    else:
        copy_matrix(memory, source, buffer.rows, buffer.columns, strides[1], strides[2], buffer.item_bytes)


cdef void end(const Buffer *buffer, const char *memory, char *target, const uintptr_t *passed) noexcept nogil:
    """Make a result of a buffer that is in the workspace."""
    cdef Py_ssize_t index, size = buffer.rows * buffer.columns
    if buffer.pairs >= 0 and buffer.item_bytes == sizeof(float):
        unpack(<float *> target, <const float *> memory, <const float *> passed[buffer.pairs], buffer.rows)
    elif buffer.pairs >= 0:
        unpack(<double *> target, <const double *> memory, <const double *> passed[buffer.pairs], buffer.rows)
    elif buffer.result_stride != size * buffer.item_bytes:
        for index in range(size):
            (<int32_t *> target)[index] = <int32_t> (<const int64_t *> memory)[index]
    else:
        copy_matrix(
            target, memory, buffer.rows, buffer.columns, buffer.item_bytes, buffer.rows * buffer.item_bytes,
            buffer.item_bytes,
        )


cdef bint is_finite(const Buffer *buffer, const Real *memory) noexcept nogil:
    """Whether the elements that must be finite are. The diagonal of a Hermitian matrix is real: no routine reads its
    imaginary components."""
    cdef Py_ssize_t row, column, first, last, components = buffer.item_bytes // sizeof(Real)
    cdef bint is_triangle = buffer.finite != ALL_ELEMENTS
    cdef const Real *element
    cdef Real total = 0
    for column in range(buffer.columns):
        first = column if buffer.finite == LOWER_TRIANGLE else 0
        last = column + 1 if buffer.finite == UPPER_TRIANGLE else buffer.rows
        for row in range(first, last):
            element = memory + components * (column * buffer.rows + row)
            # A product with zero is zero, or NaN.
            total += element[0] * 0
            if components == 2 and not (is_triangle and row == column):
                total += element[1] * 0
    return total == 0


cdef bint are_bearable(const Buffer *buffer, const void *memory) noexcept nogil:
    """Whether the routine can be given the initial elements of a buffer."""
    if buffer.finite == NO_ELEMENTS:
        return True
    if buffer.component_bytes == sizeof(float):
        return is_finite(buffer, <const float *> memory)
    return is_finite(buffer, <const double *> memory)


cdef int64_t integer(const Buffer *buffer, const char *memory) noexcept nogil:
    """The value of an argument that is an integer."""
    return (<const int64_t *> memory)[0] if buffer.item_bytes == sizeof(int64_t) else (<const int32_t *> memory)[0]


cdef void set_integer(const Buffer *buffer, char *memory, int64_t value) noexcept nogil:
    if buffer.item_bytes == sizeof(int64_t):
        (<int64_t *> memory)[0] = value
    else:
        (<int32_t *> memory)[0] = <int32_t> value


cdef void fail(const Buffer *buffer, char *target) noexcept nogil:
    """Make a result of a problem that is not solved: NaN; for integers 1, 2, 3, ..., or 0 as the only one."""
    cdef Py_ssize_t index
    if buffer.is_integer:
        for index in range(buffer.columns):
            (<int32_t *> target)[index] = <int32_t> (index + 1 if buffer.rank else 0)
    elif buffer.component_bytes == sizeof(float):
        for index in range(buffer.result_stride // <Py_ssize_t> sizeof(float)):
            (<float *> target)[index] = NAN
    else:
        for index in range(buffer.result_stride // <Py_ssize_t> sizeof(double)):
            (<double *> target)[index] = NAN


cdef cnp.ndarray _by_problems(cnp.ndarray array, const Buffer *buffer, Py_ssize_t *strides):
    """An operand with one stride between problems; the strides in bytes of problems, rows and columns."""
    cdef int rank = cnp.PyArray_NDIM(array)
    if not cnp.PyArray_ISCARRAY_RO(array) and (rank - buffer.rank > 1 or buffer.storage == IN_OPERAND):
        array = np.array(array, order="C")
    if cnp.PyArray_IS_C_CONTIGUOUS(array):
        # Dimensions of size 1 may have any stride.
        contiguous_strides(buffer, strides)
    else:
        strides[0] = cnp.PyArray_STRIDE(array, 0) if rank > buffer.rank else 0
        strides[1] = cnp.PyArray_STRIDE(array, rank - 2) if buffer.rank == 2 else 0
        strides[2] = cnp.PyArray_STRIDE(array, rank - 1) if buffer.rank else 0
    return array


cdef class Procedure:
    """Calls a routine for batches of problems: a function from operands to a tuple of results.

    Args:
        prepare: returns a `Call`; called at the first call.
    """

    cdef object prepare
    cdef Call call

    def __init__(self, prepare):
        self.prepare = prepare

    def __call__(self, *operands):
        if self.call is None:
            self.call = self.prepare()
        if self.call.context is None:
            return self.call.run(operands)
        with self.call.context:
            return self.call.run(operands)
