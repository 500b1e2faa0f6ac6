"""Depthwise convolutions by copies of rows and by tiles of windows: the stated order, for any sizes."""

import itertools
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.convolution import depthwise
from tests.support.running import same_bits

from .test_convolution import axis, convolved, needs_floats, term_by_term

LAST = (0, 1, 2, 3)
FIRST = (0, 2, 3, 1)
LAYOUTS = {"planes": FIRST, "contiguous channels": LAST}
FACTORS = {"outputs first": (2, 3, 1, 0), "outputs last": LAST}
AXES = {
    "7x7": [axis(9, 7, low=3, high=3), axis(20, 7, low=3, high=3)],
    "steps": [axis(11, 3, stride=2, low=0, high=1), axis(17, 5, stride=3, low=2, high=2)],
    "dilation": [axis(13, 3, low=2, high=2, dilation=2), axis(12, 2, dilation=3)],
    "reversed": [axis(6, 3, low=1, high=1, is_reversed=True), axis(8, 3, low=1, high=1, is_reversed=True)],
    "more padding than window": [axis(3, 2, low=5, high=4), axis(4, 3, low=6, high=7)],
    "columns behind the windows": [axis(5, 2), axis(19, 2, stride=7)],
    "one window": [axis(5, 5), axis(5, 5)],
    "windows before the columns": [axis(6, 3, low=1, high=1), axis(6, 3, low=10, high=-8)],
}


def lanes(dtype: str) -> int:
    return depthwise.tasks.tile_shape(dtype, depthwise.tasks.best_level())[0]


def operands(axes: Any, channels: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    lhs = generator.standard_normal((2, *(a.size for a in axes), channels)) * 100
    rhs = generator.standard_normal((*(a.window for a in axes), 1, channels)) * 100
    lhs, rhs = lhs.astype(dtype), rhs.astype(dtype)
    if dtype.startswith("float"):
        elements = lhs.reshape(2, -1, channels)
        elements[:, 0], elements[:, elements.shape[1] // 2, 0] = -0.0, np.inf
    return lhs, rhs


@pytest.mark.sampled(pairs=True)
@needs_floats
@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
@pytest.mark.parametrize("vectors", ["a quarter", "most of one", "one", "two and most"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", FACTORS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_copies_are_added_in_the_stated_order(
    axes: Any, vectors: str, layout: str, order: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depthwise, "_MIN_INTERLEAVED_POSITIONS", 1)
    monkeypatch.setattr(depthwise, "_TILED_WINDOWS", ())
    full, most = lanes(dtype), lanes(dtype) - 1
    numbers = {"a quarter": full // 4, "most of one": most, "one": full, "two and most": 2 * full + most}
    channels = max(2, numbers[vectors])
    made = []
    planes = depthwise.tasks.Planes
    monkeypatch.setattr(depthwise.tasks, "Planes", lambda *values: made.append(values) or planes(*values))
    lhs, rhs = operands(axes, channels, dtype)
    orders = (LAYOUTS[layout], FACTORS[order], LAYOUTS[layout])
    result = convolved(lhs, rhs, axes, orders=orders, scales=True, threads=2)
    # Lanes without a channel would be scaled and added as well; planes of one window have no rows to scale.
    is_one_window = layout == "planes" and all(a.windows == 1 for a in axes)
    assert len(made) == (vectors != "a quarter" or 2 * channels > full or is_one_window)
    with np.errstate(invalid="ignore", over="ignore"):
        groups_of_one = np.concatenate(
            [term_by_term(lhs[..., c : c + 1], rhs[..., c : c + 1], axes) for c in range(channels)], -1
        )
    assert same_bits(result, groups_of_one)


@needs_floats
@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
@pytest.mark.parametrize("channels", [2, 19])
@pytest.mark.parametrize(("lhs_order", "result_order"), [(LAST, FIRST), (FIRST, LAST)])
def test_lhs_and_result_may_differ_in_layout(
    axes: Any, channels: int, lhs_order: Any, result_order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lhs, rhs = operands(axes, channels, "float32")
    with monkeypatch.context() as patched:
        patched.setattr(depthwise, "_planes", lambda *_: None)
        expected = convolved(lhs, rhs, axes, scales=True)
    if any(a.windows > 1 for a in axes):  # One window has both layouts.
        monkeypatch.delattr(depthwise.tasks, "Scaling")
    orders = (lhs_order, FACTORS["outputs first"], result_order)
    assert same_bits(convolved(lhs, rhs, axes, orders=orders, scales=True, threads=2), expected)


@needs_floats
@pytest.mark.parametrize("most", [1, 1 << 12, 1 << 20])
def test_blocks_of_rows_keep_bits(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = [axis(40, 5, stride=2, low=2, high=2), axis(30, 5, low=2, high=2)]
    lhs, rhs = operands(axes, 20, "float32")
    with monkeypatch.context() as patched:
        patched.setattr(depthwise, "_planes", lambda *_: None)
        expected = convolved(lhs, rhs, axes, scales=True)
    monkeypatch.setattr(depthwise, "_MAX_COPIED_ELEMENTS", most)
    for layout, threads in itertools.product(LAYOUTS.values(), (1, 4)):
        orders = (layout, FACTORS["outputs first"], layout)
        assert same_bits(convolved(lhs, rhs, axes, orders=orders, scales=True, threads=threads), expected)


@needs_floats
@pytest.mark.parametrize(("window", "copies"), [(3, False), (4, True), (5, False)])
def test_contiguous_channels_are_copied_for_windows_of_many_positions_without_tiles(
    window: int, copies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [axis(9, window, low=1, high=2), axis(20, window, low=1, high=2)]
    lhs, rhs = operands(axes, 3 * lanes("float32"), "float32")
    launches = []
    for name in ("Planes", "Scaling"):
        launch = getattr(depthwise.tasks, name)
        monkeypatch.setattr(
            depthwise.tasks, name, lambda *values, n=name, f=launch: launches.append(n) or f(*values)
        )
    result = convolved(lhs, rhs, axes, scales=True)
    assert launches == ["Planes" if copies else "Scaling"]
    with np.errstate(invalid="ignore"):
        channels = [
            term_by_term(lhs[..., c : c + 1], rhs[..., c : c + 1], axes) for c in range(lhs.shape[-1])
        ]
    assert same_bits(result, np.concatenate(channels, -1))


def padded(size: int, window: int, **others: Any) -> Any:
    return axis(size, window, low=window // 2, high=window // 2, **others)


TILED = {
    "a full tile": [padded(5, 3), padded(7, 3)],
    "some of a full tile": [padded(9, 3), padded(13, 3)],
    "a full and a low tile": [padded(3, 3), padded(18, 3)],
    "some of a low tile": [padded(4, 5), padded(3, 5)],
    "windows of five": [padded(6, 5), padded(12, 5)],
    "windows of seven": [padded(6, 7), padded(11, 7)],
    "steps": [padded(11, 3, stride=2), padded(15, 3, stride=2)],
    "steps of five": [padded(9, 5, stride=2), padded(28, 5, stride=2)],
    "steps of seven": [padded(9, 7, stride=2), padded(16, 7, stride=2)],
    "many rows": [padded(20, 2), padded(8, 3)],
    "dilated rows": [axis(13, 3, low=2, high=2, dilation=2, stride=3), padded(9, 3)],
    "reversed": [padded(6, 3, is_reversed=True), padded(9, 3, is_reversed=True)],
    "more padding than windows": [padded(4, 3), axis(4, 3, low=6, high=9)],
    "windows inside": [axis(9, 3), axis(14, 3, low=-2, high=-1)],
    "one dimension": [padded(30, 3)],
    "many positions": [axis(90, 85, low=3, high=3), padded(9, 3)],
}


@needs_floats
@pytest.mark.parametrize("axes", TILED.values(), ids=TILED)
@pytest.mark.parametrize("vectors", [0.5, 1, 2, 3.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_of_windows_are_added_in_the_stated_order(
    axes: Any, vectors: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = []
    launch = depthwise.tasks.Scaling
    monkeypatch.setattr(
        depthwise.tasks, "Scaling", lambda *values: launches.append(values[4]["tiles"]) or launch(*values)
    )
    lhs, rhs = operands(axes, max(2, int(vectors * lanes(dtype))), dtype)
    result = convolved(lhs, rhs, axes, scales=True, threads=2)
    assert [tiles[:3] for tiles in launches] == [(axes[-1].stride, axes[-1].low, axes[-1].size)]
    with np.errstate(invalid="ignore", over="ignore"):
        channels = [
            term_by_term(lhs[..., c : c + 1], rhs[..., c : c + 1], axes) for c in range(lhs.shape[-1])
        ]
    assert same_bits(result, np.concatenate(channels, -1))


@needs_floats
@pytest.mark.parametrize(("items", "blocks"), [(1, 1), (100, 2)])
def test_few_rows_of_tiles_are_divided_by_channels(
    items: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the result bypasses the caches."""
    axes = [padded(4, 3), padded(9, 3)]
    lhs, rhs = operands(axes, 5 * lanes("float32") + 1, "float32")
    expected = convolved(lhs, rhs, axes, scales=True)
    launches = []
    launch = depthwise.tasks.Scaling
    monkeypatch.setattr(
        depthwise.tasks, "Scaling", lambda *values: launches.append(values[4]["blocks"]) or launch(*values)
    )
    monkeypatch.setattr(depthwise.tasks, "NONTEMPORAL_BYTES", 1)
    monkeypatch.setattr(depthwise, "_MIN_TILED_ITEMS", items)
    monkeypatch.setattr(depthwise, "_TILED_CHANNELS", 3 * lanes("float32"))
    assert same_bits(convolved(lhs, rhs, axes, scales=True), expected)
    assert [values[5] for values in launches] == [blocks]


@needs_floats
@pytest.mark.parametrize(("rows", "item_rows"), [(8, 8), (10, 1), (56, 3), (200, 8)])
def test_more_rows_of_tiles_are_divided_evenly(
    rows: int, item_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [padded(rows // 2, 3), padded(9, 3)]  # of two batches
    lhs, rhs = operands(axes, 2 * lanes("float32") + 1, "float32")
    launches = []
    launch = depthwise.tasks.Scaling
    monkeypatch.setattr(
        depthwise.tasks, "Scaling", lambda *values: launches.append(values[4]["blocks"]) or launch(*values)
    )
    result = convolved(lhs, rhs, axes, scales=True, threads=2)
    assert [values[1:3] for values in launches] == [(rows, item_rows)]
    monkeypatch.setattr(depthwise, "_TILED_WINDOWS", ())
    assert same_bits(convolved(lhs, rhs, axes, scales=True), result)


@needs_floats
@pytest.mark.parametrize(
    "column", [axis(9, 3, stride=3), axis(9, 3, dilation=2), axis(9, 3, base=2), axis(9, 4)]
)
def test_other_windows_have_no_tiles(column: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = [axis(3, 1), column]
    lhs, rhs = operands(axes, lanes("float32"), "float32")
    expected = convolved(lhs, rhs, axes, scales=True)
    monkeypatch.setattr(depthwise, "_TILED_WINDOWS", ())
    assert same_bits(convolved(lhs, rhs, axes, scales=True), expected)
    assert not depthwise._has_tiles(column, 9, np.dtype(np.float32))


@needs_floats
def test_large_results_of_copies_bypass_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = [axis(30, 4, low=1, high=2), axis(21, 4, low=1, high=2)]
    lhs, rhs = operands(axes, 2 * lanes("float32") + 1, "float32")
    expected = convolved(lhs, rhs, axes, scales=True)
    monkeypatch.setattr(depthwise.tasks, "NONTEMPORAL_BYTES", 1)
    assert same_bits(convolved(lhs, rhs, axes, scales=True), expected)


@needs_floats
def test_rows_between_those_of_dilated_windows_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = [axis(40, 3, low=12, high=12, dilation=12), axis(30, 3, low=1, high=1)]
    lhs, rhs = operands(axes, lanes("float32"), "float32")
    expected = convolved(lhs, rhs, axes, scales=True)
    monkeypatch.setattr(depthwise, "_MAX_COPIED_ELEMENTS", 25 * 32 * lanes("float32") - 1)
    monkeypatch.delattr(depthwise.tasks, "Planes")
    orders = (FIRST, FACTORS["outputs first"], FIRST)
    assert same_bits(convolved(lhs, rhs, axes, orders=orders, scales=True), expected)


@needs_floats
def test_planes_of_one_element_are_contiguous_channels_in_lhs_alone() -> None:
    axes = [axis(1, 5, low=4, high=4), axis(1, 5, low=4, high=4)]
    lhs = np.arange(3 * lanes("float32"), dtype=np.float32).reshape(1, 1, 1, -1)
    rhs = np.random.default_rng(0).standard_normal((5, 5, 1, lhs.size)).astype(np.float32)
    result = convolved(lhs, rhs, axes, orders=(FIRST, LAST, FIRST), scales=True)
    assert same_bits(result, rhs[::-1, ::-1, 0][np.newaxis] * lhs + np.float32(0))
