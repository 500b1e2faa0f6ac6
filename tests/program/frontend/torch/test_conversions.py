"""Conversions of PyTorch's operations, called without PyTorch: their results against sums written out."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.program.frontend.torch import table
from nimblehlo.program.frontend.torch.conversions import convolutions
from nimblehlo.program.frontend.torch.conversions.resampling import cubic_weights, linear_weights
from nimblehlo.program.frontend.torch.table import conversions
from nimblehlo.types import Array
from tests.program.frontend.torch.calling import converted

HIGHER_ORDER = {"associative_scan", "cond", "map_impl", "scan", "switch", "while_loop", "with_effects"}
"""Operations that take graphs or operations, which have neither a namespace nor overloads."""

RANDOM = np.random.default_rng(7)


def test_the_table_names_overloads_and_lists_its_modules() -> None:
    folder = Path(table.__file__).parent / "conversions"
    declaring = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^ *converts\(|^@converts", path.read_text(), re.M)
    }
    assert declaring == set(table._MODULES)
    namespaced = r"(aten|prims|quantized_decomposed|transformers)\.\w+\.\w+"
    for name in conversions():
        assert re.fullmatch(namespaced, name) or name in HIGHER_ORDER, name


def test_a_second_conversion_of_an_operation_is_an_error() -> None:
    conversions()
    with pytest.raises(ValueError, match=r"aten\.mm\.default is converted twice"):
        table.converts("aten.mm.default")(lambda e: None)


def convolution(x: Array, weight: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    """A convolution of one spatial dimension, written out."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
    outputs, per_group, size = weight.shape
    count = (padded.shape[2] - dilation * (size - 1) - 1) // stride + 1
    result = np.zeros((len(x), outputs, count))
    for n, o, i, k in itertools.product(range(len(x)), range(outputs), range(count), range(size)):
        first = o // (outputs // groups) * per_group
        result[n, o, i] += padded[n, first : first + per_group, i * stride + k * dilation] @ weight[o, :, k]
    return result


SETTINGS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 1, 2, 2)]


@pytest.mark.parametrize("outputs", [2, 12])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), SETTINGS)
def test_convolutions_and_their_gradients(
    stride: int, padding: int, dilation: int, groups: int, outputs: int
) -> None:
    """The gradients are those of the sum of products with a cotangent, which is linear in each operand.

    With few outputs in a group, the weight's gradient is a product with patches.
    """
    x, weight = RANDOM.normal(size=(2, 4, 9)), RANDOM.normal(size=(outputs, 4 // groups, 3))
    expected = convolution(x, weight, stride, padding, dilation, groups)
    settings = [[stride], [padding], [dilation], False, [0], groups]
    (result,) = converted("aten.convolution.default", [x, weight, None, *settings], [expected])
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    cotangent = RANDOM.normal(size=expected.shape)
    gradients = converted(
        "aten.convolution_backward.default",
        [cotangent, x, weight, [outputs], *settings, [True, True, True]],
        [x, weight, np.zeros(outputs)],
    )
    for gradient, operand in zip(gradients, (x, weight), strict=False):
        changed = RANDOM.normal(size=operand.shape)
        pair = (changed, weight) if operand is x else (x, changed)
        directional = np.vdot(convolution(*pair, stride, padding, dilation, groups), cotangent)
        np.testing.assert_allclose(np.vdot(gradient, changed), directional, rtol=1e-10)
    np.testing.assert_allclose(gradients[2], cotangent.sum((0, 2)))


def test_a_weight_has_the_same_gradient_as_a_product_and_as_a_convolution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two dimensions that differ in all settings; limits of, and below, the elements of the patches."""
    x, cotangent = RANDOM.normal(size=(3, 2, 9, 8)), RANDOM.normal(size=(3, 5, 4, 5))
    template = np.zeros((5, 2, 3, 2))
    arguments = [cotangent, x, template, [5], [2, 2], [1, 2], [2, 3], False, [0, 0], 1, [True, True, True]]
    results = []
    for patches, elements in ((32, 1 << 22), (6, 3 * 2 * 6 * 20), (6, 3 * 2 * 6 * 20 - 1), (5, 1 << 22)):
        monkeypatch.setattr(convolutions, "MAX_PATCHES", patches)
        monkeypatch.setattr(convolutions, "MAX_PATCH_ELEMENTS", elements)
        gradients = converted("aten.convolution_backward.default", arguments, [x, template, np.zeros(5)])
        results.append(gradients[1])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[2], results[3])
    np.testing.assert_allclose(results[0], results[3], rtol=1e-12, atol=1e-12)
    assert (results[0] != results[3]).any(), "the orders of the additions differ"


@pytest.mark.parametrize(
    ("limit", "values", "channels", "groups", "kernel"),
    [("MIN_DEPTHWISE_GROUPS", (9, 10), 9, 9, (3, 2)), ("POINTWISE_OUTPUTS", (9, 8), 19, 1, (1, 1))],
)
def test_a_weight_has_the_same_gradient_on_both_sides_of_a_limit(
    limit: str,
    values: tuple[int, int],
    channels: int,
    groups: int,
    kernel: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A depthwise convolution, and one whose windows are elements."""
    strides, outputs, size = ([4, 2], 17, (1, 2)) if groups == 1 else ([1, 1], 9, (2, 2))
    x, cotangent = RANDOM.normal(size=(3, channels, 4, 3)), RANDOM.normal(size=(3, outputs, *size))
    template = np.zeros((outputs, channels // groups, *kernel))
    settings = [strides, [0, 0], [1, 1], False, [0, 0], groups, [True, True, True]]
    arguments = [cotangent, x, template, [outputs], *settings]
    results = []
    for value in values:
        monkeypatch.setattr(convolutions, limit, value)
        templates = [x, template, np.zeros(outputs)]
        results.append(converted("aten.convolution_backward.default", arguments, templates)[1])
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)
    assert (results[0] != results[1]).any(), "the orders of the additions differ"


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), SETTINGS)
def test_a_transposed_convolution_is_the_adjoint(
    stride: int, padding: int, dilation: int, groups: int
) -> None:
    x, weight = RANDOM.normal(size=(2, 6, 4)), RANDOM.normal(size=(6, 4 // groups, 3))
    size = (4 - 1) * stride - 2 * padding + dilation * 2 + 1
    template = np.zeros((2, 4, size))
    settings = [[stride], [padding], [dilation], True, [0], groups]
    (result,) = converted("aten.convolution.default", [x, weight, None, *settings], [template])
    other = RANDOM.normal(size=template.shape)
    adjoint = np.vdot(convolution(other, weight, stride, padding, dilation, groups), x)
    np.testing.assert_allclose(np.vdot(result, other), adjoint, rtol=1e-10)


@pytest.mark.parametrize(
    ("positions", "shape"),
    [
        ((0,), (2, 3, 5, 6)),
        ((1, 2), (4, 2, 3, 6)),
        ((0, 2), (2, 3, 5, 6)),
        ((3,), (4, 5, 5, 2, 3)),
    ],
)
def test_indexing_and_assignment(positions: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """NumPy's rules of where indexed dimensions go are PyTorch's; negative indices count from the end."""
    x = RANDOM.normal(size=(4, 5, 5, 6))
    indices: list[Any] = [None] * (max(positions) + 1)
    for position in positions:
        indices[position] = RANDOM.integers(-4, 4, (2, 3))
    key = tuple([slice(None) if index is None else index for index in indices])
    (result,) = converted("aten.index.Tensor", [x, indices], [x[key]])
    np.testing.assert_array_equal(result, x[key])
    updates = RANDOM.normal(size=x[key].shape)
    expected = x.copy()
    np.add.at(expected, key, updates)
    (added,) = converted("aten.index_put.default", [x, indices, updates, True], [x])
    np.testing.assert_allclose(added, expected, rtol=1e-12)


def test_an_index_that_is_a_mask_is_told() -> None:
    x = np.zeros((3, 2))
    with pytest.raises(UnsupportedError, match="indexes by a mask"):
        converted("aten.index.Tensor", [x, [np.array([True, False, True])]], [np.zeros((2, 2))])


@pytest.mark.parametrize(("x", "y"), [((), (5,)), ((5,), ()), ((2, 5), ())])
def test_operations_of_prims_take_scalars(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    """PyTorch broadcasts the operands of ``prims``, except for tensors without dimensions."""
    for name, function in {
        "hypot": np.hypot,
        "atan2": np.arctan2,
        "nextafter": np.nextafter,
        "fmax": np.fmax,
        "maximum": np.maximum,
        "div": np.divide,
        "remainder": np.remainder,
        "pow": np.power,
    }.items():
        operands = [RANDOM.uniform(0.5, 2, shape) for shape in (x, y)]
        expected = function(*operands)
        (result,) = converted(f"prims.{name}.default", operands, [expected])
        np.testing.assert_allclose(result, expected, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("shapes", list(itertools.product([(), (1,)], repeat=3)))
def test_index_reduce_of_scalars(shapes: tuple[tuple[int, ...], ...]) -> None:
    """A tensor without dimensions has one element, as an index and a source of it have."""
    x, indices, source = np.full(shapes[0], 3.0), np.zeros(shapes[1], np.int64), np.full(shapes[2], 5.0)
    for reduce, expected in {"prod": 15, "mean": 4, "amax": 5, "amin": 3}.items():
        arguments = [x, 0, indices, source, reduce]
        (result,) = converted("aten.index_reduce.default", arguments, [x])
        np.testing.assert_array_equal(result, expected)
        (result,) = converted("aten.index_reduce.default", arguments, [x], include_self=False)
        np.testing.assert_array_equal(result, 5)


@pytest.mark.parametrize("ends", [[2, 2, 5], [1, 3, 4], [0, 0, 0]])
def test_grouped_products_and_their_gradients(ends: list[int]) -> None:
    """Three groups of five rows; the second one may be empty, and the last rows may belong to none."""
    rows, experts, gradient = (RANDOM.normal(size=size) for size in ((5, 2), (3, 2, 4), (5, 4)))
    groups = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    expected, own_gradient = np.zeros((5, 4)), np.zeros((5, 2))
    for group, expert in zip(groups, experts, strict=True):
        expected[group] = rows[group] @ expert
        own_gradient[group] = gradient[group] @ expert.T
    experts_gradient = np.stack([rows[group].T @ gradient[group] for group in groups])
    offsets = np.array(ends, np.int32)
    for name, operands, results in (
        ("aten._grouped_mm.default", [rows, experts, offsets], [expected]),
        ("aten._grouped_mm.default", [experts.transpose(0, 2, 1), rows.T, offsets], [expected.T]),
        ("aten._grouped_mm.default", [rows.T, gradient, offsets], [experts_gradient]),
        ("transformers.grouped_mm_fallback.default", [rows, experts, offsets], [expected]),
        (
            "transformers.grouped_mm_fallback_backward.default",
            [rows, experts, offsets, gradient],
            [own_gradient, experts_gradient],
        ),
    ):
        for result, right in zip(converted(name, operands, results), results, strict=True):
            np.testing.assert_allclose(result, right, rtol=1e-14, atol=1e-14, err_msg=name)


def test_grouped_products_without_groups_are_products_of_a_batch() -> None:
    x, y = RANDOM.normal(size=(3, 2, 4)), RANDOM.normal(size=(3, 4, 5))
    (result,) = converted("aten._grouped_mm.default", [x, y], [x @ y])
    np.testing.assert_allclose(result, x @ y, rtol=1e-14)
    with pytest.raises(UnsupportedError, match="a bias of grouped products"):
        converted("aten._grouped_mm.default", [x, y, None, x], [x @ y])


def test_sums_of_products_of_three_narrow_floats_are_rounded_once() -> None:
    operands = [RANDOM.normal(size=(5, 40)).astype(np.float16) for _ in range(3)]
    expected = math.prod(x.astype(np.float64) for x in operands).sum(1).astype(np.float16)
    (result,) = converted("aten._trilinear.default", [*operands, [], [], [], [1]], [expected])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_gradients_of_distances_of_pairs_are_difference_quotients(p: float) -> None:
    x, gradient = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=6)

    def distances(x: Array) -> Array:
        return np.array([np.linalg.norm(a - b, p) for a, b in itertools.combinations(x, 2)])

    expected = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        change = np.zeros_like(x)
        change[index] = 1e-6
        expected[index] = gradient @ (distances(x + change) - distances(x - change)) / 2e-6
    (result,) = converted("aten._pdist_backward.default", [gradient, x, p, distances(x)], [x])
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mask", [[[1, 0, 1], [0, 1, 1]], [[0, 1, 1]], [[0], [0]]])
def test_gradients_of_a_masked_scatter(mask: list[list[int]]) -> None:
    gradient, selects = np.arange(1.0, 7).reshape(2, 3), np.array(mask, bool)
    used = gradient[np.broadcast_to(selects, gradient.shape)]
    expected = np.concatenate([used, np.zeros(6 - used.size)]).reshape(3, 2)
    (result,) = converted("aten.masked_scatter_backward.default", [gradient, selects, [3, 2]], [expected])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce(reduce: str, include_self: bool) -> None:
    x, source = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(5, 2))
    indices = RANDOM.integers(0, 4, (5, 2))
    function = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
    expected = x.copy()
    for row, column in itertools.product(range(4), range(2)):
        updates = source[indices[:, column] == row, column]
        if updates.size:
            own = [x[row, column]] if include_self else []
            expected[row, column] = function(np.array([*own, *updates]))
    (result,) = converted(
        "aten.scatter_reduce.two", [x, 0, indices, source, reduce], [x], include_self=include_self
    )
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_max_pooling_gives_the_first_of_equal_elements_and_its_position() -> None:
    x = np.array([[[[1.0, 3.0, 3.0], [3.0, 0.0, np.nan]]]])
    windows = [[2, 2], [1, 1]]
    values, positions = np.array([[[[3.0, np.nan]]]]), np.array([[[[1, 5]]]])
    results = converted("aten.max_pool2d_with_indices.default", [x, *windows], [values, positions])
    np.testing.assert_array_equal(results[0], values)
    np.testing.assert_array_equal(results[1], positions)


@pytest.mark.parametrize("count_include_pad", [True, False])
def test_average_pooling_and_its_gradient(count_include_pad: bool) -> None:
    """With ``ceil_mode`` the last window is partly beyond the padding, whose elements do not count."""
    x, size, stride, padding = RANDOM.normal(size=(1, 2, 6, 6)), 3, 2, 1
    matrix = np.zeros((6, 4))
    for window in range(4):
        start = window * stride - padding
        covered = [i for i in range(start, start + size) if 0 <= i < 6]
        limit = min(start + size, 6 + padding)
        matrix[covered, window] = 1
        matrix[:, window] /= (limit - start) if count_include_pad else len(covered)
    expected = matrix.T @ x @ matrix
    settings = [[size, size], [stride, stride], [padding, padding], True, count_include_pad]
    (result,) = converted("aten.avg_pool2d.default", [x, *settings], [expected])
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    cotangent = RANDOM.normal(size=expected.shape)
    (gradient,) = converted("aten.avg_pool2d_backward.default", [cotangent, x, *settings, None], [x])
    np.testing.assert_allclose(gradient, matrix @ cotangent @ matrix.T, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("weights", [linear_weights, cubic_weights])
def test_the_weights_of_an_interpolation_add_up_to_one(weights: Any) -> None:
    for size, result, align in ((4, 7, True), (4, 7, False), (9, 3, False), (1, 5, True)):
        np.testing.assert_allclose(weights(size, result, align, None).sum(0), 1, rtol=1e-12)


def test_a_sort_has_nan_last_and_keeps_equal_elements_in_order() -> None:
    x = np.array([np.nan, -0.0, 1.0, 0.0, -np.inf, np.copysign(np.nan, -1)])
    order = np.array([4, 1, 3, 2, 0, 5])
    values, indices = converted("aten.sort.stable", [x], [x, order], stable=True)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, x[order])
    descending = np.array([0, 5, 2, 1, 3, 4])
    _, indices = converted("aten.sort.stable", [x, -1, True], [x, order], stable=True)
    np.testing.assert_array_equal(indices, descending)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_quotients_that_are_rounded_down(dtype: Any) -> None:
    x, y = np.array([7, -7, 7, -7, 0], dtype), np.array([2, 2, -2, -2, 3], dtype)
    (result,) = converted("aten.div.Tensor_mode", [x, y], [x], rounding_mode="floor")
    np.testing.assert_array_equal(result, np.floor_divide(x, y))
    (result,) = converted("aten.remainder.Tensor", [x, y], [x])
    np.testing.assert_array_equal(result, np.remainder(x, y))


def test_a_number_is_not_rounded_to_a_narrow_type() -> None:
    import ml_dtypes

    x = np.array([9.0], np.float32).astype(ml_dtypes.bfloat16)
    (result,) = converted("aten.mul.Tensor", [x, 0.1], [x])
    expected = (x.astype(np.float32) * np.float32(0.1)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(("shape", "other", "dim"), [((4, 3), (4, 3), -1), ((3, 1, 5), (3, 2, 5), 0)])
def test_cross_products_are_rounded_once(shape: tuple[int, ...], other: tuple[int, ...], dim: int) -> None:
    import ml_dtypes

    x, y = (RANDOM.normal(size=each).astype(ml_dtypes.bfloat16) for each in (shape, other))
    wide = np.cross(x.astype(np.float32), y.astype(np.float32), axis=dim)
    expected = wide.astype(ml_dtypes.bfloat16)
    (result,) = converted("aten.linalg_cross.default", [x, y], [expected], dim=dim)
    np.testing.assert_array_equal(result, expected)


def test_attention_of_a_query_that_sees_no_key_is_zero() -> None:
    query, key, value = (RANDOM.normal(size=(1, 1, 2, 4)) for _ in range(3))
    mask = np.array([[[[True, False], [False, False]]]])
    logarithm = np.zeros((1, 1, 2))
    attended, _ = converted(
        "aten._scaled_dot_product_flash_attention_for_cpu.default",
        [query, key, value],
        [query, logarithm],
        attn_mask=mask,
    )
    np.testing.assert_allclose(attended[0, 0], [value[0, 0, 0], np.zeros(4)])
    gradients = converted(
        "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
        [np.ones_like(query), query, key, value, attended, np.array([[[0.0, -np.inf]]]), 0.0, False],
        [query, key, value],
        attn_mask=mask,
    )
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("is_causal", [False, True])
def test_heads_of_queries_share_heads_of_keys_and_values(is_causal: bool) -> None:
    """As attention with repeated heads of keys and values, whose gradients are summed over the copies."""
    query, gradient = RANDOM.normal(size=(2, 6, 3, 4)), RANDOM.normal(size=(2, 6, 3, 5))
    key, value = RANDOM.normal(size=(2, 2, 7, 4)), RANDOM.normal(size=(2, 2, 7, 5))
    repeated = [key.repeat(3, 1), value.repeat(3, 1)]
    name = "aten._scaled_dot_product_flash_attention_for_cpu"
    results = [np.zeros((2, 6, 3, 5)), np.zeros((2, 6, 3))]
    mask = RANDOM.normal(size=(2, 1, 3, 7))

    def run(keys_and_values: list[Array]) -> tuple[list[Array], list[Array]]:
        operands = [query, *keys_and_values]
        attended = converted(f"{name}.default", [*operands, 0.0, is_causal], results, attn_mask=mask)
        arguments = [gradient, *operands, *attended, 0.0, is_causal]
        return attended, converted(f"{name}_backward.default", arguments, operands, attn_mask=mask)

    (attended, gradients), (expected, repeated_gradients) = run([key, value]), run(repeated)
    summed = [repeated_gradients[0], *(x.reshape(2, 2, 3, 7, -1).sum(2) for x in repeated_gradients[1:])]
    for result, right in zip((*attended, *gradients), (*expected, *summed), strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("padding", [[2, 1], [0, 3, 1, 0], [-1, 2, 2, -1], [3, 2]])
def test_the_gradient_of_replicated_edges(padding: list[int]) -> None:
    """The adjoint of a pad, which is linear: of each element the gradient of all that are copies of it."""
    shape = (2, 3, 1) if padding == [3, 2] else (2, 3, 4)
    positions = np.arange(np.prod(shape)).reshape(shape)
    for number, (low, high) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        axis = 2 - number
        index = np.clip(np.arange(-low, shape[axis] + high), 0, shape[axis] - 1)
        positions = positions.take(index, axis)
    cotangent = RANDOM.normal(size=positions.shape)
    expected = np.bincount(positions.reshape(-1), cotangent.reshape(-1), int(np.prod(shape))).reshape(shape)
    name = f"aten.replication_pad{len(padding) // 2}d_backward.default"
    (result,) = converted(name, [cotangent, np.zeros(shape), padding], [expected])
    np.testing.assert_allclose(result, expected, atol=1e-15)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_the_gradient_of_distances(p: float) -> None:
    """By differences, and 0 for equal rows."""
    x, y = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(5, 4))
    cotangent = RANDOM.normal(size=(3, 5))

    def distances(x: Array) -> Array:
        return np.asarray(np.linalg.norm(x[:, None] - y, p, 2)) if p else np.zeros((3, 5))

    expected = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        expected[index] = (cotangent * (distances(x + step) - distances(x - step))).sum() / 2e-6
    name = "aten._cdist_backward.default"
    (result,) = converted(name, [cotangent, x, y, p, distances(x)], [x])
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-8)
    (result,) = converted(name, [np.ones((5, 5)), y, y, p, np.linalg.norm(y[:, None] - y, p, 2)], [y])
    assert np.isfinite(result).all()


@pytest.mark.parametrize(("first", "second"), [((1,), (3,)), ((2, 1), (4,)), ((), (2,)), ((2,), ())])
def test_batches_of_distances_are_broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    x, y = RANDOM.normal(size=(*first, 4, 5)), RANDOM.normal(size=(*second, 6, 5))
    differences = x[..., :, None, :] - y[..., None, :, :]
    expected = abs(differences).sum(-1)
    (result,) = converted("aten._cdist_forward.default", [x, y, 1.0, None], [expected])
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    gradient = np.sign(differences).sum(-2)
    operands = [np.ones(expected.shape), x, y, 1.0, expected]
    (result,) = converted("aten._cdist_backward.default", operands, [gradient])
    np.testing.assert_allclose(result, gradient, rtol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 7, 8])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman"])
def test_windows(name: str, length: int) -> None:
    """Those of NumPy are not periodic; a periodic one is the longer one without its last element."""
    window = {"hann": np.hanning, "hamming": np.hamming, "blackman": np.blackman}[name]
    (result,) = converted(f"aten.{name}_window.periodic", [length, False], [np.zeros(length)])
    np.testing.assert_allclose(result, window(length), atol=1e-15)
    (result,) = converted(f"aten.{name}_window.default", [length], [np.zeros(length)])
    np.testing.assert_allclose(result, window(length + 1)[:-1] if length > 1 else [1.0], atol=1e-15)


def test_output_padding_beyond_the_stride() -> None:
    """PyTorch allows it where the dilation is larger; the gradient is that of sums of products."""
    x, weight = RANDOM.normal(size=(1, 2, 4)), RANDOM.normal(size=(2, 3, 2))
    stride, padding, dilation, output_padding = 2, 0, 3, 2
    count = (4 - 1) * stride - 2 * padding + dilation * (2 - 1) + output_padding + 1
    expected = np.zeros((1, 3, count))
    for i, k in itertools.product(range(4), range(2)):
        expected[0, :, i * stride + k * dilation] += x[0, :, i] @ weight[:, :, k]
    settings = [[stride], [padding], [dilation], True, [output_padding], 1]
    (result,) = converted("aten.convolution.default", [x, weight, None, *settings], [expected])
    np.testing.assert_allclose(result, expected, atol=1e-14)
    cotangent = RANDOM.normal(size=expected.shape)
    gradients = converted(
        "aten.convolution_backward.default",
        [cotangent, x, weight, [3], *settings, [True, True, True]],
        [x, weight, np.zeros(3)],
    )
    for gradient, operand in zip(gradients, (x, weight), strict=False):
        np.testing.assert_allclose((gradient * operand).sum(), (cotangent * expected).sum())


def test_diagonals_of_matrices_without_elements() -> None:
    expected = np.zeros((2, 0), np.float32)
    (result,) = converted("aten.diagonal.default", [np.zeros((0, 0, 2), np.float32)], [expected])
    assert result.shape == (2, 0)


def test_reading_under_a_mask_from_no_elements_gives_what_fills() -> None:
    arguments = [np.zeros((0,), np.float32), np.zeros(3, bool), [np.arange(3)], 7.0]
    (result,) = converted("aten._unsafe_masked_index.default", arguments, [np.zeros(3, np.float32)])
    np.testing.assert_array_equal(result, 7)
