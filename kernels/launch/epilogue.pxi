# Epilogues of kernels. Modules that include this have `cnp`, `int64_t` and `np`.

cdef extern from "launch/epilogue.h" nogil:
    enum:
        EPILOGUE_MAX_ARGS

    ctypedef struct Epilogue:
        void (*code)(int64_t task, void *args) noexcept
        int64_t pointers, arg_count
        int64_t *args
        int64_t *row_strides
        int64_t *column_strides


cdef class EpilogueCode:
    """Elementwise code that a kernel applies to its result, whose memory the code overwrites.

    Args:
        code: the `BlockCode`.
        position: the number of the kernel's result among the operands of the code.

    Raises:
        ValueError: the code takes too many arguments.
    """

    cdef Epilogue template
    cdef list arrays
    cdef Py_ssize_t position
    cdef double seconds

    def __init__(self, code, Py_ssize_t position):
        cdef Epilogue *e = &self.template
        address, accesses, strides, integers, self.seconds = code
        e.code = <void (*)(int64_t, void *) noexcept nogil><size_t>address
        e.pointers, e.arg_count = len(accesses), len(accesses) + len(integers)
        if e.arg_count > EPILOGUE_MAX_ARGS:
            raise ValueError(f"more than {EPILOGUE_MAX_ARGS} arguments")
        self.arrays, self.position = [array for array, _ in accesses], position
        for number, (_, offset) in enumerate(accesses):
            e.args[number] = offset
            e.row_strides[number], e.column_strides[number] = strides[number]
        for number, integer in enumerate(integers, len(accesses)):
            e.args[number] = integer

    cdef list bind(self, Epilogue *to, cnp.ndarray result, tuple operands):
        """Make the code's arguments of a call.

        Args:
            to: the arguments.
            result: the kernel's result, C-contiguous.
            operands: the other operands of the code.

        Returns:
            The arrays that the arguments point to.
        """
        cdef list arrays = []
        cdef cnp.ndarray array
        cdef Py_ssize_t number
        for operand in operands:
            array = operand
            arrays.append(array if cnp.PyArray_ISCARRAY_RO(array) else np.array(array, order="C"))
        arrays.insert(self.position, result)
        arrays.append(result)
        to[0] = self.template
        for number in range(to.pointers):
            array = arrays[self.arrays[number]]
            to.args[number] += <int64_t>cnp.PyArray_DATA(array)
        return arrays
