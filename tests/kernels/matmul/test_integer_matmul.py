"""Products of stacks of matrices of integers, against exact sums."""

import numpy as np
import pytest

from nimblehlo.kernels.matmul import integer_matmul, low_precision_matmul
from tests.kernels.integers import extreme

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def exact(lhs, rhs, dtype):
    """The product in Python's integers, modulo two to the width."""
    sums = np.matmul(lhs.astype(object), rhs.astype(object))
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = np.array([int(value) % (1 << bits) for value in sums.flat], np.uint64)
    return unsigned.astype(f"uint{bits}").view(dtype).reshape(sums.shape)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("result", ["int8", "int32", "int64"])
def test_integers_are_exact_modulo_the_width(dtype, result):
    generator = np.random.default_rng(0)
    lhs, rhs = extreme(generator, dtype, (2, 7, 13)), extreme(generator, dtype, (2, 13, 70))
    multiply = integer_matmul.prepare(lhs.shape, rhs.shape, dtype, dtype, result)
    np.testing.assert_array_equal(multiply(lhs, rhs), exact(lhs, rhs, result))


@pytest.mark.parametrize(
    "types", [("int8", "uint8"), ("uint8", "int8"), ("int16", "uint8"), ("uint16", "int8")]
)
@pytest.mark.parametrize("shape", [(1, 3, 70, 33), (2, 150, 600, 70)])
def test_pairs_of_types_have_the_sums_of_wide_integers(types, shape, monkeypatch):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(6)
    lhs = extreme(generator, types[0], (batch, rows, terms))
    rhs = extreme(generator, types[1], (batch, columns, terms)).transpose(0, 2, 1)
    wide = np.matmul(lhs.astype(np.int64), rhs.astype(np.int64)).astype(np.int32)
    for available in (low_precision_matmul.available(), ()):
        monkeypatch.setattr(low_precision_matmul, "available", lambda available=available: available)
        got = integer_matmul.prepare(lhs.shape, rhs.shape, *types, "int32")(lhs, rhs)
        np.testing.assert_array_equal(got, wide)


def test_a_wide_result_keeps_sums_beyond_32_bits():
    lhs = np.full((1, 1, 3 << 10), -(1 << 15), np.int16)
    multiply = integer_matmul.prepare(lhs.shape, (1, lhs.shape[2], 1), "int16", "int16", "int64")
    assert multiply(lhs, lhs.reshape(1, -1, 1)).item() == 3 << 40


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (1, 6, 4, 64), (3, 5, 9, 17), (9, 13, 3, 131), (8, 97, 2, 16)]
)
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_edges_of_tiles_and_strided_operands(shape, dtype):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(1)
    lhs = extreme(generator, dtype, (terms, batch, rows)).transpose(1, 2, 0)
    rhs = extreme(generator, dtype, (batch, columns, terms)).transpose(0, 2, 1)
    multiply = integer_matmul.prepare(lhs.shape, rhs.shape, dtype, dtype, "int32")
    np.testing.assert_array_equal(multiply(lhs, rhs), exact(lhs, rhs, "int32"))


@pytest.mark.parametrize("shape", [(1, 500, 300, 700), (2, 40, 513, 1000), (20, 33, 300, 65)])
@pytest.mark.parametrize("types", [("int8", "int8", "int32"), ("int16", "int16", "int32"), ("int32",) * 3])
def test_blocks_do_not_change_bits(shape, types):
    batch, rows, terms, columns = shape
    generator = np.random.default_rng(5)
    lhs = extreme(generator, types[0], (batch, terms, rows)).transpose(0, 2, 1)
    rhs = extreme(generator, types[1], (batch, terms, columns))
    got = integer_matmul.prepare(lhs.shape, rhs.shape, *types)(lhs, rhs)
    one = integer_matmul.prepare((1, 5, terms), (1, terms, 7), *types)
    for row, column in [(0, 0), (rows - 5, columns - 7), (rows // 2, columns // 2)]:
        alone = one(lhs[-1:, row : row + 5], rhs[-1:, :, column : column + 7])
        np.testing.assert_array_equal(got[-1:, row : row + 5, column : column + 7], alone)


def test_threads_do_not_change_bits():
    generator = np.random.default_rng(3)
    types = ("int32",) * 3
    lhs, rhs = extreme(generator, "int32", (40, 50, 33)), extreme(generator, "int32", (40, 33, 41))
    one, *others = [
        integer_matmul.prepare(lhs.shape, rhs.shape, *types, threads=threads)(lhs, rhs)
        for threads in (1, 2, 3, 8)
    ]
    for other in others:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("types", [("float32",) * 3, ("int32", "float64", "float64"), ("bool",) * 3])
def test_other_types_are_not_served(types):
    with pytest.raises(ValueError, match="no kernel multiplies"):
        integer_matmul.prepare((1, 2, 3), (1, 3, 2), *types)
