"""Products of stacks of matrices of floats: the stated order, whatever the shapes, layouts and threads."""

import itertools
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from nimblehlo.kernels.launch.native import record_launches
from nimblehlo.kernels.matmul import matmul
from tests.support.running import same_bits

pytestmark = pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here")

K_BLOCK = matmul.K_BLOCK
DTYPES = [np.float32, np.float64]
SHAPES = [
    # batch, rows, terms, columns
    ((), 1, 1, 1),
    ((2,), 7, 3, 5),
    ((), 6, 4, 64),
    ((), 5, 300, 65),
    ((3,), 13, 9, 131),
    ((), 48, 257, 40),
    ((2,), 49, 300, 130),
    ((), 70, 600, 63),
    ((2, 3), 61, 20, 16),
    ((), 1, 515, 33),
    ((), 33, 515, 1),
    ((), 600, 33, 300),
    ((40,), 9, 8, 12),
    ((2, 700), 3, 3, 3),  # around MATMUL_MAX_TRANSPOSED and MATMUL_TRANSPOSED_BYTES
    ((20,), 4, 16, 16),
    ((20,), 4, 16, 17),
    ((), 29, 130, 200),
    ((2,), 50, 257, 229),
    ((), 113, 513, 195),
]
LAYOUTS = ["plain", "transposed", "strided", "reversed"]


def laid_out(array, layout):
    """The same array with other strides of its last two dimensions."""
    if layout == "transposed":
        return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "strided":
        return array.repeat(2, axis=-2).repeat(3, axis=-1)[..., ::2, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(array[..., ::-1, ::-1])[..., ::-1, ::-1]
    return array


def short(generator, shape, dtype):
    """Numbers of so few bits that f64 holds a sum in f32 and one more product exactly."""
    return (generator.integers(-511, 512, shape) * np.exp2(generator.integers(-4, 5, shape))).astype(dtype)


def assert_in_order(multiply, in_order, batch, rows, terms, columns, dtype):
    """Products of short numbers in all layouts are those in an order."""
    generator = np.random.default_rng(0)
    lhs = short(generator, (*batch, rows, terms), dtype)
    rhs = short(generator, (*batch, terms, columns), dtype)
    expected = in_order(lhs, rhs)
    for lhs_layout in LAYOUTS:
        for rhs_layout in LAYOUTS:
            got = multiply(laid_out(lhs, lhs_layout), laid_out(rhs, rhs_layout))
            assert got.dtype == dtype and got.flags.c_contiguous
            assert got.tobytes() == expected.tobytes()


def in_order(lhs, rhs):
    """The sums in the order that `matmul.h` states, for short numbers."""
    total = None
    for start in range(0, lhs.shape[-1], K_BLOCK):
        part = np.zeros((*lhs.shape[:-1], rhs.shape[-1]), lhs.dtype)
        for term in range(start, min(start + K_BLOCK, lhs.shape[-1])):
            product = lhs[..., term, np.newaxis].astype("f8") * rhs[..., term, np.newaxis, :]
            part = (part + product).astype(lhs.dtype)
        total = part if total is None else total + part
    return total


@pytest.mark.parametrize(("batch", "rows", "terms", "columns"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_terms_are_added_in_the_stated_order(batch, rows, terms, columns, dtype):
    assert_in_order(matmul.multiply, in_order, batch, rows, terms, columns, dtype)


@pytest.mark.parametrize("columns", [1, 16, 20, 32, 33, 45, 48, 60, 80, 100, 112])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("terms", [5, 128])
def test_tiles_of_any_height_do_not_change_bits(columns, dtype, terms):
    """Each row has the bits that it has alone, for as many rows as tiles have, and more."""
    generator = np.random.default_rng(2)
    lhs, rhs = (generator.standard_normal(size).astype(dtype) for size in ((63, terms), (terms, columns)))
    alone = np.concatenate([matmul.multiply(lhs[row : row + 1], rhs) for row in range(63)])
    for rows in range(1, 64):
        assert matmul.multiply(lhs[:rows], rhs).tobytes() == alone[:rows].tobytes()


@pytest.mark.parametrize("terms", [5, K_BLOCK, 2 * K_BLOCK + 3])
def test_each_term_is_rounded_once(terms):
    generator = np.random.default_rng(1)
    lhs, rhs = generator.standard_normal((2, terms)), generator.standard_normal((terms, 3))
    got = matmul.multiply(lhs, rhs)
    for row, column in np.ndindex(got.shape):
        total = -0.0
        for start in range(0, terms, K_BLOCK):
            part = 0.0
            for term in range(start, min(start + K_BLOCK, terms)):
                part = float(Fraction(lhs[row, term]) * Fraction(rhs[term, column]) + Fraction(part))
            total += part
        assert got[row, column] == total


@pytest.mark.sampled(("batch", "rows", "terms", "columns"), ("dtype", "layouts"))
@pytest.mark.parametrize(
    ("batch", "rows", "terms", "columns"),
    [
        ((), 500, 600, 700),
        ((2,), 40, 513, 1000),
        ((20,), 33, 300, 65),
        ((), 32, 128, 128),
        ((), 1100, 70, 90),
        ((), 256, 768, 1000),
        ((), 15, 300, 3000),
        ((2,), 300, 600, 800),
        ((), 1000, 600, 500),
        ((), 2100, 300, 450),
        ((), 521, 2700, 193),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", [("plain", "plain"), ("transposed", "transposed")])
def test_blocks_and_threads_do_not_change_bits(batch, rows, terms, columns, dtype, layouts):
    generator = np.random.default_rng(2)
    lhs = generator.standard_normal((*batch, rows, terms)).astype(dtype)
    rhs = generator.standard_normal((*batch, terms, columns)).astype(dtype)
    lhs[..., 0, 0], lhs[..., 1, 1], rhs[..., 2, 2] = np.nan, np.inf, -np.inf
    lhs, rhs = laid_out(lhs, layouts[0]), laid_out(rhs, layouts[1])
    one, *others = [matmul.multiply(lhs, rhs, threads) for threads in (1, 2, 3, 8, None)]
    for other in others:
        np.testing.assert_array_equal(one, other)
    for row, column in [(0, 0), (rows - 5, columns - 7), (rows // 2, columns // 2)]:
        alone = matmul.multiply(lhs[..., row : row + 5, :], rhs[..., column : column + 7])
        np.testing.assert_array_equal(one[..., row : row + 5, column : column + 7], alone)


PACKED = [
    (7, 129, 40),
    (14, 300, 131),
    (33, 515, 64),
    (128, 257, 200),
    (130, 327, 70),
    (512, 140, 33),
    (513, 140, 33),
]


@pytest.mark.parametrize(("rows", "terms", "columns"), [*PACKED, (6, 300, 40), (20, 128, 40)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_constant_that_is_packed_once_does_not_change_bits(rows, terms, columns, dtype, layout):
    generator = np.random.default_rng(0)
    rhs = laid_out(generator.standard_normal((terms, columns)).astype(dtype), layout)
    for threads in (1, 3):
        multiply = matmul.ConstantProduct(threads)
        for _ in range(2):
            lhs = generator.standard_normal((rows, terms)).astype(dtype)
            assert multiply(lhs, rhs).tobytes() == matmul.multiply(lhs, rhs).tobytes()


def test_a_constant_is_packed_in_the_first_call():
    """Later calls do not read it."""
    lhs, rhs = np.ones((9, 200), np.float32), np.ones((200, 30), np.float32)
    multiply = matmul.ConstantProduct()
    assert (multiply(lhs, rhs) == 200).all()
    rhs[:] = 2
    assert (multiply(lhs, rhs) == 200).all() and (matmul.multiply(lhs, rhs) == 400).all()


@pytest.mark.parametrize(
    ("batch", "rows", "terms", "columns"),
    [((), 530, 1024, 500), ((2,), 40, 1024, 400), ((), 1024, 530, 200), ((), 500, 10240, 200)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["plain", "transposed"])
def test_rows_at_distances_of_4096_bytes(batch, rows, terms, columns, dtype, layout):
    """They are copied: all k blocks for some work items, or one by one where they are too many (10240)."""
    generator = np.random.default_rng(9)
    lhs = laid_out(generator.standard_normal((*batch, rows, terms)).astype(dtype), layout)
    rhs = generator.standard_normal((*batch, terms, columns)).astype(dtype)
    apart = np.empty((*batch, rows, terms + 3), dtype)[..., :terms]
    apart[...] = lhs
    expected = matmul.multiply(apart, rhs, 1)
    for threads in (1, 2, 9):
        np.testing.assert_array_equal(matmul.multiply(lhs, rhs, threads), expected)


def test_more_threads_than_processors_do_not_change_bits():
    """Each has rows of its own, or too few for that."""
    code = """
import numpy as np
from nimblehlo.kernels.launch.native import assume_processors
from nimblehlo.kernels.matmul import matmul
from tests.support.running import same_bits
assume_processors(7)
generator = np.random.default_rng(8)
lhs, rhs = (generator.standard_normal(shape).astype(np.float32) for shape in ((1500, 530), (530, 400)))
one, *others = [matmul.multiply(lhs, rhs, threads) for threads in (1, 2, 3, 4, 5, 7)]
assert all(one.tobytes() == other.tobytes() for other in others)
"""
    environment = {**os.environ, "NUMBA_NUM_THREADS": "7"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)


def test_work_items_for_more_threads_do_not_change_bits():
    """A process divides products by its threads: into fewer items than three for each, as many, and more.

    Rows at distances of 4096 bytes are copied where each thread has many columns.
    """
    code = """
import hashlib
import numpy as np
from nimblehlo.kernels.launch.native import assume_processors
from nimblehlo.kernels.launch.threads import available_threads
from nimblehlo.kernels.matmul import matmul
from tests.support.running import same_bits
assume_processors(available_threads())
generator, digest = np.random.default_rng(8), hashlib.sha256()
shapes = ((1500, 530, 400), (300, 530, 400), (96, 256, 512), (130, 127, 129))
for rows, k, columns in (*shapes, (128, 768, 768), (256, 1024, 256)):
    lhs, rhs = (generator.standard_normal(shape).astype(np.float32) for shape in ((rows, k), (k, columns)))
    digest.update(matmul.multiply(lhs, rhs).tobytes())
print(digest.hexdigest())
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_NUM_THREADS": str(threads)},
            check=True,
            timeout=300,
            capture_output=True,
        ).stdout
        for threads in (1, 3, 16, 64)
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("rows", "k", "columns", "expected"),
    [
        # Blocks of 64 columns, then of 32, then half of the rows: at most 36 items of SHARED_ITEM_FMAS.
        (128, 768, 768, {1: 12, 2: 12, 4: 12, 16: 48, 64: 48}),
        (256, 1024, 256, {1: 16, 2: 16, 4: 16, 16: 32, 64: 32}),
        # One panel of columns, and rows down to MIN_SHARED_ROW_BLOCK.
        (400, 4096, 32, {2: 2, 16: 14, 64: 14}),
        # No larger than one thread's share.
        (64, 64, 64, {2: 1, 64: 1}),
    ],
)
def test_many_threads_divide_products_down_to_a_few_tiles(monkeypatch, rows, k, columns, expected):
    lhs, rhs = np.ones((rows, k), np.float32), np.ones((k, columns), np.float32)
    for threads, tasks in expected.items():
        monkeypatch.setattr(matmul, "available_threads", lambda threads=threads: threads)
        launches = []
        record_launches(launches)
        try:
            assert (matmul.multiply(lhs, rhs) == k).all()
        finally:
            record_launches(None)
        assert [len(durations) for *_, durations in launches] == ([tasks] if tasks > 1 else [])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [5, 96, 300])
def test_half_of_a_vector_has_the_bits_of_a_whole_one(dtype, k):
    """Tiles whose last vector is at most half full leave its other half out."""
    generator = np.random.default_rng(k)
    rhs = generator.standard_normal((k, 64)).astype(dtype)
    rhs[k // 2, 3::5], rhs[k // 3, 1::7] = np.nan, np.inf
    for rows in (*range(6, 16), 28, 57):
        lhs = generator.standard_normal((rows, k)).astype(dtype)
        expected = matmul.multiply(lhs, rhs)
        for columns in (9, 12, 13, 17, 20, 24, 25, 33, 40, 41, 49, 56, 63):
            for narrow in (np.ascontiguousarray(rhs[:, :columns]), rhs[:, :columns]):
                assert same_bits(matmul.multiply(lhs, narrow), expected[:, :columns])
            constant = matmul.ConstantProduct()(lhs, np.ascontiguousarray(rhs[:, :columns]))
            assert same_bits(constant, expected[:, :columns])


@pytest.mark.parametrize(
    ("rows", "k", "columns", "threads", "expected"),
    [
        # 9 blocks of 64 columns would be 5 of one thread and 4 of the other; 15 would be 8 and 7.
        (196, 96, 576, 2, 6),
        (49, 160, 960, 2, 10),
        (49, 160, 960, 3, 15),
        # 16 blocks are as good for two threads.
        (49, 256, 1024, 2, 16),
        # One thread has all blocks, whatever their width.
        (196, 96, 576, 1, 9),
    ],
)
def test_blocks_of_columns_are_as_many_for_each_thread(monkeypatch, rows, k, columns, threads, expected):
    """Blocks become wider or narrower where the busiest thread gains one panel in MIN_BALANCE_GAIN."""
    lhs, rhs, launches = np.ones((rows, k), np.float32), np.ones((k, columns), np.float32), []
    monkeypatch.setattr(matmul, "available_threads", lambda: threads)
    record_launches(launches)
    try:
        assert (matmul.multiply(lhs, rhs) == k).all()
    finally:
        record_launches(None)
    assert [len(durations) for *_, durations in launches] == [expected]


@pytest.mark.parametrize("dtype", DTYPES)
def test_batching_dimensions_in_any_order(dtype):
    generator = np.random.default_rng(3)
    lhs = generator.standard_normal((7, 2, 9, 5)).astype(dtype).transpose(3, 1, 0, 2)
    rhs = generator.standard_normal((2, 9, 5, 11)).astype(dtype).transpose(2, 0, 1, 3)
    got = matmul.multiply(lhs, rhs)
    expected = matmul.multiply(np.ascontiguousarray(lhs), np.ascontiguousarray(rhs))
    assert got.tobytes() == expected.tobytes()
    np.testing.assert_allclose(got, np.matmul(lhs, rhs), rtol=1e-4, atol=1e-5)


def test_operands_may_be_the_same_and_may_repeat_elements():
    array = np.arange(35, dtype=np.float32).reshape(5, 7)
    np.testing.assert_array_equal(matmul.multiply(array, array.T), array @ array.T)
    repeated = np.broadcast_to(np.arange(7, dtype=np.float32), (300, 7))
    other = matmul.multiply(repeated, repeated.T.copy())
    np.testing.assert_array_equal(matmul.multiply(repeated, repeated.T), other)
    repeated = repeated[:5]
    np.testing.assert_array_equal(matmul.multiply(repeated, array.T), repeated @ array.T)
    assert not np.shares_memory(matmul.multiply(array, array.T), array)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 5, 30, 100])
@pytest.mark.parametrize("terms", [1, 7, 300])
def test_terms_may_lie_in_the_same_place(dtype, rows, terms):
    lhs = np.random.default_rng(6).standard_normal((rows, terms)).astype(dtype)
    rhs = np.broadcast_to(np.random.default_rng(7).standard_normal((1, 96)).astype(dtype), (terms, 96))
    rhs = np.lib.stride_tricks.as_strided(rhs, rhs.shape, (0, rhs.itemsize))
    expected = matmul.multiply(lhs, rhs.copy())
    assert matmul.multiply(lhs, rhs).tobytes() == expected.tobytes()
    repeated = np.broadcast_to(lhs[:, :1], lhs.shape)
    expected_of_these = matmul.multiply(repeated.copy(), rhs)
    assert matmul.multiply(repeated, rhs).tobytes() == expected_of_these.tobytes()
    assert expected.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(256, 40), (300, 600), (300, 1024), (3, 257, 33), (2, 1100, 3)])
def test_symmetric_products_have_the_bits_of_others(dtype, layout, shape):
    array = laid_out(np.random.default_rng(4).standard_normal(shape).astype(dtype), layout)
    array[..., 3, 1], array[..., -1, 2] = np.nan, -np.inf
    turned = array.swapaxes(-1, -2)
    expected = matmul.multiply(array, turned.copy())
    for threads in (1, 2, 3, 8):
        np.testing.assert_array_equal(matmul.multiply(array, turned, threads), expected)
    assert np.isnan(expected).any() and np.isfinite(expected).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    lhs = np.array([[np.nan, 1, 0], [np.inf, 1, 0], [0, tiny, 0], [-0.0, -0.0, -0.0]], dtype)
    rhs = np.array([[1, 0], [1, 1], [1, 1]], dtype)
    with np.errstate(invalid="ignore"):
        got = matmul.multiply(lhs, rhs)
    expected = np.array([[np.nan, np.nan], [np.inf, np.nan], [tiny, tiny], [0, 0]], dtype)
    np.testing.assert_array_equal(got, expected)
    assert not np.signbit(got[2:]).any()


def test_a_sum_that_vanishes_from_below_is_negative_zero():
    small = np.full((1, 1), 1e-30, np.float32)
    assert math.copysign(1, matmul.multiply(small, -small).item()) == -1


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_empty_dimensions(shape):
    batch, rows, terms, columns = shape
    got = matmul.multiply(np.ones((batch, rows, terms)), np.ones((batch, terms, columns)))
    assert got.shape == (batch, rows, columns)
    assert not got.any()


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        (np.ones((2, 3), "f4"), np.ones((3, 2), "f8")),
        (np.ones((2, 3), "f2"), np.ones((3, 2), "f2")),
        (np.ones((2, 3), "f4"), np.ones((4, 2), "f4")),
        (np.ones((2, 2, 3), "f4"), np.ones((3, 2), "f4")),
        (np.ones((2, 2, 3), "f4"), np.ones((1, 3, 2), "f4")),
        (np.ones(3, "f4"), np.ones(3, "f4")),
    ],
)
def test_other_operands_are_rejected(lhs, rhs):
    with pytest.raises(ValueError, match="no products of"):
        matmul.multiply(lhs, rhs)


def complex_numbers(shape, dtype, seed=5):
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)


COMPLEX_SHAPES = [
    ((), 1, 1, 1),
    ((2,), 4, 6, 3),
    ((), 2, 0, 3),
    ((3, 2), 5, 7, 9),
    ((), 40, 300, 33),
    ((2,), 130, 20, 1),
    ((), 1, 200, 150),
    ((), 200, 150, 170),
]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("batch", "rows", "terms", "columns"), COMPLEX_SHAPES)
def test_complex_numbers(batch, rows, terms, columns, dtype):
    lhs, rhs = (
        complex_numbers((*batch, rows, terms), dtype),
        complex_numbers((*batch, terms, columns), dtype, 6),
    )
    wanted = np.matmul(lhs.astype(np.clongdouble), rhs.astype(np.clongdouble))
    first = matmul.multiply_complex(lhs, rhs, 1)
    assert first.dtype == dtype and first.shape == wanted.shape
    bound = 4 * np.finfo(dtype).eps * max(terms, 1)
    np.testing.assert_allclose(first, wanted, rtol=0, atol=bound * np.abs(wanted).max(initial=1))
    for threads in (2, 3, 8, None):
        for layout in LAYOUTS:
            got = matmul.multiply_complex(laid_out(lhs, layout), laid_out(rhs, layout), threads)
            assert got.tobytes() == first.tobytes()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("terms", range(1, 10))
def test_complex_numbers_of_few_terms(terms, dtype):
    """Every distance at which few terms can put the numbers of an operand, in every layout.

    `np.negative`, which once wrote the negated imaginary parts, reads neighbours of numbers whose stride is
    the square of their size (f32: 16 bytes, which two terms of complex<f32> take) where it writes with a
    stride. Nothing saw it: the random programs that the reference interpreter judges have tensors of at most
    120 elements, and products of up to 512 terms in all are added up without it; larger random programs are
    compared between ways of running alone, which all share this function; and of the shapes in
    `COMPLEX_SHAPES`, drawn for blocks and parts of sums, none has two terms, nor has any other test.
    """
    for batch, (rows, columns) in itertools.product([(), (2,)], [(3, 65), (5, 103), (48, 48), (200, 5)]):
        lhs = complex_numbers((*batch, rows, terms), dtype)
        rhs = complex_numbers((*batch, terms, columns), dtype, 6)
        wanted = np.matmul(lhs.astype(np.clongdouble), rhs.astype(np.clongdouble))
        first = matmul.multiply_complex(lhs, rhs)
        bound = 4 * np.finfo(dtype).eps * terms
        np.testing.assert_allclose(first, wanted, rtol=0, atol=bound * np.abs(wanted).max())
        for lhs_layout, rhs_layout in itertools.product(LAYOUTS, LAYOUTS):
            got = matmul.multiply_complex(laid_out(lhs, lhs_layout), laid_out(rhs, rhs_layout))
            assert got.tobytes() == first.tobytes(), (batch, rows, columns, lhs_layout, rhs_layout)


@pytest.mark.parametrize(("rows", "terms", "columns"), [(3, 5, 4), (30, 600, 40)])
def test_parts_of_complex_sums_are_added_in_the_stated_order(rows, terms, columns):
    """Few products are rounded one by one; others are terms of one sum, the left number's real part first."""
    generator = np.random.default_rng(7)
    parts = [short(generator, shape, np.float32) for shape in ((2, rows, terms), (2, terms, columns))]
    lhs, rhs = ((part[0] + 1j * part[1]).astype(np.complex64) for part in parts)
    got = matmul.multiply_complex(lhs, rhs)
    if rows * terms * columns <= 512:
        re, im = np.zeros((2, rows, columns), np.float32)
        for k in range(terms):
            a, b = lhs[:, k, np.newaxis], rhs[np.newaxis, k]
            re, im = re + (a.real * b.real - a.imag * b.imag), im + (a.real * b.imag + a.imag * b.real)
    else:
        doubled = np.stack([lhs.real, lhs.imag], -1).reshape(rows, 2 * terms)
        re = in_order(doubled, np.stack([rhs.real, -rhs.imag], 1).reshape(2 * terms, columns))
        im = in_order(doubled, np.stack([rhs.imag, rhs.real], 1).reshape(2 * terms, columns))
    assert got.real.tobytes() == re.tobytes() and got.imag.tobytes() == im.tobytes()


def test_complex_infinities_stay_in_their_row():
    lhs, rhs = complex_numbers((40, 30), np.complex64), complex_numbers((30, 20), np.complex64)
    lhs[3, 4], rhs[5, 6] = np.inf, np.nan
    got = matmul.multiply_complex(lhs, rhs)
    finite = np.isfinite(got)
    assert not finite[3].any() and not finite[:, 6].any()
    assert np.delete(np.delete(finite, 3, 0), 6, 1).all()
