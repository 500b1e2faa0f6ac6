"""Loops over arrays: arrays, integers and tuples in, arrays out.

A module here holds one family of operations. Its `prepare(...)` takes the static description (shapes, element
types, dimension numbers), takes every decision once and returns a callable on arrays. Nothing here knows a
program, and importing these modules loads neither Numba nor llvmlite: `compilation.kernel` compiles a loop
when it is first called.
"""
