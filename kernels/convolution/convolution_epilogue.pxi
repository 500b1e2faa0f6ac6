# Convolutions with an epilogue, for `convolution_tasks.pyx`.


cdef class ConvolutionWithEpilogue:
    """A convolution and the elementwise code that consumes it, block by block: `(lhs, rhs, *operands) -> result`.

    Args:
        convolve: the convolution, whose result has its features last.
        code: the `BlockCode` of the code.
        apply: the code as a function of arrays, for operands whose convolution stores no rows of features.
        position: the number of the convolution's result among the operands of the code.
    """

    cdef CachedByStrides convolve
    cdef EpilogueCode code
    cdef object apply

    def __init__(self, CachedByStrides convolve not None, code, apply, Py_ssize_t position):
        self.convolve, self.code, self.apply = convolve, EpilogueCode(code, position), apply

    def __call__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None, *operands):
        cdef Epilogue epilogue
        cdef cnp.ndarray result = self.convolve.new_result()
        cdef Py_ssize_t position = self.code.position
        cdef double seconds = self.code.seconds * cnp.PyArray_SIZE(result)
        lhs, rhs = with_positive_strides(lhs), with_positive_strides(rhs)
        write = self.convolve.writer_of(lhs, rhs, result)
        launch = getattr(write, "launch", write)
        if takes_epilogue(launch):
            arrays = self.code.bind(&epilogue, result, operands)
            if write_with(launch, lhs, rhs, result, &epilogue, seconds):
                return result
        # The writer of Winograd's algorithm replaces results that are not finite.
        write(lhs, rhs, result)
        return self.apply(*operands[:position], result, *operands[position:])


cdef bint takes_epilogue(launch) noexcept:
    """Whether a writer applies epilogues to a contiguous result."""
    if isinstance(launch, Products):
        return (<Products>launch).takes_epilogue()
    if isinstance(launch, Scaling):
        return (<Scaling>launch).takes_epilogue()
    return isinstance(launch, Winograd) and (<Winograd>launch).takes_epilogue()


cdef int write_with(
    launch, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result, const Epilogue *epilogue, double epilogue_seconds,
) except -1:
    """Write the result of a writer that `takes_epilogue`. Returns whether the convolution is all finite, or 1."""
    if isinstance(launch, Products):
        return (<Products>launch).write(lhs, rhs, result, epilogue, epilogue_seconds)
    if isinstance(launch, Scaling):
        return (<Scaling>launch).write(lhs, rhs, result, epilogue, epilogue_seconds)
    return (<Winograd>launch).write(lhs, rhs, result, epilogue, epilogue_seconds)
