"""Arrays in other shapes, where elements must move and where they need not."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.kernels.matmul.strided_copy import reshaped
from nimblehlo.program.ops.framework.reshapers import reshaper

TYPES = ("u1", "f2", "f4", "i8", "c16")


def arrays(seed: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """An array of some strides, and a shape of as many elements."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 6))
    sizes = rng.integers(1, (400, 120, 40, 18, 12)[rank - 1], rank)
    array = rng.integers(0, 100, sizes).astype(TYPES[seed % len(TYPES)]).transpose(rng.permutation(rank))
    if seed % 3 == 0:
        array = array[tuple(slice(None, None, int(step)) for step in rng.choice([1, 2, -1], rank))]
    if seed % 7 == 0:
        array = np.broadcast_to(array, (3, *array.shape))
    divisors = [size for size in range(1, array.size + 1) if array.size % size == 0]
    first = int(rng.choice(divisors))
    return array, (first, 1, array.size // first) if seed % 2 else (first, array.size // first)


@pytest.mark.parametrize("threads", [1, None])
def test_elements_are_in_row_major_order_and_views_stay_views(threads: int | None) -> None:
    copies = 0
    for seed in range(300):
        array, shape = arrays(seed)
        expected, got = array.reshape(shape), reshaped(array, shape, threads)
        assert got.shape == shape and got.dtype == array.dtype and got.tobytes() == expected.tobytes(), seed
        assert np.shares_memory(got, array) == np.shares_memory(expected, array), seed
        copies += not np.shares_memory(got, array)
    assert 50 < copies < 250


@pytest.mark.parametrize("order", [(0, 2, 3, 1), (3, 1, 0, 2), (1, 0, 2, 3), (2, 1, 3, 0)])
def test_several_tasks_share_a_copy(order: tuple[int, ...]) -> None:
    array = np.arange(8 * 33 * 67 * 129, dtype="f4").reshape(8, 33, 67, 129).transpose(order)
    np.testing.assert_array_equal(reshaped(array, (array.size,)), array.reshape(-1))


def test_elements_that_are_not_aligned() -> None:
    bytes_of = np.arange(1 + 4 * 6000, dtype="u1")[1:]
    array = bytes_of.view("f4").reshape(60, 100).T
    assert reshaped(array, (6000,)).tobytes() == array.reshape(-1).tobytes()


@pytest.mark.parametrize("shape", [(7,), (3, 5), (-1, 5), (2, 0), ()])
def test_other_numbers_of_elements_are_errors(shape: tuple[int, ...]) -> None:
    transposed = np.zeros((2, 3, 4)).transpose(2, 0, 1)
    for array in (np.zeros((4, 4)).T, np.zeros(8)[::2], transposed, np.zeros((1, 1))[::-1]):
        if array.size != 1 or shape:
            with pytest.raises(ValueError, match="reshape"):
                reshaped(array, shape)


@pytest.mark.parametrize("rows", [127, 128, 129])
def test_products_reshape_few_elements_and_many(rows: int) -> None:
    array = np.arange(64 * rows, dtype="f4").reshape(64, rows).T
    assert reshaper((8, rows * 8))(array).tobytes() == array.tobytes()
