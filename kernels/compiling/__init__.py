"""Compiles kernels by Numba, in this process or in one of its own, and loads machine code."""
