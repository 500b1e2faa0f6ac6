"""Convolutions as launches: the bits of the kernels, without objects of Python's."""

from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.convolution import convolution, depthwise, winograd
from nimblehlo.kernels.convolution.launched import launched_convolution
from nimblehlo.kernels.launch.native import LoopCall
from nimblehlo.kernels.launch.poison import POISON
from tests.kernels.matmul.test_launched_product import assert_threads_share_nothing, layout

from .test_convolution import axis, needs_floats

NUMBERS = convolution.DimensionNumbers(*[(0, 1, 2, 3)] * 3)
SAME = [axis(20, 3, low=1, high=1), axis(20, 3, low=1, high=1)]
HOLES = [axis(9, 3, low=1, high=2, base=2), axis(10, 4, low=2, high=2, base=3)]
EMPTY = [axis(9, 2, low=1, high=3, base=4), axis(10, 1)]
CASES: dict[str, Any] = {
    "products": (convolution, SAME, 12, 40, {}),
    "Winograd's algorithm": (winograd, SAME, 16, 24, {}),
    "holes": (convolution, HOLES, 5, 7, {}),
    "windows without elements": (convolution, EMPTY, 5, 7, {}),
    "groups": (convolution, SAME, 3, 8, {"feature_group_count": 4}),
    "one output": (convolution, SAME, 4, 1, {}),
}


def shapes_of(axes: Any, features: int, outputs: int, groups: int) -> list[tuple[int, ...]]:
    lhs = (2, *[a.size for a in axes], features * groups)
    return [lhs, (*[a.window for a in axes], features, outputs), (2, *[a.windows for a in axes], outputs)]


def operands(shapes: Any, dtype: str, special: float | None) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    lhs, rhs = [(10 * generator.standard_normal(shape)).astype(dtype) for shape in shapes[:2]]
    if special is not None:
        rhs.reshape(-1)[rhs.size // 2] = special
    return lhs, rhs


def assert_equal(launched: Any, convolve: Any, shapes: Any, dtype: str) -> None:
    for special in (None, np.inf) if dtype.startswith("f") else (None,):
        lhs, rhs = operands(shapes, dtype, special)
        expected = convolve(lhs, rhs)
        for _ in range(2):
            assert launched(lhs, rhs).tobytes() == np.ascontiguousarray(expected).tobytes()
    call = LoopCall(launched, (0, 1), [(shape, dtype) for shape in shapes[:2]], [(shapes[2], dtype)])
    assert call.is_native == (POISON == "0")


@needs_floats
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", CASES)
def test_launches_have_the_bits_of_kernels(name: str, dtype: str, threads: int) -> None:
    kernels, axes, features, outputs, groups = CASES[name]
    if kernels is winograd and dtype != "float32":
        pytest.skip("Winograd's algorithm is for f32")
    shapes = shapes_of(axes, features, outputs, *groups.values() or (1,))
    arguments = (shapes, axes, NUMBERS)
    arguments += () if kernels is winograd else (dtype,)
    convolve = kernels.prepare(*arguments, threads=threads, may_copy=False, **groups)
    launched = launched_convolution(convolve, [layout(shape, dtype) for shape in shapes], threads)
    assert_equal(launched, kernels.prepare(*arguments, threads=1, **groups), shapes, dtype)


@needs_floats
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("channels", [1, 8, 40])
def test_depthwise_kernels_serve_finite_factors(channels: int, dtype: str) -> None:
    shapes = shapes_of(SAME, 1, channels, channels)
    arguments = (shapes, SAME, NUMBERS, dtype)
    direct = convolution.prepare(*arguments, feature_group_count=channels, may_copy=False)
    scaled = depthwise.prepare(*arguments)
    launched = launched_convolution(direct, [layout(shape, dtype) for shape in shapes], 2, scaled)

    def expected(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return (scaled if np.isfinite(rhs).all() else direct)(lhs, rhs)

    assert_equal(launched, expected, shapes, dtype)


@needs_floats
def test_calls_of_several_threads_have_scratch_memory_of_their_own() -> None:
    shapes = shapes_of(SAME, 12, 40, 1)
    convolve = convolution.prepare(shapes, SAME, NUMBERS, "float32")
    launched = launched_convolution(convolve, [layout(shape, "float32") for shape in shapes], 2)
    generator = np.random.default_rng(1)
    lhs, rhs = [generator.standard_normal((8, *shape)).astype(np.float32) for shape in shapes[:2]]
    expected = [convolve(*pair) for pair in zip(lhs, rhs, strict=True)]
    assert_threads_share_nothing(launched, lhs, rhs, expected)


def test_kernels_that_copy_operands_are_not_launched() -> None:
    def convolve(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return lhs

    arrays = [layout((3,), "float32")] * 3
    assert launched_convolution(convolve, arrays) is None
