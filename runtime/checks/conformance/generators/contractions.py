"""Templates of products, convolutions, Fourier transforms and linear algebra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ....program.ops.contraction.matmul import Precision
from ....program.ops.fft.fft import FftType
from ....program.ops.linalg.linalg import Transpose
from ....program.ops.reduction.window_geometry import Window
from ....types import COMPLEX, AnyElementType, Array, ElementType, QuantizedType
from ..template import PER_TENSOR, SYMMETRIC, Template, constant, make, templates_of, tensor

_PRODUCTS: Final[Sequence[tuple[str, tuple[int, ...], tuple[int, ...], Sequence[Sequence[int]]]]] = (
    ("matrices", (3, 5), (5, 4), ([], [], [1], [0])),
    ("transposed", (5, 3), (4, 5), ([], [], [0], [1])),
    ("vectors", (7,), (7,), ([], [], [0], [0])),
    ("matrix_vector", (3, 5), (5,), ([], [], [1], [0])),
    ("outer", (2,), (3,), ([], [], [], [])),
    ("scalars", (), (), ([], [], [], [])),
    ("batched", (2, 3, 5), (2, 5, 4), ([0], [0], [2], [1])),
    ("batched_last", (3, 5, 2), (5, 2, 4), ([2], [1], [1], [0])),
    ("two_contracted", (2, 3, 4), (4, 3, 2), ([], [], [1, 2], [1, 0])),
    ("nothing_contracted", (3, 0), (0, 2), ([], [], [1], [0])),
    ("no_rows", (0, 3), (3, 2), ([], [], [1], [0])),
    ("one", (1, 1), (1, 1), ([], [], [1], [0])),
    ("odd", (17, 33), (33, 9), ([], [], [1], [0])),
    ("square", (3, 3), (3, 3), ([], [], [1], [0])),
    ("rank_6", (2, 3, 1, 2, 1, 2), (2, 1, 3, 2), ([0], [0], [1, 3], [2, 3])),
    ("rank_4", (2, 3, 1, 4), (2, 4, 3, 2), ([0], [0], [3], [1])),
    ("rank_5", (2, 1, 3, 2, 2), (3, 2, 1, 2, 2), ([2, 3], [0, 1], [4], [3])),
    ("edges", (9, 1), (1, 12), ([], [], [1], [0])),
    ("sums_of_edges", (9, 2), (2, 5), ([], [], [1], [0])),
)
"""Variants of products: shapes, then batching dimensions of both operands and contracting ones."""


@templates_of("stablehlo.dot_general")
def _dot_general(element_type: AnyElementType) -> Iterator[Template]:
    right = _right(element_type)
    for variant, lhs, rhs, (lb, rb, lc, rc) in _PRODUCTS:
        precisions = [None, *Precision] if variant == "matrices" else [None]
        for precision in precisions:
            config: dict[str, Any] = {}
            if precision is not None:
                config["precision_config"] = (precision, precision)
            yield make(
                "stablehlo.dot_general",
                f"{variant}{'' if precision is None else f'_{precision}'}",
                [tensor(element_type, *lhs), tensor(right, *rhs)],
                [tensor(element_type, *_product_shape(lhs, rhs, lb, rb, lc, rc))],
                lhs_batching_dimensions=tuple(lb),
                rhs_batching_dimensions=tuple(rb),
                lhs_contracting_dimensions=tuple(lc),
                rhs_contracting_dimensions=tuple(rc),
                edges="edges" in variant,
                is_basic=variant in ("matrices", "two_contracted", "edges") and precision is None,
                **config,
            )
    if element_type == PER_TENSOR:
        right = QuantizedType(SYMMETRIC.storage, -127, 127, SYMMETRIC.expressed, (0.5, 0.125), (0, 0), 1)
        yield make(
            "stablehlo.dot_general",
            "right_per_axis",
            [tensor(element_type, 3, 5), tensor(right, 5, 2)],
            [tensor(element_type, 3, 2)],
            lhs_contracting_dimensions=(1,),
            rhs_contracting_dimensions=(0,),
            is_basic=True,
        )
    yield make(
        "stablehlo.dot_general",
        "algorithm",
        [tensor(element_type, 3, 5), tensor(element_type, 5, 4)],
        [tensor(element_type, 3, 4)],
        lhs_contracting_dimensions=(1,),
        rhs_contracting_dimensions=(0,),
        precision_config=(Precision.DEFAULT, Precision.DEFAULT),
        **_algorithm(element_type),
    )


def _right(element_type: AnyElementType) -> AnyElementType:
    """The element type of the right factor: zero points of quantized ones are zero."""
    return SYMMETRIC if element_type == PER_TENSOR else element_type


def _algorithm(element_type: AnyElementType) -> dict[str, Any]:
    return {
        "lhs_precision_type": element_type,
        "rhs_precision_type": element_type,
        "accumulation_type": element_type,
        "lhs_component_count": 1,
        "rhs_component_count": 1,
        "num_primitive_operations": 1,
        "allow_imprecise_accumulation": False,
    }


def _product_shape(
    lhs: Sequence[int],
    rhs: Sequence[int],
    lb: Sequence[int],
    rb: Sequence[int],
    lc: Sequence[int],
    rc: Sequence[int],
) -> list[int]:
    shape = [lhs[d] for d in lb]
    shape += [size for d, size in enumerate(lhs) if d not in (*lb, *lc)]
    return shape + [size for d, size in enumerate(rhs) if d not in (*rb, *rc)]


@templates_of("stablehlo.dot")
def _dot(element_type: AnyElementType) -> Iterator[Template]:
    for variant, lhs, rhs, result in (
        ("matrices", (3, 5), (5, 4), (3, 4)),
        ("vectors", (7,), (7,), ()),
        ("matrix_vector", (3, 5), (5,), (3,)),
        ("nothing_contracted", (3, 0), (0, 2), (3, 2)),
        ("square", (3, 3), (3, 3), (3, 3)),
        ("edges", (5, 1), (1, 7), (5, 7)),
    ):
        yield make(
            "stablehlo.dot",
            variant,
            [tensor(element_type, *lhs), tensor(element_type, *rhs)],
            [tensor(element_type, *result)],
            edges=variant == "edges",
            is_basic=variant == "matrices",
        )


@templates_of("stablehlo.einsum")
def _einsum(element_type: AnyElementType) -> Iterator[Template]:
    for config, lhs, rhs, result in (
        ("ij,jk->ik", (3, 5), (5, 4), (3, 4)),
        ("bij,bjk->bik", (2, 3, 5), (2, 5, 4), (2, 3, 4)),
        ("ij,ij->ij", (2, 3), (2, 3), (2, 3)),
        ("ij,kj->ik", (3, 3), (3, 3), (3, 3)),
        ("i,i->", (7,), (7,), ()),
        ("abij,abjk->abik", (2, 1, 3, 2), (2, 1, 2, 4), (2, 1, 3, 4)),
        ("abcij,bcjk->abcik", (2, 1, 2, 3, 2), (1, 2, 2, 3), (2, 1, 2, 3, 3)),
        ("abcdij,jk->abcdik", (2, 1, 2, 1, 3, 2), (2, 3), (2, 1, 2, 1, 3, 3)),
    ):
        yield make(
            "stablehlo.einsum",
            config.replace(",", "_").replace("->", "_to_").rstrip("_"),
            [tensor(element_type, *lhs), tensor(element_type, *rhs)],
            [tensor(element_type, *result)],
            einsum_config=config,
            edges=config == "ij,ij->ij",
            is_basic=config == "ij,jk->ik",
        )


@templates_of("stablehlo.unary_einsum")
def _unary_einsum(element_type: AnyElementType) -> Iterator[Template]:
    wide = (
        ("i->i", (3,), (3,)),
        ("ijk->ik", (2, 3, 4), (2, 4)),
        ("ijkl->ljik", (2, 3, 1, 4), (4, 3, 2, 1)),
        ("ijklm->mki", (2, 1, 3, 2, 2), (2, 3, 2)),
        ("ijklmn->nj", (2, 3, 1, 2, 1, 2), (2, 3)),
    )
    pairs = (("ij->ji", (2, 3), (3, 2)), ("ij->i", (2, 3), (2,)), ("ij->", (2, 3), ()))
    for config, shape, result in (*pairs, *wide):
        yield make(
            "stablehlo.unary_einsum",
            config.replace("->", "_to_").rstrip("_"),
            [tensor(element_type, *shape)],
            [tensor(element_type, *result)],
            einsum_config=config,
            edges=config == "ij->ji",
            is_basic=config == "ij->ji",
        )


_CONVOLUTIONS: Final[
    Sequence[tuple[str, tuple[int, ...], tuple[Window, ...], tuple[bool, ...], tuple[int, int, int]]]
] = (
    ("plain", (5, 4), (Window(3), Window(2)), (False, False), (1, 1, 2)),
    ("strided", (7,), (Window(3, 2),), (False,), (1, 1, 2)),
    ("padded", (4,), (Window(3, 1, 1, 2),), (False,), (1, 1, 2)),
    ("negative_padding", (6,), (Window(2, 1, -1, -2),), (False,), (1, 1, 2)),
    ("lhs_dilated", (4,), (Window(2, 1, 1, 0, 2),), (False,), (1, 1, 2)),
    ("rhs_dilated", (7,), (Window(3, 1, 0, 0, 1, 2),), (False,), (1, 1, 2)),
    ("all_at_once", (5, 3), (Window(2, 2, 3, -1, 2, 3), Window(1)), (True, False), (1, 1, 2)),
    ("reversed", (5,), (Window(3),), (True,), (1, 1, 2)),
    ("feature_groups", (4,), (Window(2),), (False,), (2, 1, 2)),
    ("batch_groups", (4,), (Window(2),), (False,), (1, 2, 2)),
    ("depthwise", (4,), (Window(2),), (False,), (3, 1, 1)),
    ("no_spatial", (), (), (), (1, 1, 2)),
    ("empty", (0,), (Window(2, 1, 1, 1),), (False,), (1, 1, 2)),
    ("window_beyond_operand", (3,), (Window(5),), (False,), (1, 1, 2)),
    (
        "rank_6",
        (2, 1, 2, 2),
        (Window(1), Window(1), Window(2), Window(2, 1, 1, 0)),
        (False, True, False, True),
        (1, 1, 2),
    ),
    (
        "rank_5",
        (3, 1, 2),
        (Window(2), Window(1, 1, 1, 0), Window(2, 1, 0, 1)),
        (False, False, True),
        (1, 1, 2),
    ),
)
"""Variants of convolutions: spatial sizes, windows, reversals, and groups of features and batches with the
number of features of a group.
"""


@templates_of("stablehlo.convolution")
def _convolution(element_type: AnyElementType) -> Iterator[Template]:
    for one in _CONVOLUTIONS:
        variant, _, windows, _, _ = one
        lhs, rhs, result, attributes = _convolved(element_type, one, variant == "padded")
        yield make(
            "stablehlo.convolution",
            variant,
            [lhs, rhs],
            [result],
            padding=tuple((window.low, window.high) for window in windows),
            is_basic=variant in ("plain", "all_at_once", "feature_groups"),
            **attributes,
        )


@templates_of("stablehlo.dynamic_conv")
def _dynamic_conv(element_type: AnyElementType) -> Iterator[Template]:
    for one in _CONVOLUTIONS:
        variant, _, windows, _, _ = one
        lhs, rhs, result, attributes = _convolved(element_type, one, variant == "padded")
        padding = constant(tensor("i64", len(windows), 2), [[window.low, window.high] for window in windows])
        yield make(
            "stablehlo.dynamic_conv",
            variant,
            [lhs, rhs, padding],
            [result],
            is_basic=variant == "plain",
            **attributes,
        )


def _convolved(element_type: AnyElementType, one: Any, features_last: bool) -> Any:
    """The types of operands and result, and the attributes without padding."""
    _, sizes, windows, reversals, (feature_groups, batch_groups, features) = one
    outputs = 2 * max(feature_groups, batch_groups)
    counts = [window.count(size) for window, size in zip(windows, sizes, strict=True)]
    spatial = tuple(range(2, 2 + len(sizes)))
    batch, feature = 0, 1
    if features_last:
        spatial, feature = tuple(range(1, 1 + len(sizes))), 1 + len(sizes)
    lhs = _shape_with(2 * batch_groups, features * feature_groups, sizes, batch, feature)
    rhs = _shape_with(outputs, features, [window.size for window in windows], batch, feature)
    result = _shape_with(2, outputs, counts, batch, feature)
    attributes = {
        "window_strides": tuple(window.stride for window in windows),
        "lhs_dilation": tuple(window.base_dilation for window in windows),
        "rhs_dilation": tuple(window.window_dilation for window in windows),
        "window_reversal": reversals,
        "input_batch_dimension": batch,
        "input_feature_dimension": feature,
        "input_spatial_dimensions": spatial,
        "kernel_output_feature_dimension": batch,
        "kernel_input_feature_dimension": feature,
        "kernel_spatial_dimensions": spatial,
        "output_batch_dimension": batch,
        "output_feature_dimension": feature,
        "output_spatial_dimensions": spatial,
        "feature_group_count": feature_groups,
        "batch_group_count": batch_groups,
        "precision_config": (Precision.HIGHEST, Precision.HIGHEST),
    }
    right = tensor(_right(element_type), *rhs)
    return tensor(element_type, *lhs), right, tensor(element_type, *result), attributes


def _shape_with(first: int, second: int, sizes: Sequence[int], batch: int, feature: int) -> list[int]:
    """A shape with two sizes at given dimensions."""
    shape = list(sizes)
    for dimension, size in sorted(((batch, first), (feature, second))):
        shape.insert(dimension, size)
    return shape


@templates_of("stablehlo.fft")
def _fft(element_type: AnyElementType) -> Iterator[Template]:
    if not isinstance(element_type, ElementType):
        return
    is_complex = element_type.category == COMPLEX
    width = element_type.width // 2 if is_complex else element_type.width
    real, complex_type = f"f{width}", f"complex<f{width}>"
    if element_type.name not in (real, complex_type) or width < 32:
        return
    wide = (((2, 1, 3, 4), 2), ((2, 1, 2, 3, 4), 3), ((2, 1, 2, 1, 3, 5), 1))
    for shape, count in (((8,), 1), ((7,), 1), ((1,), 1), ((2, 6), 1), ((3, 4), 2), ((2, 3, 4), 3), *wide):
        half = (*shape[:-1], shape[-1] // 2 + 1)
        kinds: dict[FftType, tuple[tuple[int, ...], tuple[int, ...], str]] = {
            FftType.FFT: (shape, shape, complex_type),
            FftType.IFFT: (shape, shape, complex_type),
            FftType.RFFT: (shape, half, complex_type),
            FftType.IRFFT: (half, shape, real),
        }
        for kind, (operand, result, result_type) in kinds.items():
            yield make(
                "stablehlo.fft",
                f"{kind}_{'x'.join(map(str, shape))}_of_{count}",
                [tensor(element_type, *operand)],
                [tensor(result_type, *result)],
                fft_type=kind,
                fft_length=shape[-count:],
                is_basic=shape == (7,),
            )


def _definite(element_type: AnyElementType, size: int, batch: tuple[int, ...]) -> Array:
    """Hermitian positive definite matrices."""
    random = np.random.default_rng(size)
    matrix = random.standard_normal((*batch, size, size)).astype(np.complex128)
    if element_type.category == COMPLEX:
        matrix = matrix + 1j * random.standard_normal(matrix.shape)
    product = matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + size * np.eye(size)
    product = (product + np.conj(np.swapaxes(product, -1, -2))) / 2
    return product if element_type.category == COMPLEX else product.real


@templates_of("stablehlo.cholesky")
def _cholesky(element_type: AnyElementType) -> Iterator[Template]:
    wide = (((2, 1, 2), 3), ((2, 1, 1, 2), 2))
    for batch, size in (((), 3), ((2,), 4), ((), 1), ((), 0), ((0,), 2), ((1, 2), 5), *wide):
        for lower in (True, False):
            yield make(
                "stablehlo.cholesky",
                f"{'x'.join(map(str, (*batch, size)))}_{'lower' if lower else 'upper'}",
                [tensor(element_type, *batch, size, size)],
                [tensor(element_type, *batch, size, size)],
                inputs={0: _definite(element_type, size, batch)},
                lower=lower,
                is_basic=size == 4,
            )


@templates_of("stablehlo.triangular_solve")
def _triangular_solve(element_type: AnyElementType) -> Iterator[Template]:
    is_complex = element_type.category == COMPLEX
    for left_side in (True, False):
        for lower in (True, False):
            for unit_diagonal in (True, False):
                for transpose_a in list(Transpose)[1:]:
                    yield make(
                        "stablehlo.triangular_solve",
                        f"{'left' if left_side else 'right'}_{'lower' if lower else 'upper'}"
                        f"_{'unit' if unit_diagonal else 'any'}_{transpose_a}",
                        [tensor(element_type, 2, 3, 3), tensor(element_type, 2, *_sides(left_side))],
                        inputs={0: _definite(element_type, 3, (2,)) / 4 + 3 * np.eye(3)},
                        results=[tensor(element_type, 2, *_sides(left_side))],
                        left_side=left_side,
                        lower=lower,
                        unit_diagonal=unit_diagonal,
                        transpose_a=transpose_a,
                        is_basic=not unit_diagonal and (transpose_a == Transpose.TRANSPOSE or is_complex),
                    )
    yield make(
        "stablehlo.triangular_solve",
        "nan",
        [tensor(element_type, 1, 1), tensor(element_type, 1, 3)],
        [tensor(element_type, 1, 3)],
        inputs={0: [[2]], 1: [[1, np.nan, 3]]},
        left_side=True,
        lower=True,
        unit_diagonal=False,
        transpose_a=Transpose.NO_TRANSPOSE,
    )
    for batch in ((2, 1), (1, 2, 1), (2, 1, 1, 2)):
        types = [tensor(element_type, *batch, 3, 3), tensor(element_type, *batch, 3, 2)]
        yield make(
            "stablehlo.triangular_solve",
            f"rank_{len(batch) + 2}",
            types,
            types[1:],
            inputs={0: _definite(element_type, 3, batch) / 4 + 3 * np.eye(3)},
            left_side=True,
            lower=False,
            unit_diagonal=False,
            transpose_a=Transpose.TRANSPOSE,
        )
    for size, columns in ((0, 2), (1, 2), (3, 3)):
        types = [tensor(element_type, size, size), tensor(element_type, size, columns)]
        yield make(
            "stablehlo.triangular_solve",
            f"order_{size}",
            types,
            types[1:],
            inputs={0: 2 * np.eye(size)},
            left_side=True,
            lower=True,
            unit_diagonal=False,
            transpose_a=Transpose.NO_TRANSPOSE,
        )


def _sides(left_side: bool) -> tuple[int, int]:
    return (3, 2) if left_side else (2, 3)


_RAGGED: Final[Sequence[tuple[str, Sequence[Sequence[int]], Sequence[Sequence[int]], Sequence[int]]]] = (
    ("rows", ([], [], [1], [1], [0], [0]), ((5, 2), (3, 2, 4), (3,), (5, 4)), (2, 0, 3)),
    ("contracting", ([], [], [1], [0], [1], []), ((2, 5), (5, 4), (3,), (3, 2, 4)), (1, 3, 1)),
    ("batching", ([0], [0], [2], [1], [0], []), ((4, 3, 2), (4, 2, 2), (2,), (4, 3, 2)), (3, 1)),
    ("short_groups", ([], [], [1], [1], [0], [0]), ((5, 2), (2, 2, 3), (2,), (5, 3)), (1, 2)),
    ("no_rows", ([], [], [1], [1], [0], [0]), ((0, 2), (2, 2, 3), (2,), (0, 3)), (0, 0)),
    ("square", ([0], [0], [2], [1], [0], []), ((2, 3, 3), (2, 3, 3), (2,), (2, 3, 3)), (1, 1)),
    ("nan", ([], [], [1], [1], [0], [0]), ((3, 2), (2, 2, 2), (2,), (3, 2)), (2, 1)),
)
"""Variants of ragged products: dimension numbers, shapes of operands and result, and sizes of groups."""


@templates_of("chlo.ragged_dot")
def _ragged_dot(element_type: AnyElementType) -> Iterator[Template]:
    fields = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting", "lhs_ragged", "rhs_group")
    for variant, numbers, (lhs, rhs, groups, result), sizes in _RAGGED:
        named = zip(fields, numbers, strict=True)
        attributes: dict[str, Any] = {f"{name}_dimensions": tuple(values) for name, values in named}
        inputs: dict[int, Any] = {2: sizes}
        if variant == "nan":
            inputs[1] = [[[1, 2], [3, 4]], [[5, np.nan], [7, 8]]]
        yield make(
            "chlo.ragged_dot",
            variant,
            [tensor(element_type, *lhs), tensor(element_type, *rhs), tensor("i32", *groups)],
            [tensor(element_type, *result)],
            inputs=inputs,
            precision_config=(Precision.HIGHEST, Precision.HIGHEST),
            is_basic=variant in ("rows", "contracting"),
            **attributes,
        )


@templates_of("stablehlo.batch_norm_inference")
def _batch_norm_inference(element_type: AnyElementType) -> Iterator[Template]:
    yield from _batch_norm("stablehlo.batch_norm_inference", element_type, 4, 0)


@templates_of("stablehlo.batch_norm_training")
def _batch_norm_training(element_type: AnyElementType) -> Iterator[Template]:
    yield from _batch_norm("stablehlo.batch_norm_training", element_type, 2, 2)


@templates_of("stablehlo.batch_norm_grad")
def _batch_norm_grad(element_type: AnyElementType) -> Iterator[Template]:
    yield from _batch_norm("stablehlo.batch_norm_grad", element_type, 3, 2, grad=True)


def _batch_norm(
    name: str, element_type: AnyElementType, vectors: int, returned: int, grad: bool = False
) -> Iterator[Template]:
    shapes = (((4, 3), 1), ((3, 4), 0), ((2, 3, 2), 1), ((1, 1), 1), ((2, 3, 1, 2, 1, 2), 1), ((5,), 0))
    wide = (((2, 3, 1, 4), 3), ((2, 1, 3, 2, 2), 2))
    for shape, feature in (*shapes, *wide):
        operand, vector = tensor(element_type, *shape), tensor(element_type, shape[feature])
        operands = [operand, *[vector] * vectors, *[operand] * grad]
        # The last vector is the variance, which is positive; training computes it.
        inputs = {vectors: np.linspace(0.5, 2, shape[feature])} if vectors > 2 else {}
        yield make(
            name,
            f"{'x'.join(map(str, shape))}_feature_{feature}",
            operands,
            [operand, *[vector] * returned],
            inputs=inputs,
            epsilon=0.5,
            feature_index=feature,
            is_basic=shape == (4, 3),
        )
