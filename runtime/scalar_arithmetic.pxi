# Arithmetic of loop counters, included by the executor, which has `cnp`, `np` and C's integers: NumPy's calls
# cost more than the work.

cdef extern from "numpy/arrayobject.h":
    cnp.ndarray PyArray_SimpleNew(int rank, cnp.npy_intp *shape, int type)

cdef enum Scalar:
    NO_SCALAR
    ADD
    SUBTRACT
    EQUAL
    NOT_EQUAL
    LESS
    LESS_EQUAL
    GREATER
    GREATER_EQUAL

cdef dict _SCALARS = {
    np.add: ADD, np.subtract: SUBTRACT, np.equal: EQUAL, np.not_equal: NOT_EQUAL, np.less: LESS,
    np.less_equal: LESS_EQUAL, np.greater: GREATER, np.greater_equal: GREATER_EQUAL,
}


cdef object _of_scalars(Scalar operation, object lhs, object rhs):
    """The result for two integers of i32, or two of i64; None for all else."""
    cdef int type
    cdef int64_t a, b
    cdef cnp.ndarray result
    if not (_is_scalar(lhs) and _is_scalar(rhs)):
        return None
    type = cnp.PyArray_TYPE(<cnp.ndarray>lhs)
    if cnp.PyArray_TYPE(<cnp.ndarray>rhs) != type or type not in (cnp.NPY_INT32, cnp.NPY_INT64):
        return None
    a, b = _integer(<cnp.ndarray>lhs, type), _integer(<cnp.ndarray>rhs, type)
    if operation >= EQUAL:
        result = PyArray_SimpleNew(0, NULL, cnp.NPY_BOOL)
        (<char *>cnp.PyArray_DATA(result))[0] = _holds(operation, a, b)
        return result
    a = <int64_t>(<uint64_t>a + <uint64_t>b if operation == ADD else <uint64_t>a - <uint64_t>b)
    result = PyArray_SimpleNew(0, NULL, type)
    if type == cnp.NPY_INT32:
        (<int32_t *>cnp.PyArray_DATA(result))[0] = <int32_t>a
    else:
        (<int64_t *>cnp.PyArray_DATA(result))[0] = a
    return result


cdef inline bint _is_scalar(object value):
    if type(value) is not cnp.ndarray or cnp.PyArray_NDIM(<cnp.ndarray>value) != 0:
        return False
    return cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>value)


cdef inline int64_t _integer(cnp.ndarray array, int type) noexcept:
    cdef void *data = cnp.PyArray_DATA(array)
    return (<int32_t *>data)[0] if type == cnp.NPY_INT32 else (<int64_t *>data)[0]


cdef bint _holds(Scalar relation, int64_t a, int64_t b) noexcept:
    if relation == EQUAL:
        return a == b
    if relation == NOT_EQUAL:
        return a != b
    if relation == LESS:
        return a < b
    if relation == LESS_EQUAL:
        return a <= b
    return a > b if relation == GREATER else a >= b
