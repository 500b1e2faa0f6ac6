"""Products as launches: the bits of `multiply`, whatever the layouts, threads and workspaces."""

import threading

import numpy as np
import pytest

from nimblehlo.kernels.launch.poison import POISON
from nimblehlo.kernels.matmul import matmul

pytestmark = [
    pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here"),
    pytest.mark.skipif(POISON != "0", reason="workspaces are kept between calls"),
]

SHAPES = [
    # lhs, its order of dimensions, rhs, its order
    ((8, 384), (0, 1), (120, 384), (1, 0)),
    ((16, 5), (1, 0), (16, 33), (0, 1)),
    ((70, 300), (0, 1), (300, 600), (0, 1)),
    ((3, 40, 50), (0, 2, 1), (3, 40, 60), (0, 1, 2)),
    ((7, 3, 50), (1, 0, 2), (50, 3, 6), (1, 0, 2)),
]


def layout(shape, dtype):
    """An array of which only the layout counts."""
    strides = np.empty(shape, dtype).strides
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides, writeable=False)


def assert_same_bits_as_multiply(kernels, lhs, lhs_order, rhs, rhs_order, dtype, threads):
    """Compare products that a module launches with its `multiply`: of new operands, and of the same again."""
    generator = np.random.default_rng(0)
    function = kernels.launched_product(
        layout(lhs, dtype).transpose(lhs_order), layout(rhs, dtype).transpose(rhs_order), threads
    )
    for _ in range(3):
        a, b = [(10 * generator.standard_normal(shape)).astype(dtype) for shape in (lhs, rhs)]
        expected = kernels.multiply(a.transpose(lhs_order), b.transpose(rhs_order))
        np.testing.assert_array_equal(function(a, b), expected)
        result = np.empty_like(expected)
        function(a, b, out=[result])
        np.testing.assert_array_equal(result, expected)


def assert_threads_share_nothing(function, lhs, rhs, expected):
    """Call a function in a thread for each pair of operands, in all of them at once."""
    wrong = []

    def run(number):
        for _ in range(5):
            if not np.array_equal(function(lhs[number], rhs[number]), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(expected))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.parametrize(("lhs", "lhs_order", "rhs", "rhs_order"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_bits_are_those_of_multiply(lhs, lhs_order, rhs, rhs_order, dtype, threads):
    assert_same_bits_as_multiply(matmul, lhs, lhs_order, rhs, rhs_order, dtype, threads)


def test_calls_of_several_threads_have_workspaces_of_their_own():
    generator = np.random.default_rng(1)
    a, b = generator.standard_normal((2, 16, 600, 600)).astype(np.float32)
    function = matmul.launched_product(layout((600, 600), "f4"), layout((600, 600), "f4").T, 2)
    expected = [matmul.multiply(left, right.T) for left, right in zip(a, b, strict=True)]
    assert_threads_share_nothing(function, a, b, expected)


@pytest.mark.parametrize(("rows", "terms", "columns"), [(8, 0, 8), (0, 3, 4), (2048, 4096, 512)])
def test_other_products_are_not_launched(rows, terms, columns):
    """Nothing is added, or partial sums of a block of rows take more than LAUNCHED_WORKSPACE_BYTES."""
    lhs, rhs = layout((rows, terms), "f8"), layout((terms, columns), "f8")
    assert matmul.launched_product(lhs, rhs, 1) is None


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="contracted sizes differ"):
        matmul.launched_product(layout((8, 9), "f4"), layout((8, 9), "f4"))
