"""The kernels for products: `dot_general`, `dot` and `convolution`.

Products of floats (`ops.float_products`) and what the processor's matrix unit multiplies are compiled ahead
of time, and references call them too; as kernels they are told how many threads they may use. Others sum
floats in an order of their own: they serve only where both give the same bits for random operands of the
shapes at hand, which is tried when they are prepared: the order hangs on shapes, layouts and the processor,
never on values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..ops.contraction_base import Contraction, computed_float, is_by_unit, multiplier
from ..ops.convolution import Convolution
from ..ops.declaration import Array
from ..ops.float_products import contraction_of, have_threads
from ..ops.numerics import carrier, converter, rounding
from ..ops.unit_products import suits
from ..types import ELEMENT_TYPES, FLOAT, INTEGER, ElementType, TensorType
from .tiering import compiled_ahead

Kernel = Callable[..., Any]
Offer = tuple[Callable[[], Kernel] | None, str]
Stacks = tuple[list[int], list[int]]

_WORTHWHILE: Final = 1 << 15
"""Least terms in all for which a kernel is worth its launch."""
_WORTHWHILE_ALONE: Final = 1 << 20
"""The same for few products of matrices of floats."""
_FEW_PRODUCTS: Final = 4
_FEW_COLUMNS: Final = 4
_MOST_WORK: Final = 1000
"""What finding out whether arrays overlap may take, as NumPy counts it."""
_BY_UNIT: Final = "the processor's matrix unit"


def contraction(view: Any, threads: int | None) -> Offer:
    """`nimblehlo.kernels.dot`: integers and floats."""
    if getattr(view, "algorithm", None) is not None:
        return None, "a dot algorithm"
    shapes = _shapes_of_stacks(view, view.lhs.shape, view.rhs.shape)
    (batch, rows, terms), columns = shapes[0], shapes[1][2]
    if batch * rows * terms * columns < _WORTHWHILE:
        return None, "too small for a kernel"
    element_types = (view.lhs.element_type, view.rhs.element_type, view.result.element_type)
    if all(type.category & INTEGER for type in element_types):
        return _integer_products(view, shapes, threads)
    if not all(type.category & FLOAT for type in element_types):
        return None, "no kernel for these element types"
    if is_by_unit(view) and suits(rows, terms, columns):
        return _products_by_unit(view, threads)
    if 1 in (rows, columns):
        return None, "BLAS multiplies a vector at once"
    if batch < _FEW_PRODUCTS and batch * rows * terms * columns < _WORTHWHILE_ALONE:
        return None, "too small for a kernel"
    return _products_of_floats(view, shapes, threads)


def _shapes_of_stacks(view: Contraction, lhs: Sequence[int], rhs: Sequence[int]) -> Stacks:
    """The shapes of operands of these shapes as [batch, row, term] and [batch, term, column]."""
    lhs_parts = (view.lhs_batching_dimensions, view.lhs_result_dimensions, view.lhs_contracting_dimensions)
    rhs_parts = (view.rhs_batching_dimensions, view.rhs_contracting_dimensions, view.rhs_result_dimensions)
    return (
        [math.prod([lhs[d] for d in part]) for part in lhs_parts],
        [math.prod([rhs[d] for d in part]) for part in rhs_parts],
    )


def _products_by_unit(view: Any, threads: int | None) -> Offer:
    """Floats: what the reference calls, with threads."""

    @compiled_ahead
    def prepare() -> Kernel:
        multiply, shape = view.multiply, view.result.shape
        stack = view.stacker(view.lhs.shape, view.rhs.shape)

        def run(a: Array, b: Array) -> Array:
            return multiply(*stack(a, b), threads).reshape(shape)  # type: ignore[no-any-return]

        return run

    return prepare, _BY_UNIT


def _integer_products(view: Any, shapes: Stacks, threads: int | None) -> Offer:
    lhs, rhs, result = (carrier(type.element_type) for type in (view.lhs, view.rhs, view.result))
    leave = _narrowing(view.result)
    is_by_unit = _unit_holds(lhs, rhs, result, shapes[0][2])

    def prepare() -> Kernel:
        if is_by_unit:
            from ..kernels.matrix_unit import Product

            product: Kernel = Product(*shapes, lhs, rhs, np.int32, threads)
        else:
            from ..kernels import dot

            product = dot.prepare(*shapes, lhs, rhs, result, threads=threads)
        stack, shape = view.stacker(view.lhs.shape, view.rhs.shape), view.result.shape

        def run(a: Array, b: Array) -> Array:
            a, b = stack(a.astype(lhs, copy=False), b.astype(rhs, copy=False))
            return np.asarray(leave(product(a, b).astype(result, copy=False).reshape(shape)))

        return run

    if is_by_unit:
        return compiled_ahead(prepare), _BY_UNIT
    return prepare, "exact in integers"


def _unit_holds(lhs: Any, rhs: Any, result: Any, terms: int) -> bool:
    """Whether the processor's matrix unit multiplies such integers, whose sums it keeps modulo 2 ** 32."""
    from ..kernels import matrix_unit

    if not (lhs.kind in "iu" and rhs.kind in "iu" and matrix_unit.supports(lhs.name, rhs.name, "int32")):
        return False
    largest = math.prod(max(-int(info.min), int(info.max)) for info in (np.iinfo(lhs), np.iinfo(rhs)))
    return bool(result.itemsize <= 4) or largest * terms < 1 << 31


def _narrowing(result: Any) -> Kernel:
    """From the integers in which a result is computed to its own; nothing where they are the same."""
    computed = carrier(result.element_type)
    return (lambda array: array) if computed == result.dtype else rounding(computed, result.element_type)


def _products_of_floats(view: Any, shapes: Stacks, threads: int | None) -> Offer:
    """What the reference calls, with threads."""
    if not have_threads():
        return None, "BLAS multiplies matrices"

    @compiled_ahead
    def prepare() -> Kernel:
        types = [type.element_type for type in (view.lhs, view.rhs, view.result)]
        (_, rows, terms), (_, _, columns) = shapes
        kernel = view.bound(multiplier(*types, product=contraction_of(rows, terms, columns, threads)))
        return kernel  # type: ignore[no-any-return]

    return prepare, "matrices, block by block"


def _reference_of(view: Any) -> Kernel:
    reference: Kernel = view.bind()
    return reference


def _conversions(view: Any) -> tuple[Kernel, Kernel, Kernel, ElementType]:
    """From lhs and from rhs to the type in which products of floats are made, from it to the result; it."""
    types = [type.element_type for type in (view.lhs, view.rhs, view.result)]
    computed = computed_float(*types)
    enter_lhs, enter_rhs = converter(types[0], computed), converter(types[1], computed)
    return enter_lhs, enter_rhs, converter(computed, types[2]), computed


def _like_reference(view: Any, attempt: Callable[[float], Kernel]) -> Kernel:
    """A kernel that gives the reference's bits, or else the reference.

    Args:
        view: the operation.
        attempt: makes the kernel that adds 0.0, or -0.0, to each sum: BLAS gives a sum of -0 either sign.
    """
    reference = _reference_of(view)
    operands = [_random(type, seed) for seed, type in enumerate((view.lhs, view.rhs))]
    expected = np.asarray(view.reference(*operands)).tobytes()
    for zero in (0.0, -0.0):
        kernel = attempt(zero)
        if np.asarray(kernel(*operands)).tobytes() == expected:
            return _guarded(kernel, reference)
    return reference


def _guarded(kernel: Kernel, reference: Kernel) -> Kernel:
    """`kernel` for operands that lie in memory as those did with which it was tried, else `reference`."""

    def run(lhs: Array, rhs: Array) -> Array:
        if not (lhs.flags.c_contiguous and rhs.flags.c_contiguous) or _share_elements(lhs, rhs):
            return np.asarray(reference(lhs, rhs))
        return np.asarray(kernel(lhs, rhs))

    return run


def _share_elements(lhs: Array, rhs: Array) -> bool:
    """Whether two arrays have elements in common, or may have: BLAS has other ways for a matrix by itself."""
    if not np.may_share_memory(lhs, rhs):
        return False
    try:
        return bool(np.shares_memory(lhs, rhs, max_work=_MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _random(type: TensorType, seed: int) -> Array:
    """Random numbers of both signs, some of them so small that products vanish."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(type.shape, np.float32)
    if type.dtype.itemsize >= 4:
        info = np.finfo(type.dtype)
        values = values.astype(type.dtype, copy=False)
        values[generator.random(type.shape, np.float32) < 0.25] *= np.sqrt(info.tiny) / 64
        if values.ndim:
            values[..., :1] = -abs(values[..., :1]) * (np.sqrt(info.tiny) / 64 if seed else 1)
        return values
    element_type = type.element_type
    assert isinstance(element_type, ElementType)
    return np.asarray(converter(ELEMENT_TYPES["f32"], element_type)(values))


def convolution(view: Convolution, threads: int | None) -> Offer:
    """`nimblehlo.kernels.convolution`: scaled elements, and windows as rows of matrices."""
    from ..kernels.convolution import Axis

    padding = view.known_padding()
    counts = [view.result.shape[d] for d in view.output_spatial_dimensions]
    sizes = [view.lhs.shape[d] for d in view.input_spatial_dimensions]
    windows = view.windows(view.rhs.shape, padding)
    axes = [
        Axis(size, w.size, count, w.stride, w.low, w.base_dilation, w.window_dilation)
        for w, size, count in zip(windows, sizes, counts, strict=True)
    ]
    groups = max(view.feature_group_count, view.batch_group_count)
    terms = view.result.size * math.prod(w.size for w in windows)
    terms *= view.rhs.shape[view.kernel_input_feature_dimension]
    if terms < _WORTHWHILE:
        return None, "too small for a kernel"
    if view.is_scaling:
        return _scaling(view, axes, threads)
    if view.rhs.shape[view.kernel_output_feature_dimension] // groups < _FEW_COLUMNS:
        return None, "few output features a group"
    types = [type.element_type for type in (view.lhs, view.rhs, view.result)]
    by_unit = _windows_by_unit(view, threads)
    if by_unit is not None:
        return compiled_ahead(by_unit), _BY_UNIT
    if all(type.category & INTEGER for type in types):
        return _windows_of_integers(view, axes, threads)
    if not all(type.category & FLOAT for type in types):
        return None, "no kernel for these element types"
    if groups == 1 and all(w.is_trivial for w in windows) and terms < _WORTHWHILE_ALONE:
        return None, "one product of matrices"
    return _windows_of_floats(view, axes, threads)


def _ordered(view: Convolution, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Batches first and features last; rhs as it is laid over lhs."""
    reversed_axes = tuple([axis for axis, is_reversed in enumerate(view.window_reversal) if is_reversed])
    factors = np.flip(rhs.transpose(view.kernel_dimensions), reversed_axes)
    return lhs.transpose(view.input_dimensions), factors


def _scaling(view: Convolution, axes: Sequence[Any], threads: int | None) -> Offer:
    if view.batch_group_count > 1 or view.lhs.dtype.kind != "f":
        return None, "no kernel for groups of batches or complex numbers"

    def prepare() -> Kernel:
        from ..kernels import convolution

        scale = convolution.prepare_scaling(
            view.lhs.shape[view.input_batch_dimension],
            axes,
            view.feature_group_count,
            view.rhs.shape[view.kernel_output_feature_dimension],
            view.lhs.dtype,
            threads=threads,
        )
        reference, back = _reference_of(view), np.argsort(view.output_dimensions)

        def run(lhs: Array, rhs: Array) -> Array:
            if not np.isfinite(rhs).all():
                return np.asarray(reference(lhs, rhs))
            return scale(*_ordered(view, lhs, rhs)).transpose(back)

        return run

    return prepare, "elements are scaled and added"


def _prepared(view: Convolution, axes: Sequence[Any], dtype: Any, zero: float, threads: int | None) -> Kernel:
    """The kernel on operands of `dtype` that are laid out as `_ordered` does."""
    from ..kernels import convolution

    features = view.kernel_input_feature_dimension, view.kernel_output_feature_dimension
    return convolution.prepare(
        view.lhs.shape[view.input_batch_dimension],
        axes,
        (view.rhs.shape[features[0]], view.rhs.shape[features[1]]),
        dtype,
        feature_group_count=view.feature_group_count,
        batch_group_count=view.batch_group_count,
        zero=zero,
        threads=threads,
    )


def _windows_by_unit(view: Convolution, threads: int | None) -> Callable[[], Kernel] | None:
    """What prepares the reference's way of convolving with the unit's products, where it multiplies."""
    types = [type.element_type for type in (view.lhs, view.rhs, view.result)]
    lhs, rhs, result = map(carrier, types)
    terms = math.prod(view.rhs.shape) // view.rhs.shape[view.kernel_output_feature_dimension]
    is_integer = all(type.category & INTEGER for type in types)
    if not (_unit_holds(lhs, rhs, result, terms) if is_integer else is_by_unit(view)):
        return None
    leave = _narrowing(view.result)

    def multiply_integers(a: Array, b: Array) -> Array:
        from ..kernels.matrix_unit import Product

        product: Kernel = Product(a.shape, b.shape, lhs, rhs, np.int32, threads)
        return np.asarray(leave(product(a, b).astype(result, copy=False)))

    def multiply_floats(a: Array, b: Array) -> Array:
        return np.asarray(view.multiply(a, b, threads))  # type: ignore[call-arg, misc]

    multiply = multiply_integers if is_integer else multiply_floats

    def run(a: Array, b: Array) -> Array:
        if is_integer:
            a, b = a.astype(lhs, copy=False), b.astype(rhs, copy=False)
        return view.convolve(a, b, view.known_padding(), multiply)

    return lambda: run


def _windows_of_integers(view: Convolution, axes: Sequence[Any], threads: int | None) -> Offer:
    result = carrier(view.result.element_type)
    computed = np.dtype(np.int32 if result.itemsize <= 4 else np.int64)
    lhs_type, rhs_type = carrier(view.lhs.element_type), carrier(view.rhs.element_type)
    leave, back = _narrowing(view.result), np.argsort(view.output_dimensions)

    def prepare() -> Kernel:
        convolve = _prepared(view, axes, computed, 0.0, threads)

        def run(lhs: Array, rhs: Array) -> Array:
            lhs = lhs.astype(lhs_type, copy=False).astype(computed, copy=False)
            rhs = rhs.astype(rhs_type, copy=False).astype(computed, copy=False)
            product = convolve(*_ordered(view, lhs, rhs)).astype(result, copy=False)
            return np.asarray(leave(product)).transpose(back)

        return run

    return prepare, "exact in integers"


def _windows_of_floats(view: Convolution, axes: Sequence[Any], threads: int | None) -> Offer:
    enter_lhs, enter_rhs, leave, computed = _conversions(view)
    back = np.argsort(view.output_dimensions)

    def prepare() -> Kernel:
        from ..kernels import convolution

        if not convolution.supports(computed.dtype):
            return _reference_of(view)

        def attempt(zero: float) -> Kernel:
            convolve = _prepared(view, axes, computed.dtype, zero, threads)

            def run(lhs: Array, rhs: Array) -> Array:
                operands = _ordered(view, enter_lhs(lhs), enter_rhs(rhs))
                return np.asarray(leave(convolve(*operands))).transpose(back)

            return run

        return _like_reference(view, attempt)

    return prepare, "windows as rows of matrices, block by block"
