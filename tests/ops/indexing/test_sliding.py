"""Windows whose starts are given at run time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nimblehlo.ops.indexing.sliding import SlidingWindow


@pytest.mark.parametrize("sizes", [(2, 3, 1), (5, 1, 4), (0, 4, 4), (5, 4, 4)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64])
def test_starts_are_clamped(sizes: tuple[int, ...], dtype: type) -> None:
    operand = np.arange(80).reshape(5, 4, 4)[:, ::-1]
    window = SlidingWindow(sizes, operand.shape)
    info = np.iinfo(dtype)
    for starts in itertools.product([info.min, 0, 1, 3, info.max], repeat=3):
        last = [extent - size for extent, size in zip(operand.shape, sizes, strict=True)]
        clamped = [min(max(start, 0), most) for start, most in zip(starts, last, strict=True)]
        expected = operand[tuple(slice(at, at + size) for at, size in zip(clamped, sizes, strict=True))]
        got = window(operand, *[np.array(start, dtype) for start in starts])
        assert got.shape == sizes and np.array_equal(got, expected)
        assert got.size == 0 or np.shares_memory(got, operand)


def test_views_keep_what_they_see_and_may_be_written_where_that_may() -> None:
    operand = np.arange(6.0)
    view = SlidingWindow((2,), (6,))(operand, np.array(3))
    view[:] = -1
    assert operand.tolist() == [0, 1, 2, -1, -1, 5]
    operand.flags.writeable = False
    kept = SlidingWindow((2,), (6,))(operand, np.array(9))
    assert not kept.flags.writeable
    del operand
    assert kept.tolist() == [-1, 5]


def test_arrays_of_rank_zero() -> None:
    assert SlidingWindow((), ())(np.array(7)).item() == 7


def test_other_arguments_are_rejected() -> None:
    window = SlidingWindow((2,), (6,))
    for arguments in ((np.zeros((2, 3)), np.array(0)), (np.zeros(6),)):
        with pytest.raises(ValueError, match="rank 1"):
            window(*arguments)
    with pytest.raises(ValueError, match="no windows"):
        SlidingWindow((2,), (6, 1))
