"""`prepare_arg` against its body from the left."""

import itertools
import operator

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.kernels.reduction import arg_reduce
from nimblehlo.kernels.simd.block_sizes import ARGUMENT_GROUP
from tests.support.running import assert_same_bits


def dtype_of(element):
    return np.dtype(ml_dtypes.bfloat16 if element == "bfloat16" else element)


def test_bad_dimensions():
    for dimensions in ((2,), (0, 0), (-1,)):
        with pytest.raises(ValueError, match="dimensions"):
            arg_reduce.prepare_arg((3, 4), np.float32, np.int32, dimensions, "maximum")


def arg_expected(operand, indices, init_value, init_index, dimension, direction):
    better = operator.gt if direction == "maximum" else operator.lt
    shape = operand.shape[:dimension] + operand.shape[dimension + 1 :]
    value, index = np.empty(shape, operand.dtype), np.empty(shape, indices.dtype)
    for place in itertools.product(*map(range, shape)):
        a, i = init_value, init_index
        for position in range(operand.shape[dimension]):
            at = (*place[:dimension], position, *place[dimension:])
            b, j = operand[at], indices[at]
            left = bool(better(a, b)) or a != a
            i = i if left or (a == b and i < j) else j
            a = a if left else b
        value[place], index[place] = a, i
    return value, index


@pytest.mark.parametrize(
    ("element", "direction"),
    [("float32", "maximum"), ("float32", "minimum"), ("bfloat16", "maximum"), ("int8", "minimum")],
)
@pytest.mark.parametrize(
    ("shape", "dimension"),
    [((3, 200), 1), ((7, 1, 128), 2), ((200, 1), 0), ((2, 9, 75), 2), ((4099,), 0), ((9000,), 0)],
)
def test_arg(element, shape, dimension, direction):
    rng = np.random.default_rng(7)
    dtype = dtype_of(element)
    operand = rng.integers(-3, 3, shape).astype(dtype)
    if element != "int8":
        operand[rng.random(shape) < 0.3] = dtype.type(-0.0)
        operand[rng.random(shape) < 2 / operand.size] = np.nan
    iota = np.broadcast_to(
        np.expand_dims(np.arange(shape[dimension]), [d for d in range(len(shape)) if d != dimension]), shape
    )
    init_value = dtype.type({"maximum": -100, "minimum": 100}[direction])
    run = arg_reduce.prepare_arg(shape, dtype, np.int32, (dimension,), direction)
    for indices in (
        iota.astype(np.int32),
        rng.permutation(operand.size).astype(np.int32).reshape(shape),
        None,
    ):
        given_indices = iota.astype(np.int32) if indices is None else indices
        value, index = run(operand, indices, init_value, 0)
        want = arg_expected(operand, given_indices, init_value, np.int32(0), dimension, direction)
        assert_same_bits(value, want[0])
        np.testing.assert_array_equal(index, want[1])


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("shape", "dimension"), [((60, 9000), 1), ((9000, 130), 1), ((40, 90, 130), 2)]
)
def test_arg_by_any_number_of_threads(shape, dimension, threads):
    """Where several tasks share rows, or blocks of rows."""
    rng = np.random.default_rng(9)
    operand = rng.integers(-9, 9, shape).astype(np.float32)
    operand[rng.random(shape) < 1 / 5000] = np.nan
    operand[operand == 0] = -0.0
    indices = np.moveaxis(
        np.broadcast_to(np.arange(shape[dimension]), np.moveaxis(operand, dimension, -1).shape), -1, dimension
    )
    for direction, extreme in (("maximum", np.argmax), ("minimum", np.argmin)):
        run = arg_reduce.prepare_arg(shape, np.float32, np.int32, (dimension,), direction, threads=threads)
        initial = np.float32({"maximum": -np.inf, "minimum": np.inf}[direction])
        wanted = extreme(operand, axis=dimension)
        for counted in (None, np.ascontiguousarray(indices.astype(np.int32))):
            value, index = run(operand, counted, initial, 0)
            np.testing.assert_array_equal(index, wanted)
            found = np.take_along_axis(operand, np.expand_dims(wanted, dimension), dimension)
            np.testing.assert_array_equal(value, found.squeeze(dimension))


@pytest.mark.parametrize("element", ["float64", "float32", "int16", "uint8"])
def test_each_position_of_some_groups_is_found(element):
    for length in (ARGUMENT_GROUP, 2 * ARGUMENT_GROUP + 7):
        operand = np.full((length, length), 100, element)
        np.fill_diagonal(operand, 101)
        run = arg_reduce.prepare_arg((length, length), element, np.int32, (1,), "maximum")
        assert run(operand, None, operand.dtype.type(0), np.int32(0))[1].tolist() == [*range(length)]
        # The first one of several.
        run = arg_reduce.prepare_arg((length, length), element, np.int32, (1,), "minimum")
        index = run(operand, None, operand.dtype.type(127), np.int32(0))[1]
        assert index.tolist() == [1, *[0] * (length - 1)]


def test_arg_rejects():
    for dimensions in ((0, 2), (0,), (1,)):
        assert not arg_reduce.supports_arg((2, 3, 200), np.float32, np.int32, dimensions)
    assert not arg_reduce.supports_arg((70, 63), np.float32, np.int32, (1,))
    assert arg_reduce.supports_arg((70, 64), np.float32, np.int32, (1,))
    with pytest.raises(ValueError, match="no kernel"):
        arg_reduce.prepare_arg((2, 200), np.complex64, np.int32, (1,), "maximum")
    with pytest.raises(ValueError, match="direction"):
        arg_reduce.prepare_arg((2, 200), np.float32, np.int32, (1,), "most")
