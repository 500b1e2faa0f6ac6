"""Products of stacks of matrices with vectors: the stated order, whatever the shapes, layouts and threads."""

from fractions import Fraction

import numpy as np
import pytest

from nimblehlo.kernels.matmul import gemv, matmul

from .test_matmul import DTYPES, LAYOUTS, assert_in_order, laid_out

pytestmark = pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here")

K_BLOCK = gemv.K_BLOCK
SHAPES = [
    # batch, rows, terms, columns
    ((), 1, 1, 1),
    ((), 1, 7, 1),
    ((3,), 5, 16, 1),
    ((3,), 1, 17, 5),
    ((2, 3), 9, 8, 1),
    # Around GEMV_MAX_SHORT_DOT, GEMV_MAX_SHORT_K, GEMV_MAX_SHORT_OUTER and GEMV_MAX_SHORT_RANK.
    *[((4, 3), 1, terms, 1) for terms in (2, 3, 7, 8, 9)],
    *[((4, 3), 3, terms, 1) for terms in (3, 5, 6, 7)],
    ((2, 3), 1, 3, 16),
    ((2, 3), 1, 3, 17),
    ((1, 2, 1, 2, 1, 2, 3, 1), 2, 3, 1),
    ((1, 2, 1, 2, 1, 2, 3, 1, 1), 2, 3, 1),
    ((2, 3), 1, 31, 33),
    ((), 65, 100, 1),
    ((), 1, 100, 300),
    ((2,), 3, K_BLOCK + 5, 1),
    ((), 1, K_BLOCK + 33, 70),
]


def in_order(lhs, rhs):
    """The sums in the order that `gemv.h` states, for short numbers."""
    chains, total = gemv.CHAIN_BYTES // lhs.itemsize, None
    for start in range(0, lhs.shape[-1], K_BLOCK):
        sums = np.zeros((chains, *lhs.shape[:-1], rhs.shape[-1]), lhs.dtype)
        for term in range(start, min(start + K_BLOCK, lhs.shape[-1])):
            product = lhs[..., term, np.newaxis].astype("f8") * rhs[..., term, np.newaxis, :]
            sums[(term - start) % chains] = (sums[(term - start) % chains] + product).astype(lhs.dtype)
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        total = sums[0] + 0 if total is None else total + (sums[0] + 0)
    return total


@pytest.mark.parametrize(("batch", "rows", "terms", "columns"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_terms_are_added_in_the_stated_order(batch, rows, terms, columns, dtype):
    assert_in_order(gemv.multiply, in_order, batch, rows, terms, columns, dtype)


def test_each_term_is_rounded_once():
    generator = np.random.default_rng(1)
    lhs, rhs = generator.standard_normal((2, 8)), generator.standard_normal((8, 1))
    got = gemv.multiply(lhs, rhs)
    for row in range(2):
        sums = [float(Fraction(a) * Fraction(b)) for a, b in zip(lhs[row], rhs[:, 0], strict=True)]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [a + b for a, b in zip(sums[:half], sums[half:], strict=True)]
        assert got[row, 0] == sums[0]


@pytest.mark.parametrize(("batch", "rows", "terms", "columns"), SHAPES)
def test_bits_of_bf16_are_read_as_f32(batch, rows, terms, columns):
    generator = np.random.default_rng(3)
    lhs, rhs = (
        generator.integers(0, 1 << 16, (*batch, *sizes)).astype(np.uint32) << np.uint32(16)
        for sizes in ((rows, terms), (terms, columns))
    )
    with np.errstate(invalid="ignore"):
        expected = gemv.multiply(lhs.view("f4"), rhs.view("f4"))
    for layout in LAYOUTS:
        left, right = laid_out(lhs.view("f4"), layout), laid_out(rhs.view("f4"), layout)
        if columns == 1:
            left = laid_out((lhs >> 16).astype(np.uint16), layout)
        else:
            right = laid_out((rhs >> 16).astype(np.uint16), layout)
        for threads in (1, 2):
            got = gemv.multiply(left, right, threads)
            assert got.dtype == "f4" and got.shape == expected.shape
            np.testing.assert_array_equal(got, expected)


def test_only_a_matrix_beside_f32_may_be_of_bf16():
    halves, vector = np.ones((2, 3), np.uint16), np.ones((3, 1), np.uint16)
    for lhs, rhs in [(halves, np.ones((3, 1))), (halves, vector), (np.ones((2, 3), "f4"), vector)]:
        with pytest.raises(ValueError, match="no products"):
            gemv.multiply(lhs, rhs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_never_minus_zero(dtype):
    tiny = np.full((2, 20), np.finfo(dtype).smallest_subnormal)
    for lhs, rhs in [(-tiny, tiny[:1].T), (np.full((2, 20), dtype(-0.0)), np.ones((20, 1), dtype))]:
        assert gemv.multiply(lhs, rhs).tobytes() == np.zeros((2, 1), dtype).tobytes()


@pytest.mark.parametrize(
    ("batch", "rows", "terms", "columns"),
    [((), 1, 700, 900), ((), 900, 700, 1), ((40,), 33, 300, 1), ((40,), 1, 300, 33), ((), 1, 9 * K_BLOCK, 1)],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_and_threads_do_not_change_bits(batch, rows, terms, columns, dtype):
    generator = np.random.default_rng(2)
    lhs = generator.standard_normal((*batch, rows, terms)).astype(dtype)
    rhs = generator.standard_normal((*batch, terms, columns)).astype(dtype)
    lhs[..., 0, 0], rhs[..., 2, -1] = np.inf, np.nan
    expected = gemv.multiply(lhs, rhs, 1)
    for threads in (2, 3, 8, None):
        for layout in ("plain", "transposed"):
            got = gemv.multiply(laid_out(lhs, layout), laid_out(rhs, layout), threads)
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(700, 300), (3, 50, 900), (33, K_BLOCK + 9)])
def test_a_matrix_that_is_read_from_its_end_gives_the_same_bits(shape):
    generator = np.random.default_rng(7)
    matrix = generator.standard_normal(shape)
    vectors = [generator.standard_normal((*shape[:-2], shape[-1], 1)) for _ in range(4)]
    for threads in (1, 2):
        # Another matrix between, whose product ends elsewhere: each of these begins at the first row.
        expected = [gemv.multiply(matrix.copy(), vector, threads) for vector in vectors]
        for vector, product in zip(vectors, expected, strict=True):
            np.testing.assert_array_equal(gemv.multiply(matrix, vector, threads), product)


def test_a_stack_of_one_vector_that_is_repeated():
    lhs, rhs = np.arange(60, dtype="f4").reshape(5, 3, 4), np.arange(4, dtype="f4").reshape(1, 4, 1)
    assert np.array_equal(gemv.multiply(lhs, np.broadcast_to(rhs, (5, 4, 1))), lhs @ rhs)


@pytest.mark.parametrize(
    "shapes", [((2, 0), (0, 1)), ((0, 3), (3, 1)), ((1, 3), (3, 0)), ((0, 1, 3), (0, 3, 2))]
)
def test_nothing_to_add(shapes):
    got = gemv.multiply(*(np.ones(shape, "f4") for shape in shapes))
    assert np.array_equal(got, np.matmul(*(np.ones(shape, "f4") for shape in shapes)))


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [((2, 3), (3, 2)), ((1, 3), (4, 2)), ((3,), (3, 1)), ((2, 1, 3), (3, 3, 1))],
)
def test_other_shapes_are_refused(lhs, rhs):
    with pytest.raises(ValueError, match="no products"):
        gemv.multiply(np.ones(lhs, "f4"), np.ones(rhs, "f4"))
    with pytest.raises(ValueError, match="no products"):
        gemv.multiply(np.ones((1, 3), "i2"), np.ones((3, 2), "i2"))


@pytest.mark.parametrize(("terms", "columns"), [(2100, 2100), (14_500, 290), (800, 5300)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_of_large_matrices_have_the_bits_of_small_ones(terms, columns, dtype):
    generator = np.random.default_rng(4)
    lhs, rhs = (generator.standard_normal(shape).astype(dtype) for shape in ((1, terms), (terms, columns)))
    parts = [gemv.multiply(lhs, rhs[:, first : first + 90]) for first in range(0, columns, 90)]
    expected = np.concatenate(parts, axis=1)
    for threads in (1, 2, 3, 8, None):
        np.testing.assert_array_equal(gemv.multiply(lhs, rhs, threads), expected)


@pytest.mark.parametrize("terms", [77, 1448, 1449])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_of_the_last_matrix_have_the_bits_of_its_first_product(terms, dtype):
    """Nothing prefetches a matrix again that has at most GEMV_MAX_CACHED_BYTES: 1448 rows of 1448 f32."""
    generator = np.random.default_rng(8)
    vector, matrix = (generator.standard_normal(shape).astype(dtype) for shape in ((1, terms), (terms, 1448)))
    expected = gemv.multiply(vector, matrix.copy(), 1)
    for _ in range(3):
        np.testing.assert_array_equal(gemv.multiply(vector, matrix, 1), expected)
