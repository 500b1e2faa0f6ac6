"""`top_k` against Python's stable sort, by ranks computed from the elements' bits."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.launch.threads import division
from nimblehlo.kernels.sorting import top_k

ELEMENTS = ("bool", "int8", "uint16", "int32", "uint64", "int64", "bfloat16", "float16", "float32", "float64")


def dtype_of(element):
    return np.dtype(ml_dtypes.bfloat16 if element == "bfloat16" else element)


def rank(value):
    if value.dtype.kind in "biu":
        return int(value)
    bits, sign = int(value.view(f"u{value.itemsize}")), 1 << (value.itemsize * 8 - 1)
    return bits if bits < sign else sign - bits - 1


def expected(operand, k):
    shape = (*operand.shape[:-1], k)
    values, indices = np.empty(shape, operand.dtype), np.empty(shape, np.int32)
    for row in np.ndindex(shape[:-1]):
        places = sorted(range(operand.shape[-1]), key=lambda i: -rank(operand[row][i]))[:k]
        indices[row], values[row] = places, operand[row][places]
    return values, indices


def check(operand, k, threads=None):
    got = top_k.prepare(operand.shape, operand.dtype, k, threads=threads)(operand)
    for a, b in zip(got, expected(operand, k), strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.flags.c_contiguous
        assert a.tobytes() == b.tobytes()


def sample(rng, shape, dtype):
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        chosen = rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
        return np.where(rng.random(shape) < 0.3, chosen, rng.integers(0, 100, shape, dtype))
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], shape).astype(dtype)
    return np.where(rng.random(shape) < 0.2, special, rng.standard_normal(shape).astype(dtype))


@pytest.mark.parametrize("element", ELEMENTS)
def test_elements(element):
    rng = np.random.default_rng(1)
    for shape, k in (
        ((300,), 7),
        ((2, 400), 1),
        ((2, 3, 200), 100),
        ((3, 70), 70),
        ((2, 5), 0),
        ((0, 5), 2),
        ((9, 1), 1),
    ):
        check(sample(rng, shape, dtype_of(element)), k)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_rows(data):
    length = data.draw(st.integers(1, 200))
    operand = sample(np.random.default_rng(data.draw(st.integers(0, 99))), (2, length), np.dtype("f4"))
    order = data.draw(st.sampled_from(["any", "up", "down"]))
    if order != "any":
        operand = np.sort(operand, axis=1)[:, :: 1 if order == "up" else -1]
    check(operand, data.draw(st.integers(0, length)))


@pytest.mark.parametrize("element", ELEMENTS[1:])
def test_where_the_largest_are_small(element):
    """Negative, or no better than zero: where vectors are compared as they lie only at the end."""
    rng = np.random.default_rng(3)
    dtype = dtype_of(element)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        operand = rng.choice(np.array([info.min, info.min + 1, info.min + 7], dtype), (3, 700))
    else:
        operand = -np.abs(rng.standard_normal((3, 700))).astype(dtype)
        operand[:, ::50] = rng.choice(np.array([-0.0, -np.inf, -np.nan, -1e-45], dtype), (3, 14))
    operand[1, 650:660] = 1
    operand[2, 690] = 0
    for k in (1, 3, 64):
        check(operand, k)


@pytest.mark.sampled
@pytest.mark.parametrize("element", ["uint8", "int16", "float32", "bfloat16"])
@pytest.mark.parametrize("order", ["any", "up", "down", "equal"])
def test_few_of_many(element, order):
    """What is collected has to be sorted out often, never, or has equal values at the end of the best."""
    dtype = dtype_of(element)
    operand = sample(np.random.default_rng(4), (2, 7000), dtype)
    if order in ("up", "down"):
        operand = np.sort(operand, axis=1)[:, :: 1 if order == "up" else -1]
    elif order == "equal":
        operand[:, 100:] = operand[:, :1]
    for k in (65, 100):
        check(operand, k)


@pytest.mark.parametrize("shape", [(100_003,), (3, 40_000)])
@pytest.mark.parametrize("k", [1, 64, 200])
def test_long_rows_are_cut(shape, k):
    rng = np.random.default_rng(5)
    for operand in (sample(rng, shape, np.dtype("f4")), rng.integers(0, 3, shape, np.int16)):
        for threads in (1, 2):
            check(operand, k, threads)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("k", [5, 70, 500])
def test_bits_do_not_depend_on_threads(k, threads):
    operand = np.random.default_rng(2).integers(0, 3000, (30, 8000)).astype(np.float32)
    assert division(*operand.shape[:1], operand.nbytes // len(operand)).tasks > 3
    check(operand, k, threads)


def test_rejects():
    with pytest.raises(ValueError, match="no kernel"):
        top_k.prepare((3,), "c8", 1)
    with pytest.raises(ValueError, match="no kernel"):
        top_k.prepare((), "f4", 1)
    for k in (4, -1):
        with pytest.raises(ValueError, match="k is"):
            top_k.prepare((3,), "f4", k)
