"""Random contractions and transforms: dot_general, convolution, fft, triangular_solve."""

from __future__ import annotations

import numpy as np

from ...program.ops.fft.fft import FftType
from ...program.ops.linalg.linalg import Transpose
from ...program.ops.reduction.window_geometry import Window
from ...types import COMPLEX, ELEMENT_TYPES, FLOAT, PLAIN, TensorType
from .generator import CannotGenerate, Generator, Producers
from .indexing import promoted


def dot_general(g: Generator) -> None:
    """A product over any contracting and batching dimensions."""
    lhs = g.value()
    shape = lhs.type.shape
    roles = [g.random.choice(("batching", "contracting", "contracting", "result")) for _ in shape]
    dimensions = [
        (size, role, d) for d, (size, role) in enumerate(zip(shape, roles, strict=True)) if role != "result"
    ]
    dimensions += [(g.size(), "result", -1) for _ in range(g.random.randrange(3))]
    g.random.shuffle(dimensions)
    rhs = g.operand(lhs.type.with_shape([size for size, _, _ in dimensions]))
    lhs_dimensions = {
        role: [d for _, kind, d in dimensions if kind == role] for role in ("batching", "contracting")
    }
    rhs_dimensions = {
        role: [dimension for dimension, (_, kind, _) in enumerate(dimensions) if kind == role]
        for role in ("batching", "contracting")
    }
    result = [shape[d] for d in lhs_dimensions["batching"]]
    result += [size for size, role in zip(shape, roles, strict=True) if role == "result"]
    result += [size for size, role, _ in dimensions if role == "result"]
    if np.prod(result) * np.prod([shape[d] for d in lhs_dimensions["contracting"]]) > 10 * g.largest:
        raise CannotGenerate("large")
    g.add(
        "stablehlo.dot_general",
        [lhs, rhs],
        [TensorType(result, promoted(g, lhs.type.element_type))],
        lhs_batching_dimensions=tuple(lhs_dimensions["batching"]),
        rhs_batching_dimensions=tuple(rhs_dimensions["batching"]),
        lhs_contracting_dimensions=tuple(lhs_dimensions["contracting"]),
        rhs_contracting_dimensions=tuple(rhs_dimensions["contracting"]),
    )


def convolution(g: Generator) -> None:
    """A convolution with dilations, reversal, groups and any order of dimensions."""
    element_type = g.element_type(PLAIN)
    spatial = g.random.choice((0, 1, 1, 2, 2, 3))
    groups = g.random.choice((1, 1, 2, 3))
    feature_groups, batch_groups = g.random.choice(((1, 1), (groups, 1), (1, groups)))
    batch, kernel_features = g.random.choice((1, 2)) * batch_groups, g.pick((1, 2), (1, 3, 8, 16))
    outputs = g.pick((1, 2), (1, 2, 5, 16)) * max(feature_groups, batch_groups)
    windows = [
        Window(
            g.random.choice((1, 2, 3)),
            g.random.choice((1, 1, 2)),
            g.random.choice((0, 0, 0, 1, 1, 2, -1, -2, 7)),
            g.random.choice((0, 0, 0, 1, 1, 2, -1, -2, 7)),
            g.random.choice((1, 1, 2, 3)),
            g.random.choice((1, 1, 2)),
        )
        for _ in range(spatial)
    ]
    sizes = [g.pick((1, 2, 3, 4), (1, 4, 7, 14, 28)) for _ in range(spatial)]
    counts = [window.count(size) for window, size in zip(windows, sizes, strict=True)]
    orders = [g.random.sample(range(spatial + 2), spatial + 2) for _ in range(3)]

    def placed(order: list[int], first: int, last: int, middle: list[int]) -> list[int]:
        shape = [0] * (spatial + 2)
        for dimension, size in zip(order, [first, last, *middle], strict=True):
            shape[dimension] = size
        return shape

    lhs_shape = placed(orders[0], batch, kernel_features * feature_groups, sizes)
    rhs_shape = placed(orders[1], kernel_features, outputs, [window.size for window in windows])
    result_shape = placed(orders[2], batch // batch_groups, outputs, counts)
    if np.prod(result_shape) * np.prod(rhs_shape) > 40 * g.largest or np.prod(lhs_shape) > 2 * g.largest:
        raise CannotGenerate("large")
    lhs = g.operand(TensorType(lhs_shape, element_type))
    rhs = g.operand(TensorType(rhs_shape, element_type))
    g.add(
        "stablehlo.convolution",
        [lhs, rhs],
        [TensorType(result_shape, promoted(g, element_type))],
        window_strides=tuple([window.stride for window in windows]),
        padding=tuple([(window.low, window.high) for window in windows]),
        lhs_dilation=tuple([window.base_dilation for window in windows]),
        rhs_dilation=tuple([window.window_dilation for window in windows]),
        window_reversal=tuple([g.chance(0.3) for _ in windows]),
        input_batch_dimension=orders[0][0],
        input_feature_dimension=orders[0][1],
        input_spatial_dimensions=tuple(orders[0][2:]),
        kernel_input_feature_dimension=orders[1][0],
        kernel_output_feature_dimension=orders[1][1],
        kernel_spatial_dimensions=tuple(orders[1][2:]),
        output_batch_dimension=orders[2][0],
        output_feature_dimension=orders[2][1],
        output_spatial_dimensions=tuple(orders[2][2:]),
        feature_group_count=feature_groups,
        batch_group_count=batch_groups,
    )


def fft(g: Generator) -> None:
    """A Fourier transform over one to three dimensions."""
    kind = FftType(g.random.choice(list(FftType)))
    width = g.random.choice(("32", "64"))
    real, complex_type = ELEMENT_TYPES[f"f{width}"], ELEMENT_TYPES[f"complex<f{width}>"]
    shape = [max(size, 1) for size in g.shape(g.random.randrange(1, 4), g.largest // 2)]
    count = g.random.randrange(1, len(shape) + 1)
    lengths = tuple(shape[-count:])
    half = [*shape[:-1], shape[-1] // 2 + 1]
    operand_type = TensorType(
        half if kind == FftType.IRFFT else shape, real if kind == FftType.RFFT else complex_type
    )
    result_type = TensorType(
        half if kind == FftType.RFFT else shape, real if kind == FftType.IRFFT else complex_type
    )
    g.add("stablehlo.fft", [g.operand(operand_type)], [result_type], fft_type=kind, fft_length=lengths)


def triangular_solve(g: Generator) -> None:
    """A system of equations with well conditioned triangular coefficients."""
    element_type = g.element_type(FLOAT | COMPLEX)
    batch = g.shape(g.random.randrange(2), 4)
    order, columns = g.pick((1, 2, 3, 4), (3, 8, 17, 40)), g.pick((1, 2, 3), (1, 5, 33))
    left = g.chance(0.5)
    a_type = TensorType((*batch, order, order), element_type)
    values = g.np_random.uniform(-0.5, 0.5, a_type.shape)
    values[..., np.arange(order), np.arange(order)] = g.np_random.choice((-2, -1, 1, 2), (*batch, order))
    a = g.constant(a_type, values.astype(np.float32).astype(a_type.dtype))
    b_type = TensorType((*batch, *((order, columns) if left else (columns, order))), element_type)
    b = g.constant(b_type, g.np_random.integers(-4, 5, b_type.shape).astype(np.float32).astype(b_type.dtype))
    g.add(
        "stablehlo.triangular_solve",
        [a, b],
        [b_type],
        left_side=left,
        lower=g.chance(0.5),
        unit_diagonal=g.chance(0.3),
        transpose_a=Transpose(g.random.choice(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))),
    )


PRODUCERS: Producers = [
    (2, dot_general),
    (1.5, convolution),
    (0.7, fft),
    (0.3, triangular_solve),
]
"""The operation producers of this module, with their relative frequencies."""
