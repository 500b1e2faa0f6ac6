"""Loops over arrays: arrays, integers and tuples in, arrays out.

A module here holds one family of operations. Its `prepare(...)` takes the static description (shapes, element
types, dimension numbers), makes every decision once and returns a callable on arrays. No module knows
operations, values or types of `nimblehlo.program.ir`: `launch/` also runs the native code of programs, tasks
(`native.pyx`) and `while` loops (`while_loop.pyx`), but takes it as addresses. Importing these modules loads
neither Numba nor llvmlite: `compilation.kernel` compiles a loop when it is first called.
"""
