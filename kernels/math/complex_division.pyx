# cython: language_level=3
"""Quotients of complex<f64> as ufuncs: see `complex_division.h`."""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "complex_division.h":
    ctypedef void (*ComplexQuotients)(void *, const void *, intptr_t) noexcept nogil
    ComplexQuotients complex_quotients() noexcept
    void divide_loop(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil
    void annex_g_loop(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil

cnp.import_array()
cnp.import_ufunc()

cdef ComplexQuotients _quotients = complex_quotients()
cdef void *_data[2]
cdef cnp.PyUFuncGenericFunction _loops[2]
cdef char _types[4]

_data[0], _data[1] = &_quotients, NULL
_loops[0] = <cnp.PyUFuncGenericFunction>divide_loop
_loops[1] = <cnp.PyUFuncGenericFunction>annex_g_loop
_types[0] = _types[1] = _types[2] = _types[3] = cnp.NPY_CDOUBLE

divide = cnp.PyUFunc_FromFuncAndData(
    &_loops[0], &_data[0], _types, 1, 2, 1, cnp.PyUFunc_None, "divide",
    "The quotient; infinite and zero where annex G says so, though the textbook formula gives NaN.", 0,
)
quotient_by_annex_g = cnp.PyUFunc_FromFuncAndData(
    &_loops[1], &_data[1], _types, 1, 3, 1, cnp.PyUFunc_None, "quotient_by_annex_g",
    "A quotient of lhs and rhs whose components may be NaN; if both are, infinite or zero where annex G says so.", 0,
)
