"""Functions of f64, for all its values, and in `singles` functions of f32 in the arithmetic of f64.

`tools/c_functions.py` prints them as C, for `kernels/math`.

Each operation is rounded as written, a fused multiply-add once: results have the same bits on every
processor, for every vector width, and whether GCC, Clang or LLVM compiles them. The errors that are stated
are in ulps.
"""
