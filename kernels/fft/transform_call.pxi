# Transforms that native code calls with addresses. `fft.pyx` includes this.

from libc.stdint cimport uintptr_t

cdef enum:
    # The real transform, and one for each dimension of at most three.
    MAX_STAGES = 4
    # Bytes of the workspace and of an array between stages, which are on the stack, at most.
    MAX_STACK_BYTES = 65536


# The transform of the fibers along one dimension, and the numbers of the arrays that it reads and writes: the operand,
# the result, and one between stages.
cdef struct Stage:
    Fft plan
    FftRun run
    int source, target


cdef class _Stages:
    """The stages of a transform of arrays of one shape."""

    cdef Stage[MAX_STAGES] stages
    cdef int count
    cdef list arrays
    cdef int64_t workspace_bytes, between_bytes

    def __cinit__(self, Transform transform, cnp.ndarray operand):
        cdef int index
        self.arrays = [operand]
        result = transform.transformed(operand, self)
        for array in self.arrays[1:]:
            if array is not result:
                self.between_bytes = array.nbytes
        for index in range(self.count):
            self.stages[index].source = self.role(self.stages[index].source, result)
            self.stages[index].target = self.role(self.stages[index].target, result)
        self.arrays = None

    cdef int role(self, int number, object result) except -1:
        """0 for the operand's number, 1 for the result's, 2 for that of another array."""
        if number == 0:
            return 0
        return 1 if self.arrays[number] is result else 2

    cdef int number_of(self, object array) except -1:
        cdef int number
        for number in range(len(self.arrays)):
            if self.arrays[number] is array:
                return number
        self.arrays.append(array)
        return len(self.arrays) - 1

    cdef int append(
        self, _FiberTransform fiber, cnp.ndarray source, cnp.ndarray target, int axis, bint is_spaced,
        bint is_full_spectrum, bint is_last
    ) except -1:
        """Append a stage; see `_FiberTransform.describe`."""
        cdef Stage *stage = &self.stages[self.count]
        cdef int64_t values = _vector_bytes // fiber.itemsize, lane_bytes = _vector_bytes
        fiber.describe(&stage.plan, &stage.run, source, target, axis, is_spaced, is_full_spectrum, is_last)
        stage.source, stage.target = self.number_of(source), self.number_of(target)
        # `fft_task` transforms few fibers one by one.
        if 4 * stage.run.fibers <= values:
            lane_bytes = fiber.itemsize
        stage.run.workspace_bytes = 4 * (stage.plan.buffer_length * lane_bytes // 64 + 1) * 64
        self.workspace_bytes = max(self.workspace_bytes, stage.run.workspace_bytes)
        self.count += 1
        return 0

    cdef void run(self, char *operand, char *result, char *workspace) noexcept nogil:
        """Run all stages on arrays at these addresses."""
        cdef char *arrays[3]
        cdef FftRun run
        cdef int index
        arrays[0], arrays[1], arrays[2] = operand, result, workspace + self.workspace_bytes
        for index in range(self.count):
            run = self.stages[index].run
            run.plan = &self.stages[index].plan
            run.source, run.target = arrays[self.stages[index].source], arrays[self.stages[index].target]
            run.workspace = workspace
            fft_task(0, &run)


cdef class TransformCall:
    """A transform, by one thread, of operands of one shape and element type that lie at addresses.

    Args:
        transform: what it computes.
        shape: of the operand.
        is_complex: whether its elements are complex.
    """

    cdef Transform transform
    # Where all imaginary components are +0, and otherwise.
    cdef _Stages of_real, of_complex
    cdef int64_t elements
    cdef bint may_be_real, is_wide

    def __init__(self, Transform transform, tuple shape, bint is_complex):
        dtype = transform.complex_type if is_complex else transform.real_type
        self.transform, self.elements, self.is_wide = transform, math.prod(shape), dtype.itemsize == 16
        self.may_be_real = is_complex and transform.accepts_real and transform.size % 2 == 0
        self.of_real = _Stages(transform, np.zeros(shape, dtype))
        self.of_complex = _Stages(transform, np.full(shape, 1j, dtype)) if is_complex else self.of_real

    def __call__(self, operand):
        """The result, in a tuple."""
        return (self.transform(operand),)

    @property
    def solver(self):
        """The address of `void solve(TransformCall, void **operands, void **results)`, which computes what a call does
        without the GIL. Operands and results must be C-contiguous and must not overlap. None if the workspace is too
        large for the stack."""
        cdef int64_t bytes_needed = max(
            self.of_real.workspace_bytes + self.of_real.between_bytes,
            self.of_complex.workspace_bytes + self.of_complex.between_bytes,
        )
        return <uintptr_t>&solve_contiguous if bytes_needed <= MAX_STACK_BYTES else None


cdef void solve_contiguous(TransformCall call, char **operands, char **results) noexcept nogil:
    """See `TransformCall.solver`."""
    cdef char memory[MAX_STACK_BYTES + MEMORY_ALIGNMENT]
    cdef char *workspace = memory + (-<size_t>memory) % MEMORY_ALIGNMENT
    if call.may_be_real and has_real_values(operands[0], call.elements, call.is_wide):
        call.of_real.run(operands[0], results[0], workspace)
    else:
        call.of_complex.run(operands[0], results[0], workspace)
