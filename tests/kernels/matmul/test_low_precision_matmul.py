"""Products of bytes and of bf16: exact sums of bytes, those of bf16 in the order that each implementation
states."""

import functools
import operator
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.kernels.matmul import low_precision_matmul, matmul
from nimblehlo.kernels.matmul.low_precision_matmul import AMX, AVX512_BF16, AVX512_BF16_AS_F32
from tests.kernels.integers import extreme

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)
BYTES = ["int8", "uint8"]
SHAPES = [
    # batch, rows, terms, columns
    (1, 1, 1, 1),
    (1, 15, 31, 17),
    (1, 16, 32, 16),
    (2, 17, 33, 63),
    (3, 33, 64, 15),
    (1, 63, 65, 64),
    (1, 64, 63, 65),
    (1, 2, 1000, 255),
    (2, 65, 1100, 70),
    (1, 32, 512, 96),
    (1, 40, 1025, 600),
    (1, 257, 100, 2),
    (40, 5, 40, 7),
    # Stacks whose panels are packed in several groups.
    (70, 33, 200, 40),
    (30, 140, 70, 40),
]
LAYOUTS = ["plain", "transposed", "strided", "reversed"]

needs_amx = pytest.mark.skipif(
    AMX not in low_precision_matmul.available(), reason="this processor has no matrix unit"
)
needs_avx512_bf16 = pytest.mark.skipif(
    AVX512_BF16 not in low_precision_matmul.available(),
    reason="this processor does not multiply pairs of bf16",
)


@pytest.fixture(
    params=[
        pytest.param(AMX, marks=needs_amx),
        pytest.param(AVX512_BF16, marks=needs_avx512_bf16),
        pytest.param(AVX512_BF16_AS_F32, marks=needs_avx512_bf16),
    ]
)
def implementation(request):
    """Each implementation to multiply bf16 that this processor has."""
    return request.param


def laid_out(array, layout):
    """The same array with other strides of its last two dimensions."""
    if layout == "transposed":
        return np.ascontiguousarray(array.transpose(0, 2, 1)).transpose(0, 2, 1)
    if layout == "strided":
        return array.repeat(2, axis=1).repeat(3, axis=2)[:, ::2, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(array[:, ::-1, ::-1])[:, ::-1, ::-1]
    return array


def numbers(generator, shape):
    return generator.standard_normal(shape, np.float32).astype(BF16)


def in_order(lhs, rhs, implementation):
    """The sums of bf16 in the stated order of an implementation. f64 holds a sum and one more product."""
    lhs, rhs = lhs.astype(np.float64), rhs.astype(np.float64)
    return term_by_term(lhs, rhs) if implementation == AVX512_BF16_AS_F32 else in_two_chains(lhs, rhs)


def in_two_chains(lhs, rhs):
    """What `low_precision_matmul.h` states: of 32 terms the first and the last 16, 256 terms at a time."""
    blocks = []
    for start in range(0, lhs.shape[2], 32):
        if start % 256 == 0:
            blocks.append(np.zeros((*lhs.shape[:2], rhs.shape[2]), F32))
        chains = [np.zeros_like(blocks[0]), np.zeros_like(blocks[0])]
        for term in range(start, min(start + 32, lhs.shape[2])):
            product = lhs[:, :, term, np.newaxis] * rhs[:, term, np.newaxis]
            number = (term - start) // 16
            chains[number] = (chains[number] + product).astype(F32)
        blocks[-1] += chains[0] + chains[1]
    return functools.reduce(operator.add, blocks)


def term_by_term(lhs, rhs):
    """What `vector_dots.h` states: 256 terms at a time."""
    parts = []
    for term in range(lhs.shape[2]):
        if term % 256 == 0:
            parts.append(np.zeros((*lhs.shape[:2], rhs.shape[2]), F32))
        parts[-1] = (parts[-1] + lhs[:, :, term, np.newaxis] * rhs[:, term, np.newaxis]).astype(F32)
    return functools.reduce(operator.add, parts)


def multiplied(lhs, rhs, result, threads=None, implementation=None):
    types = lhs.dtype, rhs.dtype, result
    return low_precision_matmul.Product(lhs.shape, rhs.shape, *types, threads, implementation)(lhs, rhs)


@needs_amx
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lhs_dtype", BYTES)
@pytest.mark.parametrize("rhs_dtype", BYTES)
def test_bytes_are_summed_exactly(shape, lhs_dtype, rhs_dtype):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(0)
    lhs = extreme(generator, lhs_dtype, (batch, rows, terms))
    rhs = extreme(generator, rhs_dtype, (batch, terms, columns))
    expected = np.matmul(lhs.astype(np.int32), rhs.astype(np.int32))
    for lhs_layout in LAYOUTS:
        for rhs_layout in LAYOUTS:
            got = multiplied(laid_out(lhs, lhs_layout), laid_out(rhs, rhs_layout), np.int32)
            np.testing.assert_array_equal(got, expected)


@needs_amx
def test_sums_of_bytes_wrap():
    terms = (1 << 17) + 64
    lhs, rhs = np.full((1, 2, terms), 255, np.uint8), np.full((1, terms, 2), 255, np.uint8)
    expected = np.array(255 * 255 * terms).astype(np.int32)
    assert (multiplied(lhs, rhs, np.int32) == expected).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("result", [BF16, F32], ids=["bf16", "f32"])
def test_bf16_is_summed_in_the_stated_order(shape, result, implementation):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(1)
    lhs, rhs = numbers(generator, (batch, rows, terms)), numbers(generator, (batch, terms, columns))
    lhs[0, 0, 0] = -0.0
    expected = in_order(lhs, rhs, implementation).astype(result)
    for lhs_layout in LAYOUTS:
        for rhs_layout in LAYOUTS:
            got = multiplied(
                laid_out(lhs, lhs_layout), laid_out(rhs, rhs_layout), result, implementation=implementation
            )
            assert got.tobytes() == expected.tobytes()


def test_what_is_not_finite_stays_so(implementation):
    generator = np.random.default_rng(2)
    lhs, rhs = numbers(generator, (1, 40, 70)), numbers(generator, (1, 70, 50))
    lhs[0, 1, 2], lhs[0, 3, 69], rhs[0, 5, 6], lhs[0, 8] = np.nan, np.inf, -np.inf, 3e38
    with np.errstate(invalid="ignore", over="ignore"):
        expected = in_order(lhs, rhs, implementation)
    assert np.isnan(expected).any() and np.isinf(expected).any()
    np.testing.assert_array_equal(multiplied(lhs, rhs, F32, implementation=implementation), expected)
    rounded = multiplied(lhs, rhs, BF16, implementation=implementation).astype(F32)
    np.testing.assert_array_equal(rounded, expected.astype(BF16).astype(F32))


@pytest.mark.parametrize("result", [BF16, F32], ids=["bf16", "f32"])
@pytest.mark.parametrize("side", ["lhs", "rhs"])
@pytest.mark.parametrize(
    ("small", "other", "is_served"),
    [
        (0.0, 1.0, True),
        (2.0**-112, 1.0, True),
        (2.0**-113, 1.0, False),
        (2.0**-113, 2.0, True),
        (2.0**-126, 2.0**14, True),
        (2.0**-127, 2.0**100, False),
        (2.0**-133, 0.0, False),
        (-(2.0**-60), 2.0**-52, True),
        (2.0**-60, -(2.0**-53), False),
    ],
)
def test_numbers_that_could_be_lost_are_refused(result, side, small, other, is_served, implementation):
    generator = np.random.default_rng(3)
    exact = [generator.integers(128, 256, (1, *sizes)).astype(F32) / 128 for sizes in ((200, 70), (70, 130))]
    # All but one are the other operand's size, so that sums have the greatest number of digits.
    few, many = (exact[0], exact[1]) if side == "lhs" else (exact[1], exact[0])
    few[0, 0, 1:], few[0, 1:], few[0, 0, 0] = 0, 0, small
    many *= 2.0 ** np.floor(np.log2(abs(other))) * np.sign(other) if other else 0
    lhs, rhs = (array.astype(BF16) for array in exact)
    got = multiplied(lhs, rhs, result, implementation=implementation)
    assert (got is not None) == is_served
    if got is not None:
        assert got.tobytes() == in_order(lhs, rhs, implementation).astype(result).tobytes()


def test_a_small_number_in_any_matrix_is_seen(implementation):
    generator = np.random.default_rng(4)
    lhs, rhs = numbers(generator, (70, 33, 129)), numbers(generator, (70, 129, 37))
    assert multiplied(lhs, rhs, BF16, implementation=implementation) is not None
    for array, place in ((lhs, (69, 32, 128)), (rhs, (69, 128, 36)), (lhs, (0, 0, 0)), (rhs, (35, 64, 16))):
        kept, array[place] = array[place], 1e-39
        assert multiplied(lhs, rhs, BF16, implementation=implementation) is None
        array[place] = kept


@pytest.mark.parametrize("shape", [(1, 500, 700, 650), (50, 64, 100, 96), (2, 1000, 64, 1000)])
def test_threads_and_places_change_no_bits(shape, implementation):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(5)
    lhs, rhs = numbers(generator, (batch, rows, terms)), numbers(generator, (batch, terms, columns))
    one, *others = [
        multiplied(lhs, rhs, F32, threads, implementation=implementation).tobytes()
        for threads in (1, 2, 3, 8)
    ]
    assert others == [one] * 3
    part = multiplied(lhs[-1:, 3:9], rhs[-1:, :, 5:47], F32, implementation=implementation)
    whole = multiplied(lhs, rhs, F32, implementation=implementation)
    assert part.tobytes() == whole[-1:, 3:9, 5:47].tobytes()


@needs_amx
def test_many_matrices_are_packed_some_at_a_time():
    generator = np.random.default_rng(6)
    lhs, rhs = extreme(generator, "int8", (9000, 2, 64)), extreme(generator, "int8", (9000, 64, 3))
    expected = np.matmul(lhs.astype(np.int32), rhs.astype(np.int32))
    np.testing.assert_array_equal(multiplied(lhs, rhs, np.int32), expected)


def test_the_error_is_no_greater_than_that_of_f32(implementation):
    generator = np.random.default_rng(7)
    lhs, rhs = numbers(generator, (1, 64, 4096)), numbers(generator, (1, 4096, 64))
    exact = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64))
    by_implementation = abs(multiplied(lhs, rhs, F32, implementation=implementation) - exact).max()
    by_f32 = abs(sum_of_k_blocks(lhs.astype(F32), rhs.astype(F32)) - exact).max()
    assert by_implementation <= by_f32


@needs_avx512_bf16
@pytest.mark.parametrize("shape", [*SHAPES, (1, 300, 2000, 300)])
def test_pairs_have_the_bits_of_products_of_f32(shape):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(8)
    lhs, rhs = numbers(generator, (batch, rows, terms)), numbers(generator, (batch, terms, columns))
    expected = matmul.multiply(lhs.astype(F32), rhs.astype(F32))
    for result in (F32, BF16):
        got = multiplied(lhs, rhs, result, implementation=AVX512_BF16_AS_F32)
        assert got.tobytes() == expected.astype(result).tobytes()


@pytest.mark.parametrize("shape", [*SHAPES, (1, 5, 300, 200), (2, 13, 16, 20), (2, 60, 48, 70)])
def test_products_of_f32_in_two_chains(shape):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(9)
    lhs = numbers(generator, (batch, rows, terms)).astype(F32)
    rhs = numbers(generator, (batch, terms, columns)).astype(F32)
    lhs[0, 0, 0] = -0.0
    expected = in_two_chains(lhs.astype(np.float64), rhs.astype(np.float64)).tobytes()
    for lhs_layout in LAYOUTS:
        for rhs_layout in LAYOUTS:
            operands = laid_out(lhs, lhs_layout), laid_out(rhs, rhs_layout)
            assert matmul.multiply_in_two_chains(*operands).tobytes() == expected
    if batch == 1:
        product = matmul.ConstantProduct(1, adds_two_chains=True)
        assert [product(lhs[0], rhs[0]).tobytes() for _ in range(2)] == [expected] * 2


def test_subnormal_numbers_are_kept_in_two_chains():
    generator = np.random.default_rng(10)
    lhs, rhs = numbers(generator, (1, 40, 70)).astype(F32), numbers(generator, (1, 70, 50)).astype(F32)
    lhs *= np.float32(2.0**-100)
    rhs *= np.float32(2.0**-30)
    expected = in_two_chains(lhs.astype(np.float64), rhs.astype(np.float64))
    assert (np.abs(expected) < 2.0**-126).mean() > 0.5
    assert matmul.multiply_in_two_chains(lhs, rhs).tobytes() == expected.tobytes()


def test_other_types_have_no_two_chains():
    with pytest.raises(ValueError, match=r"no products of float64.* in two chains"):
        matmul.multiply_in_two_chains(np.ones((1, 2, 3)), np.ones((1, 3, 2)))


def test_padding_changes_no_bits(implementation):
    """Sums of 17 to 63 terms have padding behind them: infinities beside it make no NaN, and -0 no -0."""
    for terms in (17, 31, 33, 47, 49, 63):
        lhs, rhs = np.full((1, 40, terms), -0.0, BF16), np.full((1, terms, 50), 1.0, BF16)
        assert not np.signbit(multiplied(lhs, rhs, F32, implementation=implementation)).any()
        lhs[0, 3] = np.inf
        got = multiplied(lhs, rhs, F32, implementation=implementation)
        assert np.isposinf(got[0, 3]).all() and not np.delete(got[0], 3, axis=0).any()


@pytest.mark.parametrize("shape", [(1, 40, 300, 70), (1, 5, 64, 300), (1, 260, 33, 130)])
def test_constants_are_packed_once(shape, implementation):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(11)
    rhs = numbers(generator, (batch, terms, columns))
    product = low_precision_matmul.Product(
        (batch, rows, terms), rhs.shape, BF16, BF16, F32, 2, implementation, is_rhs_constant=True
    )
    for _ in range(3):
        lhs = numbers(generator, (batch, rows, terms))
        expected = multiplied(lhs, rhs, F32, implementation=implementation)
        assert product(lhs, rhs).tobytes() == expected.tobytes()
    # Later calls read the packed copy alone, and remember its smallest magnitude.
    assert product(lhs, np.zeros_like(rhs)).tobytes() == expected.tobytes()
    lhs[0, 0, 0] = 1e-39
    assert product(lhs, rhs) is None


def test_small_constants_are_refused_in_each_call(implementation):
    generator = np.random.default_rng(12)
    lhs, rhs = numbers(generator, (1, 40, 70)), numbers(generator, (1, 70, 50))
    rhs[0, 69, 49] = 1e-39
    product = low_precision_matmul.Product(
        lhs.shape, rhs.shape, BF16, BF16, F32, 1, implementation, is_rhs_constant=True
    )
    assert [product(lhs, rhs) for _ in range(2)] == [None, None]


def sum_of_k_blocks(lhs, rhs):
    """Products of matrices as they are added without such instructions: 256 terms at a time, in order."""
    total = np.zeros((lhs.shape[0], lhs.shape[1], rhs.shape[2]), F32)
    for start in range(0, lhs.shape[2], 256):
        part = np.zeros_like(total)
        for term in range(start, start + 256):
            part += lhs[:, :, term, np.newaxis] * rhs[:, term, np.newaxis]
        total += part
    return total


@pytest.mark.parametrize(
    ("types", "shape"),
    [
        (("float16", "float16", "float32"), (1, 2, 3)),
        (("int8", "int8", "int64"), (1, 2, 3)),
        (("int8", "int8", "int32"), (1, 2, 0)),
        (("int16", "int8", "int32"), (1, 2, 3)),
        ((BF16, BF16, "float64"), (1, 2, 3)),
    ],
)
def test_other_types_and_empty_matrices_are_refused(types, shape):
    with pytest.raises(ValueError, match="nothing multiplies"):
        low_precision_matmul.Product(shape, (1, shape[2], 4), *types)


def test_nothing_is_compiled():
    code = """
        import sys
        import numpy as np
        from nimblehlo.kernels.matmul import low_precision_matmul
        if low_precision_matmul.AMX in low_precision_matmul.available():
            a = np.ones((1, 300, 300), np.int8)
            product = low_precision_matmul.Product(a.shape, a.shape, "int8", "int8", "int32")
            assert (product(a, a) == 300).all()
        if low_precision_matmul.available():
            import ml_dtypes
            b = np.ones((1, 300, 300), ml_dtypes.bfloat16)
            product = low_precision_matmul.Product(b.shape, b.shape, b.dtype, b.dtype, "float32")
            assert (product(b, b) == 300).all()
        print([name for name in ("numba", "llvmlite") if name in sys.modules])
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "[]"
