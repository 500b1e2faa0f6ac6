"""Functions of f32 in the arithmetic of f32, with errors of at most 1 ulp: `result_accuracy` DEFAULT.

Twice as many values of f32 as of f64 fit into a vector. Generated loops inline these functions, and
`tools/c_functions.py` prints them as C for ufuncs (`kernels/math/real_functions.pyx`). They take no tables
and no estimates, so that their bits are the same on every processor. `tools/fast_functions.py` measures
their errors on all values of f32.
"""
