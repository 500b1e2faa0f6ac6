# Checks of the operands of products of stacks of matrices, [..., row, k] with [..., k, column]. Modules that include
# this have `cnp`, `int64_t`, `Py_INCREF`, `PyArray_Empty` and `_vector_bytes`.


cdef int64_t matmul_shape(cnp.ndarray lhs, cnp.ndarray rhs, cnp.npy_intp *shape) except -1:
    """Write the result's shape. Returns how many matrices there are.

    Raises ValueError where the operands are not of one type that `matmul_kind` knows, their shapes do not fit each
    other, or this build has no vectors.
    """
    if matmul_kind(lhs) < 0 or cnp.PyArray_TYPE(rhs) != cnp.PyArray_TYPE(lhs):
        raise ValueError(f"no products of {described(lhs)} and {described(rhs)}")
    return stacked_shape(lhs, rhs, shape)


cdef int matmul_kind(cnp.ndarray array) noexcept:
    """The number of an element type in the order f32, f64, integers of 32 bits, integers of 64 bits; -1 for others."""
    cdef int type = cnp.PyArray_TYPE(array), itemsize = cnp.PyArray_ITEMSIZE(array)
    if itemsize not in (4, 8):
        return -1
    if cnp.PyTypeNum_ISINTEGER(type):
        return 2 if itemsize == 4 else 3
    return 0 if type == cnp.NPY_FLOAT32 else 1 if type == cnp.NPY_FLOAT64 else -1


cdef int64_t stacked_shape(cnp.ndarray lhs, cnp.ndarray rhs, cnp.npy_intp *shape) except -1:
    """`matmul_shape` for any element types."""
    cdef int rank = cnp.PyArray_NDIM(lhs), axis
    cdef int64_t batch = 1
    if rank < 2 or rank != cnp.PyArray_NDIM(rhs) or not _vector_bytes:
        raise ValueError(f"no products of {described(lhs)} and {described(rhs)}")
    for axis in range(rank - 2):
        shape[axis] = cnp.PyArray_DIM(lhs, axis)
        batch *= shape[axis]
        if cnp.PyArray_DIM(rhs, axis) != shape[axis]:
            raise ValueError(f"no products of stacks of {described(lhs)} and {described(rhs)}")
    if cnp.PyArray_DIM(rhs, rank - 2) != cnp.PyArray_DIM(lhs, rank - 1):
        raise ValueError(f"no products of {described(lhs)} and {described(rhs)}: contracted sizes differ")
    shape[rank - 2], shape[rank - 1] = cnp.PyArray_DIM(lhs, rank - 2), cnp.PyArray_DIM(rhs, rank - 1)
    return batch


cdef str described(cnp.ndarray array):
    cdef object any_array = array
    return f"{any_array.dtype}{any_array.shape}"


cdef cnp.ndarray empty_product(cnp.ndarray lhs, cnp.npy_intp *shape):
    """An array of the left operand's type and rank."""
    cdef cnp.dtype dtype = <cnp.dtype>cnp.PyArray_DESCR(lhs)
    Py_INCREF(dtype)
    return PyArray_Empty(cnp.PyArray_NDIM(lhs), shape, dtype, 0)
