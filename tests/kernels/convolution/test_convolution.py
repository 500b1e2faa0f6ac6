"""Convolutions window by window: integers exactly, floats in the stated order, programs in every way."""

import heapq
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels.convolution import convolution, convolution_tasks, depthwise, work_division
from nimblehlo.kernels.convolution.convolution import Axis, DimensionNumbers
from nimblehlo.kernels.launch.native import record_launches
from tests.support.running import run_every_way, same_bits

SMALL = ((2, 2),) * 3

needs_floats = pytest.mark.skipif(not convolution.supports(SMALL, "float32"), reason="no fused multiply-add")
needs_integers = pytest.mark.skipif(not convolution.supports(SMALL, "int32"), reason="no loops here")


def axis(size, window, stride=1, low=0, high=0, base=1, dilation=1, is_reversed=False):
    windows = (low + (size - 1) * base + 1 + high - (window - 1) * dilation - 1) // stride + 1
    return Axis(size, window, windows, stride, low, base, dilation, is_reversed)


def terms_of(lhs, rhs, axes, groups):
    """The terms of all results at once, in order: elements of lhs, factors, which elements are no padding.

    The first have the shape of the result, [batch, windows..., output feature].
    """
    count, features = max(groups), rhs.shape[-2]
    columns = rhs.shape[-1] // count
    for position in np.ndindex(*[a.window for a in axes]):
        taken, turned, inside = lhs, [], np.ones([1] * lhs.ndim, bool)
        for number, (a, p) in enumerate(zip(axes, position, strict=True), 1):
            places = a.offsets(1)[:, p]
            taken = np.take(taken, np.maximum(places, 0), number)
            inside = inside & (places >= 0).reshape([-1 if d == number else 1 for d in range(lhs.ndim)])
            turned.append(a.window - 1 - p if a.is_reversed else p)
        taken = np.where(inside, taken, lhs.dtype.type(0))
        by_group = np.split(taken, count, 0 if groups[1] > 1 else -1)
        for feature in range(features):
            elements = [np.repeat(one[..., feature : feature + 1], columns, -1) for one in by_group]
            yield np.concatenate(elements, -1), rhs[(*turned, feature)], inside


def start_of(lhs, rhs, axes, groups):
    return np.zeros((lhs.shape[0] // groups[1], *(a.windows for a in axes), rhs.shape[-1]), lhs.dtype)


def term_by_term(lhs, rhs, axes, groups=(1, 1)):
    """The convolution by its definition; products are rounded, and left out where they lie in the padding."""
    total = start_of(lhs, rhs, axes, groups)
    for elements, factors, inside in terms_of(lhs, rhs, axes, groups):
        total = np.where(inside, total + elements * factors, total)
    return total


def part_by_part(lhs, rhs, axes, groups=(1, 1)):
    """The convolution of f32 in the order that is stated. f64 holds each sum before it is rounded."""
    total = start_of(lhs, rhs, axes, groups)
    for part in parts_of(list(terms_of(lhs, rhs, axes, groups))):
        added = np.zeros_like(total)
        for elements, factors, _ in part:
            with np.errstate(invalid="ignore"):  # infinities times zero
                added = (added + elements.astype(np.float64) * factors).astype(np.float32)
        total += added
    return total


def parts_of(terms):
    size = -(-len(terms) // -(-len(terms) // convolution_tasks.K_BLOCK))
    return [terms[at : at + size] for at in range(0, len(terms), size)]


def laid_out(array, order):
    """An array whose dimension number `order[i]` is dimension i of `array`."""
    return np.ascontiguousarray(array.transpose(np.argsort(order)))


def convolved(lhs, rhs, axes, groups=(1, 1), orders=None, scales=False, threads=None, is_constant=False):
    """By the kernel, with dimensions in these orders; the result's as they are in `term_by_term`.

    With `is_constant` the result is that of a second call, for which rhs is packed already.
    """
    ranks = tuple(range(lhs.ndim))
    numbers = DimensionNumbers(*(orders or (ranks, ranks, ranks)))
    shape = (lhs.shape[0] // groups[1], *(a.windows for a in axes), rhs.shape[-1])
    operands = laid_out(lhs, numbers.lhs), laid_out(rhs, numbers.rhs)
    result = [shape[place] for place in np.argsort(numbers.result)]
    shapes = (operands[0].shape, operands[1].shape, result)
    if scales:
        run = depthwise.prepare(shapes, axes, numbers, lhs.dtype, threads=threads)
    else:
        counts = {"feature_group_count": groups[0], "batch_group_count": groups[1]}
        run = convolution.prepare(
            shapes, axes, numbers, lhs.dtype, threads=threads, is_rhs_constant=is_constant, **counts
        )
        if is_constant:
            run(np.zeros_like(operands[0]), operands[1])
    return run(*operands).transpose(numbers.result)


AXES = [
    (),
    (axis(9, 3, low=1, high=1),),
    (axis(5, 2, stride=2, low=3, high=2, base=2), axis(6, 3, low=-1, high=1, dilation=2)),
    (axis(6, 3, low=1, high=1, is_reversed=True), axis(20, 3, low=1, high=1)),
    (axis(3, 2), axis(2, 1), axis(4, 3, low=2, stride=3)),
]
ORDERS = {
    "features last": lambda rank: (tuple(range(rank)),) * 3,
    "features first": lambda rank: (
        (0, *range(2, rank), 1),
        (*range(2, rank), 1, 0),
        (0, *range(2, rank), 1),
    ),
    "batch last": lambda rank: (
        (rank - 1, *range(1, rank - 1), 0),
        (*range(1, rank - 1), 0, rank - 1),
        (rank - 2, *range(rank - 2), rank - 1),
    ),
    "mixed": lambda rank: (tuple(range(rank)), tuple(range(rank)), tuple(reversed(range(rank)))),
}


@pytest.mark.sampled(pairs=True)
@needs_integers
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(axes, groups, order, dtype):
    generator = np.random.default_rng(0)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    lhs = generator.integers(low, high, (4, *(a.size for a in axes), 6), dtype)
    rhs = generator.integers(low, high, (*(a.window for a in axes), 6 // groups[0], 10), dtype)
    got = convolved(lhs, rhs, axes, groups, ORDERS[order](lhs.ndim))
    np.testing.assert_array_equal(got, term_by_term(lhs, rhs, axes, groups))


def short_floats(generator, shape):
    """DimensionNumbers of f32 of few digits and like sizes: f64 holds the sum of one and of a product."""
    digits = generator.integers(-(1 << 11), 1 << 11, shape).astype(np.float32)
    return digits * np.float32(2.0) ** generator.integers(-3, 4, shape).astype(np.float32)


@pytest.mark.sampled(pairs=True)
@needs_floats
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("order", ORDERS)
def test_floats_are_added_in_the_stated_order(axes, groups, order):
    generator = np.random.default_rng(4)
    features = 140 if axes == AXES[1] else 6
    lhs = short_floats(generator, (4, *(a.size for a in axes), features))
    rhs = short_floats(generator, (*(a.window for a in axes), features // groups[0], 10))
    expected = part_by_part(lhs, rhs, axes, groups)
    orders = ORDERS[order](lhs.ndim)
    assert same_bits(convolved(lhs, rhs, axes, groups, orders), expected)
    # Values of each type and sums that vanish, whatever runs alongside.
    special = lhs.copy()
    special.flat[3], special.flat[11], special.flat[17], special.flat[20] = np.nan, -np.inf, -0.0, 1e-42
    one, *others = [convolved(special, rhs, axes, groups, orders, threads=count) for count in (1, 2, 3, 8)]
    assert all(same_bits(one, other) for other in others)


@needs_floats
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("order", ORDERS)
def test_products_for_one_output_feature_are_added_in_the_stated_order(axes, order):
    """Windows that are packed are in lanes, others in rows."""
    generator = np.random.default_rng(8)
    features = 140 if axes == AXES[1] else 6
    lhs = short_floats(generator, (4, *(a.size for a in axes), features))
    rhs = short_floats(generator, (*(a.window for a in axes), features, 1))
    assert same_bits(convolved(lhs, rhs, axes, orders=ORDERS[order](lhs.ndim)), part_by_part(lhs, rhs, axes))


@needs_floats
@pytest.mark.parametrize("axes", [AXES[1], AXES[2], (axis(60, 50, low=1, high=1),)])
@pytest.mark.parametrize("count", [3, 16, 70, 150])
@pytest.mark.parametrize("of_batches", [False, True])
def test_vectors_run_along_groups_that_are_contiguous(axes, count, of_batches):
    """As those of gradients of convolutions channel by channel."""
    generator = np.random.default_rng(8)
    features, sizes = 5 if of_batches else 1, [a.size for a in axes]
    lhs = short_floats(generator, (count, *sizes, features) if of_batches else (2, *sizes, count))
    rhs = short_floats(generator, (*(a.window for a in axes), features, count))
    rank, groups = lhs.ndim, (1, count) if of_batches else (count, 1)
    lhs_order = (rank - 1, *range(1, rank - 1), 0)
    rhs_order = (*range(1, rank - 1), 0, rank - 1)
    is_last = ORDERS["features last"](rank)
    orders = (lhs_order, rhs_order, is_last[2]) if of_batches else is_last
    expected = part_by_part(lhs, rhs, axes, groups)
    for threads in (1, 2, 3, 8):
        assert same_bits(convolved(lhs, rhs, axes, groups, orders, threads=threads), expected)


@needs_floats
def test_sums_of_negative_zeros_are_zero():
    lhs, rhs = np.full((1, 5, 3), -0.0, np.float32), np.ones((2, 3, 4), np.float32)
    assert not np.signbit(convolved(lhs, rhs, (axis(5, 2),))).any()


@st.composite
def layouts(draw):
    axes = []
    for _ in range(draw(st.integers(0, 3))):
        low, high = draw(st.integers(-1, 2)), draw(st.integers(-1, 2))
        window, dilation, base = (draw(st.integers(1, 3)) for _ in range(3))
        least = max(1, -(-((window - 1) * dilation + 1 - low - high - 1) // base) + 1)
        size = draw(st.integers(least, least + 12))
        stride, is_reversed = draw(st.integers(1, 3)), draw(st.booleans())
        axes.append(axis(size, window, stride, low, high, base, dilation, is_reversed))
    rank = len(axes) + 2
    groups = draw(st.sampled_from([(1, 1), (1, 1), (3, 1), (1, 2)]))
    orders = tuple(tuple(draw(st.permutations(range(rank)))) for _ in range(3))
    return tuple(axes), groups, orders


@needs_integers
@given(layouts(), st.integers(1, 2), st.sampled_from([1, 3, 17, 130]), st.sampled_from([1, 3, 17, 70]))
def test_any_layout(layout, batch, features, columns):
    axes, groups, orders = layout
    generator = np.random.default_rng(5)
    batch, inputs = batch * groups[1], features * groups[0]
    lhs = generator.integers(-99, 99, (batch, *(a.size for a in axes), inputs), np.int32)
    rhs = generator.integers(-99, 99, (*(a.window for a in axes), features, columns * max(groups)), np.int32)
    for threads, is_constant in ((1, False), (3, False), (3, True)):
        got = convolved(lhs, rhs, axes, groups, orders, threads=threads, is_constant=is_constant)
        np.testing.assert_array_equal(got, term_by_term(lhs, rhs, axes, groups))


@needs_integers
@given(layouts(), st.integers(1, 2), st.sampled_from([1, 5, 16, 70]))
def test_any_layout_of_scaled_elements(layout, batch, channels):
    axes, _, orders = layout
    generator = np.random.default_rng(6)
    lhs = generator.integers(-99, 99, (batch, *(a.size for a in axes), channels), np.int32)
    rhs = generator.integers(-99, 99, (*(a.window for a in axes), 1, channels), np.int32)
    for threads in (1, 3):
        got = convolved(lhs, rhs, axes, (channels, 1), orders, scales=True, threads=threads)
        np.testing.assert_array_equal(got, term_by_term(lhs, rhs, axes, (channels, 1)))


@pytest.mark.sampled(pairs=True)
@needs_floats
@pytest.mark.parametrize("axes", [*AXES[1:], (axis(40, 300, low=290, high=290),)])
@pytest.mark.parametrize("channels", [1, 5, 16, 70])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scaled_elements_are_rounded_and_added_in_order(axes, channels, order, dtype):
    generator = np.random.default_rng(1)
    lhs = generator.standard_normal((2, *(a.size for a in axes), channels)).astype(dtype)
    lhs.flat[0], lhs.flat[7], lhs.flat[9] = np.nan, -np.inf, 1e-42
    rhs = generator.standard_normal((*(a.window for a in axes), 1, channels)).astype(dtype)
    got = convolved(lhs, rhs, axes, (channels, 1), ORDERS[order](lhs.ndim), scales=True)
    assert same_bits(got, term_by_term(lhs, rhs, axes, (channels, 1)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_one_element_that_is_not_finite_is_found(dtype):
    values = np.array([0.0, -0.0, 1.0, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal] * 9, dtype)
    for special in (np.nan, -np.nan, np.inf, -np.inf):
        for place in (0, 20, 44):
            other = values.copy()
            other[place] = special
            in_columns = np.asfortranarray(other.reshape(9, 5))
            assert not convolution.are_finite(other) and not convolution.are_finite(in_columns)
            assert convolution.are_finite(other[:place]) and convolution.are_finite(-values[::2])


@needs_floats
@pytest.mark.parametrize("windows", [1, 49, 55, 96, 100, 128, 129])
@pytest.mark.parametrize("columns", [3, 64, 200])
def test_factors_that_each_work_item_packs(windows, columns):
    axes = [axis(windows, 3, low=1, high=1)]
    generator = np.random.default_rng(windows)
    for features, groups in ((7, (1, 1)), (120, (1, 1)), (5, (2, 1))):
        lhs = short_floats(generator, (1, windows, features * groups[0]))
        rhs = short_floats(generator, (3, features, columns * groups[0]))
        expected = part_by_part(lhs, rhs, axes, groups)
        for threads in (1, 2):
            assert same_bits(convolved(lhs, rhs, axes, groups, threads=threads), expected)
        assert same_bits(convolved(lhs, rhs, axes, groups, is_constant=True), expected)


@needs_floats
@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("batch", [3, 16, 70])
def test_windows_that_differ_by_batch_alone(features, batch):
    """As the gradients of filters have them: images are features, and features are images."""
    axes = [axis(9, 7, low=1, high=1), axis(12, 5, low=2, high=1, dilation=2)]
    generator = np.random.default_rng(batch)
    lhs = short_floats(generator, (batch, 9, 12, features))
    rhs = short_floats(generator, (7, 5, features, 40))
    expected = part_by_part(lhs, rhs, axes, (1, 1))
    for threads in (1, 2):
        assert same_bits(convolved(lhs, rhs, axes, orders=ORDERS["batch last"](4), threads=threads), expected)


@needs_floats
@pytest.mark.parametrize("size", [7, 40])
def test_constant_factors_are_packed_once(size):
    numbers = DimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
    generator = np.random.default_rng(9)
    lhs = short_floats(generator, (1, size, 8))
    rhs = short_floats(generator, (3, 8, 70))
    shapes = (lhs.shape, rhs.shape, (1, size - 2, 70))
    constant, variable = (
        convolution.prepare(shapes, (axis(size, 3),), numbers, np.float32, is_rhs_constant=is_constant)
        for is_constant in (True, False)
    )
    expected = variable(lhs, rhs)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: constant(lhs, rhs), range(8)))
    assert all(same_bits(result, expected) for result in results)
    rhs[...] = 0
    assert same_bits(constant(lhs, rhs), expected)
    assert not variable(lhs, rhs).any()


@needs_floats
@pytest.mark.parametrize("columns", [20, 64, 130])
@pytest.mark.parametrize(
    ("stride", "low", "high"), [(1, 0, 0), (2, 2, 3), (1, 6, 6), (3, -1, 8), (7, 20, 30)]
)
def test_positions_whose_features_are_contiguous(columns, stride, low, high):
    """Windows that lie in the padding in part, on either side or on both, are read like those that do not."""
    inner = axis(9, 7, stride=stride, low=low, high=high)
    generator = np.random.default_rng(13)
    reverse = axis(6, 4, low=3, high=2, is_reversed=True)
    for axes in ((inner,), (axis(5, 3, low=2, high=1), inner), (inner, reverse)):
        lhs = short_floats(generator, (2, *(a.size for a in axes), 3))
        rhs = short_floats(generator, (*(a.window for a in axes), 3, columns))
        lhs.flat[5], rhs.flat[9] = np.nan, np.inf
        assert same_bits(convolved(lhs, rhs, axes), part_by_part(lhs, rhs, axes))


@pytest.mark.sampled
@needs_integers
@pytest.mark.parametrize("windows", [6, 7, 13, 54, 57, 223, 3700])
@pytest.mark.parametrize("columns", [32, 64, 144, 1030])
def test_work_items_cover_all_windows_and_columns(windows, columns):
    features = 9 if windows > 1000 else 300
    generator = np.random.default_rng(windows)
    axes = (axis(windows, 1),)
    lhs = generator.integers(-9, 9, (1, windows, features), np.int32)
    rhs = generator.integers(-9, 9, (1, features, columns), np.int32)
    expected = np.rint(lhs[0].astype(np.float64) @ rhs[0]).astype(np.int32)
    for is_constant in (False, True):
        got = convolved(lhs, rhs, axes, is_constant=is_constant, threads=3)
        np.testing.assert_array_equal(got[0], expected)


@needs_floats
@pytest.mark.parametrize("columns", [40, 128, 200])
@pytest.mark.parametrize("windows", [3, 14, 21])
def test_division_by_columns_keeps_bits(windows, columns, monkeypatch):
    """Up to `_MAX_SHARED_RHS_BYTES` of rhs, work items of enough windows have all output features."""
    generator = np.random.default_rng(columns + windows)
    lhs = generator.standard_normal((2, windows, windows, 48), np.float32)
    rhs = generator.standard_normal((3, 3, 48, columns), np.float32)
    axes, results = (axis(windows, 3, low=1, high=1),) * 2, []
    for limit in (0, work_division._MAX_SHARED_RHS_BYTES):
        monkeypatch.setattr(work_division, "_MAX_SHARED_RHS_BYTES", limit)
        for threads in (1, 2, 8):
            results += [convolved(lhs, rhs, axes, is_constant=c, threads=threads) for c in (False, True)]
    assert all(same_bits(result, results[0]) for result in results)


def _item_sizes(windows, strips, k, columns, wanted, is_shared=True, threads=2):
    """The windows and strips of items of a 1x1 convolution by `_item_sizes`, for tiles of 7 windows."""
    sizes = work_division._Sizes(windows, 7, strips, k * columns, windows * k)
    return work_division._item_sizes(sizes, wanted, is_shared, threads)


def test_small_factors_are_shared_by_threads():
    """Work items divide columns only if rhs is large or tiles are few."""
    assert _item_sizes(784, 2, 9 * 128, 128, 16, is_shared=False) == (98, 2)
    assert _item_sizes(196, 8, 2048, 512, 16, is_shared=False) == (98, 2)
    assert _item_sizes(784, 2, 9 * 128, 128, 16, is_shared=True) == (98, 2)
    assert _item_sizes(49, 4, 9 * 128, 256, 16, is_shared=True) == (14, 2)


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 64])
@pytest.mark.parametrize(("windows", "strips"), [(49, 3), (49, 20), (196, 1), (196, 2), (784, 5), (12544, 1)])
def test_items_keep_all_threads_busy(windows, strips, threads):
    """No thread has much more than its share, of `_ITEMS_PER_THREAD` items or more, if there are tiles."""
    wanted = max(work_division.MIN_WORK_ITEMS, threads)
    item_windows, strip_group = _item_sizes(windows, strips, 384, 64 * strips, wanted, threads=threads)
    row_items, strip_items = -(-windows // item_windows), -(-strips // strip_group)
    tiles = -(-windows // 7) * strips
    assert row_items * strip_items >= min(work_division._ITEMS_PER_THREAD * threads, wanted, tiles) * 3 // 4
    assert item_windows <= 7 * work_division._MAX_ITEM_TILES
    busy = [0] * threads
    for strip in range(0, strips, strip_group):
        for window in range(0, windows, item_windows):
            size = min(item_windows, windows - window) * min(strip_group, strips - strip)
            heapq.heapreplace(busy, busy[0] + size)
    if tiles >= 8 * threads:
        assert max(busy) * threads <= 1.2 * windows * strips


def test_items_of_few_tiles_are_no_whole_tiles_if_that_is_faster():
    """The tiles of 49 windows are 4 of one thread and 3 of the other; `_TILE_OVERHEAD` decides for 196, and
    what is within one of `_BALANCE_PARTS` reads the least memory."""
    assert _item_sizes(49, 3, 960, 160, 7) == (13, 3)
    assert _item_sizes(49, 3, 960, 160, 7, threads=1) == (14, 3)
    assert _item_sizes(196, 2, 672, 112, 14) == (14, 2)
    assert _item_sizes(196, 2, 576, 96, 10) == (33, 2)


@needs_integers
def test_strips_of_a_few_columns_are_packed_apart():
    """Where vectors run along windows, strips of contiguous output features are narrower than vectors."""
    generator = np.random.default_rng(11)
    lhs = generator.integers(-9, 9, (1, 14, 14, 128), np.int32)
    rhs = generator.integers(-9, 9, (3, 3, 128, 260), np.int32)
    axes = (axis(14, 3, low=1, high=1),) * 2
    features_first = ((0, 2, 3, 1), (0, 1, 2, 3), (0, 2, 3, 1))
    expected = term_by_term(lhs, rhs, axes)
    for _ in range(20):
        np.testing.assert_array_equal(convolved(lhs, rhs, axes, orders=features_first, threads=8), expected)


@needs_integers
def test_windows_and_columns_fill_tiles_in_any_number():
    generator = np.random.default_rng(2)
    for size, outputs in ((1, 1), (49, 16), (50, 65), (96, 100), (900, 130)):
        for order in ORDERS.values():
            axes = (axis(size, 1),)
            lhs = generator.integers(-9, 9, (1, size, 3), np.int32)
            rhs = generator.integers(-9, 9, (1, 3, outputs), np.int32)
            np.testing.assert_array_equal(convolved(lhs, rhs, axes, orders=order(3))[0], lhs[0] @ rhs[0])


@needs_integers
def test_operands_may_have_any_strides():
    generator = np.random.default_rng(7)
    whole = generator.integers(-9, 9, (2, 12, 2, 8), np.int32)
    rhs = generator.integers(-9, 9, (3, 4, 5), np.int32)
    axes, numbers = (axis(12, 3),), DimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
    run = convolution.prepare(((2, 12, 4), rhs.shape, (2, 10, 5)), axes, numbers, np.int32)
    bytes_between = np.zeros((2, 12, 4), np.dtype([("at", np.int8), ("value", np.int32)]))
    bytes_between["value"] = whole[:, :, 0, :4]
    views = [whole[:, :, 0, ::2], whole[:, ::-1, 1, 4:], np.broadcast_to(whole[0, 0, 0, :4], (2, 12, 4))]
    for lhs in (*views, bytes_between["value"]):
        expected = term_by_term(np.ascontiguousarray(lhs), rhs, axes, (1, 1))
        np.testing.assert_array_equal(run(lhs, np.asfortranarray(rhs)), expected)


def test_what_has_no_loops_is_rejected():
    numbers = DimensionNumbers((0, 1), (0, 1), (0, 1))
    for dtype, shapes in (("float16", SMALL), ("int32", ((0, 2), (2, 2), (0, 2)))):
        with pytest.raises(ValueError, match="no loops convolve"):
            convolution.prepare(shapes, (), numbers, dtype)
        with pytest.raises(ValueError, match="no loops convolve"):
            depthwise.prepare(shapes, (), numbers, dtype)


def program(numbers, lhs, rhs, result, window="", groups=(1, 1)):
    attributes = f"feature_group_count = {groups[0]} : i64, batch_group_count = {groups[1]} : i64"
    return (
        f"func.func @main(%a: {lhs}, %b: {rhs}) -> {result} {{\n"
        f"  %0 = stablehlo.convolution(%a, %b) dim_numbers = {numbers}, window = {{{window}}} "
        f"{{{attributes}}} : ({lhs}, {rhs}) -> {result}\n  return %0 : {result}\n}}"
    )


PROGRAMS = {
    "3x3": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<2x12x13x32xf32>", "tensor<3x3x32x48xf32>",
        "tensor<2x12x13x48xf32>", "pad = [[1, 1], [1, 1]]",
    ),
    "1x1": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<2x21x20x32xf32>", "tensor<1x1x32x48xf32>",
        "tensor<2x21x20x48xf32>",
    ),
    "features first, reversed": program(
        "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 1, 0]", "tensor<2x16x9x11xf32>", "tensor<24x16x3x2xf32>",
        "tensor<2x24x10x7xf32>", "reverse = [true, false]",
    ),
    "3x3, features first": program(
        "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "tensor<2x32x12x13xf32>", "tensor<48x32x3x3xf32>",
        "tensor<2x48x12x13xf32>", "pad = [[1, 1], [1, 1]]",
    ),
    "gradient of rhs": program(
        "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "tensor<8x12x12x16xf32>", "tensor<8x12x12x32xf32>",
        "tensor<3x3x16x32xf32>", "pad = [[1, 1], [1, 1]]",
    ),
    "transposed": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<2x7x6x32xf32>", "tensor<3x3x32x48xf32>",
        "tensor<2x14x12x48xf32>", "pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2]",
    ),
    "few outputs": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<2x12x13x32xf32>", "tensor<3x3x32x3xf32>",
        "tensor<2x12x13x3xf32>", "pad = [[1, 1], [1, 1]]",
    ),
    "many outputs": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<1x6x5x32xf32>", "tensor<3x3x32x160xf32>",
        "tensor<1x4x3x160xf32>",
    ),
    "groups of batches": program(
        "[b, 0, f]x[0, i, o]->[b, 0, f]", "tensor<6x30x16xf32>", "tensor<3x16x24xf32>",
        "tensor<3x28x24xf32>", groups=(1, 2),
    ),
    "one channel": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<2x40x50x1xf32>", "tensor<5x5x1x1xf32>",
        "tensor<2x40x50x1xf32>", "pad = [[2, 2], [2, 2]]",
    ),
    "channel by channel, features first": program(
        "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "tensor<2x20x17x23xf32>", "tensor<20x1x3x3xf32>",
        "tensor<2x20x9x12xf32>", "pad = [[1, 1], [1, 1]], stride = [2, 2]", groups=(20, 1),
    ),
    "channel by channel": program(
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "tensor<2x12x13x32xf32>", "tensor<3x3x1x32xf32>",
        "tensor<2x12x13x32xf32>", "pad = [[1, 1], [1, 1]]", groups=(32, 1),
    ),
    "two for each channel": program(
        "[b, 0, f]x[0, i, o]->[b, 0, f]", "tensor<2x90x32xf32>", "tensor<5x1x64xf32>",
        "tensor<2x86x64xf32>", groups=(32, 1),
    ),
    "no spatial dimension": program(
        "[f, b]x[i, o]->[b, f]", "tensor<40x48xf32>", "tensor<20x24xf32>", "tensor<48x24xf32>", groups=(2, 1)
    ),
}  # fmt: skip


@pytest.mark.sampled(("name", "special"))
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16", "f16", "i8", "i64"])
@pytest.mark.parametrize("special", [False, True])
def test_programs_have_the_same_bits_in_every_way(name, element_type, special):
    text = PROGRAMS[name].replace("xf32>", f"x{element_type}>")
    generator = np.random.default_rng(3)
    operands = []
    for type in nimblehlo.load(text).functions["main"].type.inputs:
        operand = (generator.standard_normal(type.shape) * 30).astype(type.dtype)
        if special and not element_type.startswith("i"):
            operand.flat[0], operand.flat[9], operand.flat[-1] = np.nan, -np.inf, -0.0
        operands.append(operand)
    result = run_every_way(text, *operands)[0]
    for threads in (2, 3, 8):
        options = Options(compile="eager", threads=threads)
        assert same_bits(nimblehlo.execute(text, operands, options=options)[0], result)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("element_type", ["f32", "bf16"])
def test_constant_factors_give_the_bits_of_others(name, element_type):
    text = PROGRAMS[name].replace("xf32>", f"x{element_type}>")
    lhs, rhs = nimblehlo.load(text).functions["main"].type.inputs
    element = np.random.default_rng(10).standard_normal(lhs.shape).astype(lhs.dtype)
    # Powers of two of both signs, which text says exactly.
    exponents = np.arange(np.prod(rhs.shape)).reshape(rhs.shape) % 7 - 3
    factors = ((-1.0) ** exponents * 2.0**exponents).astype(rhs.dtype)
    constant = f"  %b = stablehlo.constant dense<{factors.astype(float).tolist()}> : {rhs}\n  %0 ="
    frozen = text.replace(f", %b: {rhs}", "").replace("  %0 =", constant)
    (expected,) = nimblehlo.execute(text, [element, factors])
    for mode in ("never", "auto", "eager"):
        executable = nimblehlo.compile(frozen, options=Options(compile=mode))
        assert all(same_bits(executable(element)[0], expected) for _ in range(3))


@pytest.mark.parametrize("element_type", ["f32", "bf16", "i8", "i64"])
@pytest.mark.parametrize(
    ("lhs", "rhs"), [((2, 4, 3), (7, 3, 5)), ((0, 4, 3), (2, 3, 5)), ((2, 4, 3), (2, 3, 0))]
)
def test_convolutions_without_elements(element_type, lhs, rhs):
    windows, outputs = max(0, lhs[1] - rhs[0] + 1), rhs[2]
    result = (lhs[0], windows, outputs)
    types = [f"tensor<{'x'.join(map(str, shape))}x{element_type}>" for shape in (lhs, rhs, result)]
    text = program("[b, 0, f]x[0, i, o]->[b, 0, f]", *types)
    inputs = nimblehlo.load(text).functions["main"].type.inputs
    assert run_every_way(text, *[np.zeros(type.shape, type.dtype) for type in inputs])[0].shape == result


def test_factors_that_are_not_finite_make_padding_nan():
    text = PROGRAMS["channel by channel"]
    lhs, rhs = np.ones((2, 12, 13, 32), np.float32), np.ones((3, 3, 1, 32), np.float32)
    rhs[0, 0, 0, 3] = np.inf
    (result,) = run_every_way(text, lhs, rhs)
    assert np.isnan(result[:, 0, :, 3]).all()
    assert np.isinf(result[:, 1:, 1:, 3]).all()
    assert np.isfinite(np.delete(result, 3, 3)).all()


@needs_floats
@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("result_order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_windows_in_the_padding_read_no_memory_behind_lhs(features, result_order):
    """Also where vectors run along windows, as the result's layout asks for; lhs has NaN on both sides."""
    random = np.random.default_rng(0)
    axes = (axis(4, 3, low=1, high=3),)
    memory = np.full(8 * features, np.nan, np.float32)
    lhs = memory[2 * features : 6 * features].reshape(1, 4, features)
    lhs[:] = random.normal(size=lhs.shape)
    rhs = random.normal(size=(3, features, 2)).astype(np.float32)
    result = convolved(lhs, rhs, axes, orders=((0, 1, 2), (0, 1, 2), result_order))
    np.testing.assert_array_equal(result, part_by_part(lhs, rhs, axes))


@needs_floats
@pytest.mark.parametrize("window", [1, 3])
def test_each_of_many_threads_has_a_work_item(monkeypatch, window):
    """8 work items serve up to 4 threads, and more threads have more. No bit depends on it."""
    spatial = axis(28, window, low=window // 2, high=window // 2)
    shapes = ((1, 28, 28, 128), (window, window, 128, 256), (1, 28, 28, 256))
    numbers = DimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
    generator = np.random.default_rng(4)
    lhs, rhs = (generator.standard_normal(shape).astype(np.float32) for shape in shapes[:2])
    counts, results = {}, set()
    for threads in (1, 2, 8, 16, 24):
        monkeypatch.setattr(work_division, "chosen_threads", lambda _, threads=threads: threads)
        convolve = convolution.prepare(shapes, (spatial, spatial), numbers, np.float32, is_rhs_constant=True)
        convolve(lhs, rhs)
        launches = []
        record_launches(launches)
        try:
            results.add(convolve(lhs, rhs).tobytes())
        finally:
            record_launches(None)
        counts[threads] = len(launches[0][4])
    assert len(results) == 1
    assert counts[1] == counts[2] < counts[8] and all(counts[threads] >= threads for threads in counts)
