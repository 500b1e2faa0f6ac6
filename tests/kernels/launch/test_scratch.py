"""Memory that kernels borrow."""

import numpy as np

from nimblehlo.kernels.launch.scratch import borrow_scratch


def test_arrays_begin_at_cache_lines():
    for sizes in ((3, 5), (1_000_000, 7), (0, 12), (2_000_001, 1)):
        with borrow_scratch(*[(size, np.float32) for size in sizes]) as arrays:
            assert [array.size for array in arrays] == list(sizes)
            assert all(array.ctypes.data % 64 == 0 for array in arrays if array.size)


def test_two_borrowers_have_memory_of_their_own():
    with borrow_scratch((100, np.int32)) as (first,), borrow_scratch((100, np.int32)) as (second,):
        first[:], second[:] = 1, 2
        assert (first == 1).all()
