"""`reduce_window` against its order written out in NumPy, window by window."""

import itertools
import operator

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.reduction import reduce_window
from nimblehlo.kernels.simd.block_sizes import SCAN_BLOCK, SCAN_FLAGS, SCAN_GROUP, SCAN_PANEL
from tests.support.running import assert_same_bits

WIDE = {"bfloat16": np.dtype("f4"), "float16": np.dtype("f4")}


def ieee_maximum(a, b):
    if np.isnan(a) or np.isnan(b):
        return a + b
    return b if a < b or (a == b and np.signbit(a)) else a


COMBINE = {
    "add": operator.add,
    "multiply": operator.mul,
    "maximum": ieee_maximum,
    "minimum": lambda a, b: -ieee_maximum(-a, -b),
    "or": operator.or_,
    "xor": operator.xor,
}


def fold(values, combine):
    total = values[0]
    for value in values[1:]:
        total = combine(total, value)
    return total


def window_values(operand, init_value, axes, place):
    """The values of one window in row-major order."""
    values = []
    for offset in itertools.product(*(range(axis.window) for axis in axes)):
        at = [
            p * a.stride + o * a.window_dilation - a.low for p, o, a in zip(place, offset, axes, strict=True)
        ]
        inside = all(
            i >= 0 and i % a.base_dilation == 0 and i // a.base_dilation < a.size
            for i, a in zip(at, axes, strict=True)
        )
        elements = tuple(i // a.base_dilation for i, a in zip(at, axes, strict=True))
        values.append(operand[elements] if inside else init_value)
    return values


def expected(operand, init_value, monoid, axes):
    wide = WIDE.get(operand.dtype.name, operand.dtype)
    values, start = operand.astype(wide), np.asarray(init_value, operand.dtype).astype(wide)[()]
    result = np.empty([axis.windows for axis in axes], wide)
    with np.errstate(all="ignore"):
        for place in np.ndindex(result.shape):
            result[place] = fold([start, *window_values(values, start, axes, place)], COMBINE[monoid])
        return result.astype(operand.dtype)


def scanned(values, init_value, combine, reverse):
    """The scan of a vector, as the text of `scan` says."""
    values = values[::-1] if reverse else values
    pads = list(itertools.accumulate([init_value] * len(values), combine))
    same = combine(init_value, init_value).tobytes() == init_value.tobytes()
    pads = [init_value] * len(values) if same else pads[::-1]
    result = list(map(combine, pads, in_parts(values, combine, SCAN_BLOCK, SCAN_GROUP)))
    return np.array(result[::-1] if reverse else result)


def in_parts(values, combine, size, *finer):
    """Prefixes: those of parts of a size, each combined with the parts before it, folded from the left."""
    parts = [values[i : i + size] for i in range(0, len(values), size)]
    folded = [
        in_parts(part, combine, *finer) if finer else list(itertools.accumulate(part, combine))
        for part in parts
    ]
    ahead = list(itertools.accumulate([part[-1] for part in folded], combine))
    later = zip(ahead, folded[1:], strict=False)
    return folded[0] + [combine(total, value) for total, part in later for value in part]


def sample(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape, dtype)
    values = np.asarray(rng.standard_normal(shape))
    special = rng.choice([np.nan, np.inf, 0.0, -0.0, -np.inf], shape)
    return np.where(rng.random(shape) < 0.05, special, values).astype(dtype)


axis_numbers = st.tuples(
    st.integers(0, 6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(-1, 2),
    st.integers(-1, 3),
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_windows(data):
    axes = data.draw(st.lists(st.one_of(axis_numbers, st.integers(1, 6)), min_size=1, max_size=4))
    axes = [reduce_window.Axis(axis) if isinstance(axis, int) else reduce_window.Axis(*axis) for axis in axes]
    monoid = data.draw(st.sampled_from(["add", "maximum"]))
    operand = sample(
        np.random.default_rng(data.draw(st.integers(0, 99))), [axis.size for axis in axes], np.float32
    )
    columns = list(zip(*axes, strict=True))
    padding = list(zip(*columns[5:], strict=True))
    run = reduce_window.prepare(operand.shape, "f4", monoid, *columns[1:5], padding)
    init_value = np.float32(data.draw(st.sampled_from([0.0, -0.0, 0.5, -np.inf, np.nan])))
    windowed = [axis for axis in axes if not axis.is_unwindowed]
    if (
        len(windowed) == 1
        and windowed[0].window == windowed[0].size
        and windowed[0].low + windowed[0].high > 0
    ):
        return  # most likely a scan, which has its own test
    assert_same_bits(run(operand, init_value), expected(operand, init_value, monoid, axes))


CASES = [
    ("f4", "add", (2, 9, 9, 3), (1, 3, 3, 1), (1, 2, 2, 1), (0, 1, 1, 0)),
    ("f4", "maximum", (2, 3, 9, 9), (1, 1, 2, 2), (1, 1, 2, 2), (0, 0, 0, 0)),
    ("f4", "maximum", (3, 9, 12), (1, 3, 4), (1, 1, 1), (0, 1, 2)),
    (ml_dtypes.bfloat16, "add", (2, 8, 8, 2), (1, 2, 4, 1), (1, 2, 2, 1), (0, 0, 0, 0)),
    ("i4", "multiply", (5, 40), (1, 5), (1, 3), (0, 0)),
    ("?", "or", (7, 8), (3, 3), (1, 1), (1, 1)),
    ("f4", "add", (1500, 3), (2, 1), (1, 1), (0, 0)),
    ("f4", "add", (4, 1500), (3, 1), (1, 1), (1, 0)),
    ("f4", "maximum", (2, 7, 7, 21), (1, 2, 2, 1), (1, 2, 2, 1), (0, 1, 0, 0)),
    (ml_dtypes.bfloat16, "minimum", (2, 6, 37), (1, 3, 1), (1, 2, 1), (0, 1, 0)),
    ("c8", "add", (2, 7, 19), (1, 3, 1), (1, 2, 1), (1, 1, 0)),
    ("i1", "add", (2, 7, 70), (2, 3, 1), (1, 2, 1), (1, 1, 0)),
    ("f4", "add", (3, 9, 75), (1, 3, 3), (1, 2, 2), (0, 1, 1)),
    ("f8", "maximum", (3, 9, 50), (1, 2, 2), (1, 2, 2), (0, 0, 0)),
    ("c8", "add", (90,), (4,), (2,), (0,)),
    ("f2", "add", (4, 90), (1, 5), (1, 3), (0, 2)),
    ("f4", "maximum", (2, 9, 9, 90), (1, 3, 3, 1), (1, 2, 2, 1), (0, 1, 1, 0)),
    ("f4", "maximum", (2, 9, 9, 90), (1, 3, 3, 1), (1, 1, 1, 1), (0, 1, 1, 0)),
    ("f8", "minimum", (2, 9, 9, 45), (1, 4, 4, 1), (1, 4, 4, 1), (0, 0, 0, 0)),
    (ml_dtypes.bfloat16, "maximum", (1, 9, 9, 150), (1, 2, 2, 1), (1, 2, 2, 1), (0, 1, 1, 0)),
    ("i1", "add", (1, 5, 5, 300), (1, 3, 3, 1), (1, 1, 1, 1), (0, 1, 1, 0)),
]


@pytest.mark.parametrize(("dtype", "monoid", "shape", "windows", "strides", "pad"), CASES)
def test_pooling(dtype, monoid, shape, windows, strides, pad):
    operand = sample(np.random.default_rng(1), shape, dtype)
    padding = [(p, p) for p in pad]
    axes = reduce_window.axes_of(shape, windows, strides, padding=padding)
    before = operand.copy()
    for init_value in (0, 1):
        run = reduce_window.prepare(shape, dtype, monoid, windows, strides, padding=padding)
        assert_same_bits(run(operand, init_value), expected(operand, init_value, monoid, axes))
    np.testing.assert_array_equal(operand.view("u1"), before.view("u1"))


@pytest.mark.sampled(("shape", "reverse"))
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("init_value", [0.0, 0.25])
@pytest.mark.parametrize(
    ("shape", "dimension"),
    [
        ((9000,), 0),  # two panels and a part of one
        ((2, 8192), 1),
        ((3, 700), 1),
        ((40, 5), 1),  # neighbouring rows
        ((19, 600), 1),
        ((32, 512), 1),
        ((700, 3), 0),
        ((2, 530, 40), 1),
        ((16,), 0),
        ((2,), 0),
    ],
)
def test_cumulative(shape, dimension, reverse, init_value):
    rng = np.random.default_rng(2)
    operand = sample(rng, shape, np.float32) if reverse else rng.standard_normal(shape).astype(np.float32)
    size = shape[dimension]
    windows = [size if d == dimension else 1 for d in range(len(shape))]
    padding = [
        ((0, size - 1) if reverse else (size - 1, 0)) if d == dimension else (0, 0) for d in range(len(shape))
    ]
    with np.errstate(all="ignore"):
        want = np.apply_along_axis(
            scanned, dimension, operand, np.float32(init_value), COMBINE["add"], reverse
        )
    for threads in (1, 2, 3, 8):
        run = reduce_window.prepare(shape, "f4", "add", windows, padding=padding, threads=threads)
        assert_same_bits(run(operand, init_value), want)


@pytest.mark.sampled
@pytest.mark.parametrize(("shape", "reverse"), [((2, 5000), False), ((35, 275), True)])
@pytest.mark.parametrize("dtype", ["i1", "u4", "f8", "c8"])
def test_cumulative_types(dtype, shape, reverse):
    rows, size = shape
    operand = sample(np.random.default_rng(5), shape, dtype)
    if operand.dtype.kind in "fc":
        operand = (np.arange(rows * size).reshape(shape) % 7).astype(dtype)
    padding = [(0, 0), (0, size - 1) if reverse else (size - 1, 0)]
    values = operand[:, ::-1] if reverse else operand
    want = np.cumsum(values, 1, dtype=dtype)
    for threads in (1, 2, 3, 8):
        run = reduce_window.prepare(operand.shape, dtype, "add", (1, size), padding=padding, threads=threads)
        assert_same_bits(run(operand, 0), want[:, ::-1] if reverse else want)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "dtype"), [((2_100_000,), "f4"), ((1024, 1600), "f4"), ((800_000,), "f8")])
def test_large_cumulative(shape, dtype, reverse):
    operand = np.random.default_rng(7).integers(0, 3, shape).astype(dtype)
    size, leading = shape[-1], len(shape) - 1
    padding = [(0, 0)] * leading + [(0, size - 1) if reverse else (size - 1, 0)]
    run = reduce_window.prepare(shape, dtype, "add", (1,) * leading + (size,), padding=padding)
    values = operand[..., ::-1] if reverse else operand
    want = np.cumsum(values, -1)
    assert_same_bits(run(operand, 0), np.ascontiguousarray(want[..., ::-1] if reverse else want))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("folded", [(), (0,), (1, 2)])
def test_panels_that_other_tasks_have_not_reduced(folded, reverse):
    """A task that begins with panel 3, as if others were at work on those before: some have been folded."""
    from nimblehlo.kernels.reduction import scan_loops

    size = 4 * SCAN_PANEL + 1000
    operand = np.random.default_rng(8).standard_normal(size).astype(np.float32)
    want = scanned(operand, np.float32(0), operator.add, reverse)
    room = [np.empty(n, np.float32) for n in (2 * SCAN_PANEL, 7 * 16, 5)]
    flags = np.zeros(SCAN_FLAGS + 5, np.int64)
    work = (1, size, operand, np.zeros(16, np.float32), *room, flags, 0)
    body = scan_loops.scan_blocks("float32", "add", reverse)
    body(1, *work, np.empty(size, np.float32))
    flags[:] = 0
    flags[0] = 3
    for panel in folded:
        flags[SCAN_FLAGS + panel] = 1
    for panel in {0, 1, 2} - set(folded):
        room[1][16 * panel : 16 * panel + 16] = np.nan
    room[2][:] = np.nan
    result = np.zeros(size, np.float32)
    body(1, *work, result)
    done = slice(0, size - 3 * SCAN_PANEL) if reverse else slice(3 * SCAN_PANEL, size)
    assert_same_bits(result[done], np.asarray(want)[done])


@pytest.mark.parametrize(
    ("dtype", "reverse"), [("f4", False), ("f4", True), ("f8", False), (ml_dtypes.bfloat16, True)]
)
def test_cumulative_extremes(dtype, reverse):
    operand = np.random.default_rng(6).standard_normal((2, 5000)).astype(dtype)
    operand[0, :40] = np.resize(np.array([0.0, -0.0], dtype), 40)
    operand[1, 2600] = np.nan
    padding = [(0, 0), (0, 4999) if reverse else (4999, 0)]
    values = operand[:, ::-1] if reverse else operand
    want = np.array([list(itertools.accumulate(row, ieee_maximum)) for row in values], dtype)
    for threads in (1, 2, 3, 8):
        run = reduce_window.prepare(
            operand.shape, dtype, "maximum", (1, 5000), padding=padding, threads=threads
        )
        assert_same_bits(run(operand, -np.inf), want[:, ::-1] if reverse else want)


@pytest.mark.parametrize(("dtype", "monoid"), [(ml_dtypes.bfloat16, "maximum"), ("u1", "xor")])
def test_cumulative_agrees_with_windows(dtype, monoid):
    operand = sample(np.random.default_rng(3), (2, 300), dtype)
    axes = reduce_window.axes_of(operand.shape, (1, 300), padding=[(0, 0), (299, 0)])
    run = reduce_window.prepare(operand.shape, dtype, monoid, (1, 300), padding=[(0, 0), (299, 0)])
    assert_same_bits(run(operand, 3), expected(operand, 3, monoid, axes))


@pytest.mark.parametrize(
    ("shape", "windows", "strides", "passes"),
    [
        ((1, 20, 20, 8), (1, 3, 3, 1), (1, 2, 2, 1), 1),
        ((1, 20, 20, 8), (1, 3, 3, 1), (1, 1, 1, 1), 2),
        ((1, 20, 20, 8), (1, 5, 5, 1), (1, 5, 5, 1), 1),
        ((1, 8, 20, 20), (1, 1, 3, 3), (1, 1, 2, 2), 2),
        ((20, 20), (1, 3), (1, 1), 1),
    ],
)
def test_passes_where_they_load_less(monkeypatch, shape, windows, strides, passes):
    """Overlapping windows of a maximum are reduced one dimension after the other."""
    axes = reduce_window.axes_of(shape, windows, strides)
    sliding, prepared = reduce_window.sliding, []
    monkeypatch.setattr(
        reduce_window, "sliding", lambda *arguments: prepared.append(arguments) or sliding(*arguments)
    )
    run = reduce_window.prepare(shape, "f4", "maximum", windows, strides)
    assert len(prepared) == passes
    operand = sample(np.random.default_rng(5), shape, np.dtype("f4"))
    assert_same_bits(run(operand, 0), expected(operand, 0, "maximum", axes))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_bits_do_not_depend_on_threads(threads):
    operand = np.random.default_rng(4).standard_normal((8, 60, 60, 16)).astype(np.float32)
    numbers = (1, 3, 3, 1), (1, 2, 2, 1)
    run = reduce_window.prepare(operand.shape, "f4", "add", *numbers, threads=threads)
    want = np.zeros((8, 29, 29, 16), np.float32)
    for i, j in itertools.product(range(3), range(3)):
        want = want + operand[:, i : i + 58 : 2, j : j + 58 : 2]
    assert_same_bits(run(operand, 0), want)


def test_scratch_of_large_windows_is_bounded(monkeypatch):
    """Each task has the offsets of a window's elements: for large windows there are fewer tasks."""
    divisions = []
    divide = reduce_window.division

    def division(*arguments):
        divisions.append(divide(*arguments))
        return divisions[-1]

    monkeypatch.setattr(reduce_window, "division", division)
    operand = np.arange(3_000_000, dtype=np.int32).reshape(3000, 1000)
    results = []
    for scratch in (1 << 27, 8 * 2 * (20 + 1) * 3):
        monkeypatch.setattr(reduce_window, "_MAX_SCRATCH_BYTES", scratch)
        kernel = reduce_window.prepare(operand.shape, operand.dtype, "add", (1, 20))
        results.append(kernel(operand, np.int32(0)))
    assert divisions[0].tasks > 3 >= divisions[1].tasks
    assert_same_bits(*results)


def test_rejects():
    with pytest.raises(ValueError, match="do not fit"):
        reduce_window.prepare((3, 4), "f4", "add", (1,))
    with pytest.raises(ValueError, match="do not fit"):
        reduce_window.prepare((3, 4), "f4", "add", (1, 0))
    with pytest.raises(ValueError, match="positions"):
        reduce_window.prepare((3,), "f4", "add", (1 << 40,), padding=[(1 << 40, 1 << 40)])
    with pytest.raises(ValueError, match="no kernel"):
        reduce_window.prepare((3,), "f4", "xor", (1,))
