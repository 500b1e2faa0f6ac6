# Calls of ufuncs on few elements by their inner loops, included by the executor, which has `cnp` and `PyObject`: NumPy's
# calls cost more than the work.

from libc.string cimport memcmp

cdef extern from "numpy/arrayobject.h":
    int NPY_HALF
    # Steals the reference to the element type.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

ctypedef void (*InnerLoop)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept

cdef enum:
    # For more elements NumPy releases the GIL.
    MAX_LOOP_ELEMENTS = 500
    MAX_LOOP_OPERANDS = 3


cdef class UfuncLoop:
    """The inner loop of a ufunc for the element types that its operands had last.

    Args:
        function: a ufunc from at most MAX_LOOP_OPERANDS elements to one.
    """

    cdef InnerLoop loop
    cdef void *data
    cdef int operands, result_type
    cdef int types[MAX_LOOP_OPERANDS]
    cdef cnp.dtype dtype
    cdef object function

    def __cinit__(self, function):
        cdef int index
        self.function, self.operands = function, function.nin
        for index in range(self.operands):
            self.types[index] = cnp.NPY_NOTYPE

    cdef bint find(self, PyObject **operands):
        """Look for the loop of the operands' element types; whether there is one."""
        cdef int index
        self.loop = NULL
        for index in range(self.operands):
            self.types[index] = cnp.PyArray_TYPE(<cnp.ndarray>operands[index])
            if self.types[index] > cnp.NPY_CLONGDOUBLE and self.types[index] != NPY_HALF:
                return False
        loop = loop_for(self.function, tuple([self.types[index] for index in range(self.operands)]))
        if loop is None:
            return False
        address, data, (self.result_type,) = loop
        self.loop, self.data = <InnerLoop><size_t>address, <void *><size_t>data
        self.dtype = cnp.PyArray_DescrFromType(self.result_type)
        return True

    cdef object call(self, PyObject **operands, PyObject *out):
        """The result as NumPy computes it; None if the operands have no loop, or are not arrays of few elements and
        one shape, each of which is C-contiguous or repeats one element.

        Args:
            operands: the operands.
            out: NULL, or an operand that may be overwritten.
        """
        cdef char *pointers[MAX_LOOP_OPERANDS + 1]
        cdef cnp.npy_intp strides[MAX_LOOP_OPERANDS + 1]
        cdef cnp.npy_intp count
        cdef cnp.ndarray array, first, result
        cdef bint is_cached = self.loop != NULL
        cdef int index, rank = 0
        for index in range(self.operands):
            if type(<object>operands[index]) is not cnp.ndarray:
                return None
            array = <cnp.ndarray>operands[index]
            if cnp.PyArray_ISCARRAY_RO(array):
                strides[index] = cnp.PyArray_ITEMSIZE(array)
            elif _repeats_one_element(array):
                strides[index] = 0
            else:
                return None
            if index == 0:
                first, rank = array, cnp.PyArray_NDIM(array)
            elif cnp.PyArray_NDIM(array) != rank or memcmp(
                cnp.PyArray_DIMS(array), cnp.PyArray_DIMS(first), rank * sizeof(cnp.npy_intp)
            ):
                return None
            if cnp.PyArray_TYPE(array) != self.types[index]:
                is_cached = False
            pointers[index] = <char *>cnp.PyArray_DATA(array)
        count = cnp.PyArray_SIZE(first)
        if count > MAX_LOOP_ELEMENTS or not (is_cached or self.find(operands)):
            return None
        if out != NULL and cnp.PyArray_TYPE(<cnp.ndarray>out) == self.result_type:
            result = <cnp.ndarray>out
        else:
            Py_INCREF(self.dtype)
            result = PyArray_Empty(rank, cnp.PyArray_DIMS(first), self.dtype, 0)
        pointers[self.operands] = <char *>cnp.PyArray_DATA(result)
        strides[self.operands] = cnp.PyArray_ITEMSIZE(result)
        if count == 1:
            # NumPy's strides: loops may compute one element in another way than several.
            memset(strides, 0, sizeof(strides))
        if count:
            self.loop(pointers, &count, strides, self.data)
        return result


cdef bint _repeats_one_element(cnp.ndarray array) noexcept:
    """Whether all strides are 0, as in a broadcast constant."""
    cdef int axis
    for axis in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_STRIDE(array, axis) != 0:
            return False
    return cnp.PyArray_ISBEHAVED_RO(array)


cdef UfuncLoop _ufunc_loop(object function):
    """The inner loops of a function; None if it is no ufunc, or has other operands and results."""
    if not isinstance(function, np.ufunc) or function.signature is not None:
        return None
    if function.nout != 1 or function.nin > MAX_LOOP_OPERANDS:
        return None
    return UfuncLoop(function)
