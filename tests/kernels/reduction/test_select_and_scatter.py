"""`select_and_scatter` against its definition, element by element."""

import itertools
import operator

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.reduction import reduce_window, select_and_scatter

COMPARE = {"GE": operator.ge, "GT": operator.gt, "LE": operator.le, "LT": operator.lt}
COMBINE = {"add": operator.add, "multiply": operator.mul, "maximum": np.maximum}


def expected(operand, source, init_value, direction, monoid, axes):
    result = np.full(operand.shape, init_value, operand.dtype)
    for place in np.ndindex(source.shape):
        selected = None
        for offset in itertools.product(*(range(axis.window) for axis in axes)):
            at = tuple(p * a.stride + o - a.low for p, o, a in zip(place, offset, axes, strict=True))
            if not all(0 <= i < size for i, size in zip(at, operand.shape, strict=True)):
                continue
            if selected is None or not COMPARE[direction](operand[selected], operand[at]):
                selected = at
        if selected is not None:
            result[selected] = COMBINE[monoid](result[selected], source[place])
    return result


def check(operand, source, init_value, direction, monoid, axes, threads=None):
    columns = list(zip(*axes, strict=True))
    padding = list(zip(*columns[5:], strict=True))
    before = operand.tobytes()
    run = select_and_scatter.prepare(
        operand.shape, operand.dtype, direction, monoid, columns[1], columns[2], padding, threads=threads
    )
    got, want = (
        run(operand, source, init_value),
        expected(operand, source, init_value, direction, monoid, axes),
    )
    assert got.dtype == want.dtype
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    assert operand.tobytes() == before


def sample(rng, shape, dtype):
    """Many equal values, and some NaNs."""
    values = rng.integers(0, 6, shape).astype(dtype)
    if values.dtype.kind not in "iu":
        values[rng.random(shape) < 0.1] = np.nan
    return values


axis_numbers = st.tuples(
    st.integers(0, 7),
    st.integers(1, 3),
    st.integers(1, 2),
    st.just(1),
    st.just(1),
    st.integers(-1, 2),
    st.integers(-1, 2),
)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_windows(data):
    axes = data.draw(st.lists(st.one_of(axis_numbers, st.integers(1, 6)), max_size=4))
    axes = [reduce_window.Axis(axis) if isinstance(axis, int) else reduce_window.Axis(*axis) for axis in axes]
    if not axes:
        axes = [reduce_window.Axis(1)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    operand = sample(rng, [axis.size for axis in axes], np.float32)
    source = rng.standard_normal([axis.windows for axis in axes]).astype(np.float32)
    check(operand, source, np.float32(0.5), "GE", "add", axes)


CASES = [
    ("f4", "GE", "add", (2, 8, 8, 5), (1, 2, 2, 1), (1, 2, 2, 1), (0, 0, 0, 0)),
    ("f4", "LT", "add", (2, 3, 9, 9), (1, 1, 3, 3), (1, 1, 2, 2), (0, 0, 1, 1)),
    ("i4", "GT", "multiply", (6, 7), (3, 2), (1, 2), (1, 1)),
    (ml_dtypes.bfloat16, "LE", "add", (4, 20), (2, 3), (1, 1), (0, 0)),
    ("u1", "GE", "maximum", (30,), (4,), (3,), (2,)),
    ("f8", "GE", "add", (2, 6, 9, 21), (1, 2, 3, 1), (1, 2, 3, 1), (0, 0, 0, 0)),
    (ml_dtypes.bfloat16, "GT", "add", (2, 7, 20), (1, 4, 1), (1, 4, 1), (0, 1, 0)),
    ("i1", "LE", "add", (3, 40), (1, 40), (1, 40), (0, 0)),
    ("f4", "GE", "add", (80, 90), (70, 71), (5, 6), (2, 2)),
    ("f4", "GE", "add", (2, 3, 20, 45), (1, 1, 2, 2), (1, 1, 2, 2), (0, 0, 0, 0)),
    ("f4", "GT", "add", (2, 3, 11, 49), (1, 1, 3, 5), (1, 1, 2, 2), (0, 0, 1, 2)),
    ("f2", "GE", "add", (3, 9, 60), (1, 2, 3), (1, 2, 1), (0, 0, 1)),
    ("f4", "GE", "add", (100,), (5,), (2,), (1,)),
    ("f4", "GE", "add", (2, 5, 6, 7, 18), (1, 2, 3, 2, 1), (1, 1, 2, 2, 1), (0, 1, 0, 1, 0)),
    ("i4", "LT", "add", (5, 6, 40), (2, 2, 2), (2, 1, 2), (1, 0, 0)),
    ("f4", "GE", "add", (3, 200), (1, 12), (1, 11), (0, 3)),
    ("f4", "LT", "add", (4, 130), (2, 2), (2, 5), (0, 1)),
    (ml_dtypes.bfloat16, "GE", "add", (3, 9, 90), (1, 2, 2), (1, 2, 2), (0, 0, 0)),
    ("f4", "GE", "add", (3, 6, 6, 32), (1, 2, 2, 1), (1, 3, 3, 1), (0, 1, 1, 0)),
]


@pytest.mark.parametrize(("dtype", "direction", "monoid", "shape", "windows", "strides", "pad"), CASES)
def test_cases(dtype, direction, monoid, shape, windows, strides, pad):
    rng = np.random.default_rng(1)
    axes = reduce_window.axes_of(shape, windows, strides, padding=[(p, p) for p in pad])
    source = rng.integers(0, 9, [axis.windows for axis in axes]).astype(dtype)
    check(sample(rng, shape, dtype), source, np.dtype(dtype).type(1), direction, monoid, axes)


@pytest.mark.parametrize("windows", [2, 3])
def test_one_value_for_all_windows(windows):
    axes = reduce_window.axes_of((2, 12, 12, 19), (1, windows, windows, 1), (1, 2, 2, 1))
    operand = sample(np.random.default_rng(3), (2, 12, 12, 19), np.float32)
    source = np.broadcast_to(np.float32(1.5), [axis.windows for axis in axes])
    check(operand, source, np.float32(-0.0), "GE", "add", axes)
    axes = reduce_window.axes_of((2, 12, 45), (1, windows, windows), (1, 2, 2))
    operand = sample(np.random.default_rng(3), (2, 12, 45), np.float32)
    source = np.broadcast_to(np.float32(1.5), [axis.windows for axis in axes])
    check(operand, source, np.float32(-0.0), "GE", "add", axes)


@pytest.mark.sampled(("shape", "stride"))
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("shape", [(6, 64, 40, 8), (1, 200, 60, 8), (9, 50, 50, 20), (20, 61, 75)])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_bits_do_not_depend_on_threads(shape, stride, threads):
    rng = np.random.default_rng(2)
    operand = rng.standard_normal(shape).astype(np.float32)
    windows, strides = (1, 3, 3, 1)[: len(shape)], (1, stride, stride, 1)[: len(shape)]
    run = [
        select_and_scatter.prepare(shape, "f4", "GE", "add", windows, strides, threads=number)
        for number in (1, threads)
    ]
    axes = reduce_window.axes_of(shape, windows, strides)
    source = rng.standard_normal([axis.windows for axis in axes]).astype(np.float32)
    assert run[0](operand, source, 0).tobytes() == run[1](operand, source, 0).tobytes()
    assert (run[0](operand, source, 0) != 0).any()


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("shape", "windows"), [((2, 64, 64, 128), (1, 2, 2, 1)), ((60_000,), (3,)), ((1_200_000,), (2,))]
)
def test_large(shape, windows, threads):
    """Results that go past the caches, and lines of several blocks."""
    rng = np.random.default_rng(5)
    operand = rng.permutation(np.prod(shape)).reshape(shape).astype(np.float32)
    run = select_and_scatter.prepare(shape, "f4", "GE", "add", windows, windows, threads=threads)
    axes = reduce_window.axes_of(shape, windows, windows)
    source = rng.integers(1, 9, [axis.windows for axis in axes]).astype(np.float32)
    greatest, values = np.full(source.shape, -np.inf, np.float32), source
    for axis, size in enumerate(windows):
        values = np.repeat(values, size, axis)
    parts = [
        operand[tuple(slice(o, None, w) for o, w in zip(offset, windows, strict=True))]
        for offset in itertools.product(*map(range, windows))
    ]
    for part in parts:
        greatest = np.maximum(greatest, part)
    for axis, size in enumerate(windows):
        greatest = np.repeat(greatest, size, axis)
    np.testing.assert_array_equal(run(operand, source, 0), np.where(operand == greatest, values, 0))


@pytest.mark.parametrize(
    ("shape", "windows"),
    [
        ((8, 64, 64, 32), (1, 2, 2, 1)),
        ((8, 64, 64, 32), (1, 3, 3, 1)),
        ((4, 16, 120, 120), (1, 1, 2, 2)),
        ((32, 32, 32, 16), (1, 2, 2, 1)),
    ],
)
def test_sixteen_threads_share_the_blocks(shape, windows, monkeypatch):
    """Each task has blocks of its own: what a thread takes does not depend on what others have done."""
    launched = []

    def record(tasks, size, work_items, *arguments, threads):
        launched.append((tasks, size, work_items))

    monkeypatch.setattr(select_and_scatter, "kernel_at", lambda *_: record)
    strides = [min(2, size) for size in windows]
    run = select_and_scatter.prepare(shape, "f4", "GE", "add", windows, strides)
    axes = reduce_window.axes_of(shape, windows, strides)
    run(np.zeros(shape, np.float32), np.zeros([axis.windows for axis in axes], np.float32), 0)
    ((tasks, size, work_items),) = launched
    assert (tasks - 1) * size < work_items <= tasks * size
    assert work_items / (-(-tasks // 16) * size) >= 0.7 * 16


def test_rejects():
    for dtype, direction, monoid in (
        ("c8", "GE", "add"),
        ("f4", "EQ", "add"),
        ("f4", "GE", "or"),
        ("?", "GE", "or"),
    ):
        assert not select_and_scatter.supports(dtype, direction, monoid)
        with pytest.raises(ValueError, match="no kernel"):
            select_and_scatter.prepare((3,), dtype, direction, monoid, (1,))
