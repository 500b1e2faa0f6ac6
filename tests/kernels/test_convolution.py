"""Convolutions window by window: integers exactly, floats in the stated order, programs in every way."""

import itertools

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels import convolution
from nimblehlo.kernels.convolution import Axis
from tests.running import run_every_way, same_bits


def axis(size, window, stride=1, low=0, high=0, base=1, dilation=1):
    windows = (low + (size - 1) * base + 1 + high - (window - 1) * dilation - 1) // stride + 1
    return Axis(size, window, windows, stride, low, base, dilation)


def window_by_window(lhs, rhs, axes, groups=1, batch_groups=1):
    """The convolution by its definition; products that lie in the padding are left out."""
    features = rhs.shape[-2]
    columns = rhs.shape[-1] // (groups * batch_groups)
    batches = lhs.shape[0] // batch_groups
    result = np.zeros((batches, *(a.windows for a in axes), rhs.shape[-1]), lhs.dtype)
    for batch, output in itertools.product(range(batches), range(rhs.shape[-1])):
        group = output // columns
        inputs = slice(group * features, (group + 1) * features) if groups > 1 else slice(features)
        source = lhs[batch + group * batches] if batch_groups > 1 else lhs[batch]
        for window in np.ndindex(*[a.windows for a in axes]):
            total = lhs.dtype.type(0)
            for position in np.ndindex(*[a.window for a in axes]):
                places = [
                    divmod(w * a.stride - a.low + p * a.window_dilation, a.base_dilation)
                    for w, p, a in zip(window, position, axes, strict=True)
                ]
                if all(hole == 0 and 0 <= at < a.size for (at, hole), a in zip(places, axes, strict=True)):
                    element = source[tuple([at for at, _ in places])][inputs]
                    for one, factor in zip(element, rhs[(*position, slice(None), output)], strict=True):
                        total = total + one * factor
            result[(batch, *window, output)] = total
    return result


AXES = [
    (),
    (axis(9, 3, low=1, high=1),),
    (axis(5, 2, stride=2, low=3, high=2, base=2), axis(6, 3, low=-1, high=1, dilation=2)),
    (axis(3, 2), axis(2, 1), axis(4, 3, low=2, stride=3)),
]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_integers(axes, groups, dtype):
    generator = np.random.default_rng(0)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    lhs = generator.integers(low, high, (4, *(a.size for a in axes), 6), dtype)
    rhs = generator.integers(low, high, (*(a.window for a in axes), 6 // groups[0], 10), dtype)
    convolve = convolution.prepare(
        4, axes, rhs.shape[-2:], dtype, feature_group_count=groups[0], batch_group_count=groups[1]
    )
    np.testing.assert_array_equal(convolve(lhs, rhs), window_by_window(lhs, rhs, axes, *groups))


@pytest.mark.parametrize("axes", AXES[1:])
@pytest.mark.parametrize("outputs", [5, 10])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scaled_elements_are_rounded_and_added_in_order(axes, outputs, dtype):
    generator = np.random.default_rng(1)
    lhs = generator.standard_normal((2, *(a.size for a in axes), 5)).astype(dtype)
    lhs.flat[0], lhs.flat[7], lhs.flat[9] = np.nan, -np.inf, 1e-42
    rhs = generator.standard_normal((*(a.window for a in axes), 1, outputs)).astype(dtype)
    got = convolution.prepare_scaling(2, axes, 5, outputs, dtype)(lhs, rhs)
    assert same_bits(got, window_by_window(lhs, rhs, axes, groups=5))


def test_rows_of_windows_fill_blocks_and_panels_in_any_number():
    generator = np.random.default_rng(2)
    for size, outputs in ((1, 1), (49, 16), (50, 65), (96, 100)):
        axes = (axis(size, 1),)
        lhs = generator.integers(-9, 9, (1, size, 3), np.int32)
        rhs = generator.integers(-9, 9, (1, 3, outputs), np.int32)
        got = convolution.prepare(1, axes, (3, outputs), np.int32)(lhs, rhs)
        np.testing.assert_array_equal(got[0], lhs[0] @ rhs[0])


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
    "depthwise": program(
        "[b, 0, f]x[0, i, o]->[b, 0, f]", "tensor<2x90x32xf32>", "tensor<5x1x64xf32>",
        "tensor<2x86x64xf32>", groups=(32, 1),
    ),
    "no spatial dimension": program(
        "[f, b]x[i, o]->[b, f]", "tensor<40x48xf32>", "tensor<20x24xf32>", "tensor<48x24xf32>", groups=(2, 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16", "i8"])
@pytest.mark.parametrize("special", [False, True])
def test_programs_have_the_same_bits_in_every_way(name, element_type, special):
    text = PROGRAMS[name].replace("xf32>", f"x{element_type}>")
    generator = np.random.default_rng(3)
    operands = []
    for type in nimblehlo.load(text).functions["main"].type.inputs:
        operand = (generator.standard_normal(type.shape) * 30).astype(type.dtype)
        if special and element_type != "i8":
            operand.flat[0], operand.flat[50], operand.flat[99] = np.nan, -np.inf, -0.0
        operands.append(operand)
    result = run_every_way(text, *operands)[0]
    for threads in (2, 3, 8):
        options = Options(compile="eager", threads=threads)
        assert same_bits(nimblehlo.execute(text, operands, options=options)[0], result)
