"""Products of vectors as launches: the bits of `multiply`, whatever the layouts and threads."""

import numpy as np
import pytest

from nimblehlo.kernels.matmul import gemv, matmul

from .test_launched_product import assert_same_bits_as_multiply, assert_threads_share_nothing, layout

pytestmark = pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here")

SHAPES = [
    # lhs, its order of dimensions, rhs, its order
    ((300, 384), (0, 1), (384, 1), (0, 1)),
    ((384, 300), (1, 0), (384, 1), (0, 1)),
    ((1, 333), (0, 1), (333, 1500), (0, 1)),
    ((1, 333), (0, 1), (150, 333), (1, 0)),
    ((3, 40, 50), (0, 2, 1), (3, 40, 1), (0, 1, 2)),
    ((3, 1, 50), (0, 1, 2), (3, 50, 60), (0, 1, 2)),
    ((1, 900), (0, 1), (900, 1), (0, 1)),
]


@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.parametrize(("lhs", "lhs_order", "rhs", "rhs_order"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_bits_are_those_of_multiply(lhs, lhs_order, rhs, rhs_order, dtype, threads):
    """The same matrix again is read from its end."""
    assert_same_bits_as_multiply(gemv, lhs, lhs_order, rhs, rhs_order, dtype, threads)


def test_calls_of_several_threads_have_scratch_memory_of_their_own():
    generator = np.random.default_rng(1)
    matrices, vectors = generator.standard_normal((8, 600, 600)), generator.standard_normal((8, 600, 1))
    function = gemv.launched_product(layout((600, 600), "f8"), layout((600, 1), "f8"), 2)
    expected = [gemv.multiply(*pair) for pair in zip(matrices, vectors, strict=True)]
    assert_threads_share_nothing(function, matrices, vectors, expected)


def test_other_products_are_not_launched():
    """Nothing is added, there are several k blocks, or k is contiguous in neither dimension of the matrix."""
    vector = layout((8, 1), "f8")
    assert gemv.launched_product(layout((0, 8), "f8"), vector) is None
    assert gemv.launched_product(layout((8, 0), "f8"), layout((0, 1), "f8")) is None
    long = gemv.K_BLOCK + 1
    assert gemv.launched_product(layout((2, long), "f8"), layout((long, 1), "f8")) is None
    assert gemv.launched_product(layout((5, 8, 2), "f8")[..., 0], vector) is None
    assert gemv.launched_product(layout((5, 8), "f8"), layout((8, 2), "f8")[:, :1]) is None


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="contracted sizes differ"):
        gemv.launched_product(layout((8, 9), "f4"), layout((8, 1), "f4"))
    with pytest.raises(ValueError, match="no products of a vector"):
        gemv.launched_product(layout((8, 9), "f4"), layout((9, 2), "f4"))
