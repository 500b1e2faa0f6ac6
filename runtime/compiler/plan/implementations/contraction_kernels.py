"""The kernels for products: `dot_general`, `dot` and `convolution`.

Products of floats (`float_matmul`), products of low-precision numbers (`low_precision_matmul`) and
convolutions of floats (`convolution_algorithms`) are compiled ahead of time. References call them on one
thread, and kernels on several.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....program.ir.affine import row_major_strides
from ....program.ops.contraction.base import Contraction
from ....program.ops.contraction.float_matmul import complex_product, fastest_matmul, has_native_matmul
from ....program.ops.contraction.low_precision_matmul import implementation_of
from ....program.ops.contraction.matmul import multiplier, narrow_order
from ....program.ops.framework.rules import constant_operand
from ....program.ops.numerics.element_types import carrier, rounding
from ....types import COMPLEX, FLOAT, INTEGER, Array, DType, TensorType
from ...implementation import Runnable
from .kernel import KernelImplementation, KernelMatch

if TYPE_CHECKING:
    from ....kernels.launch.block_code import BlockCode
    from ....program.ir import Operation
    from ....program.ops.contraction.convolution import Convolution
    from ....program.ops.reduction.window_geometry import Window

BatchedShapes = tuple[list[int], list[int]]

_MIN_MULTIPLICATIONS: Final = 1 << 15
"""Minimum multiplications of a kernel that is worth a launch on threads."""
_MIN_UNBATCHED_MULTIPLICATIONS: Final = 1 << 18
"""Minimum multiplications of a product of float matrices on threads; the reference computes smaller
products."""
_MIN_BATCH: Final = 4
_MAX_CONSTANT_BYTES: Final = 1 << 30
"""Maximum bytes of the constants of which copies are kept for one operation of an outlined function."""
_MIN_MATRIX_UNIT_OUTPUTS: Final = 16
"""Minimum output features of a group for which the matrix unit convolves integers."""


def contraction(view: Contraction, threads: int | None) -> KernelMatch:
    """The kernel of a product: integer, complex, low-precision or float matrices, or the reason for none."""
    if view.algorithm is not None:
        return "a dot algorithm"
    shapes = _batched_shapes(view, view.lhs.shape, view.rhs.shape)
    (batch, rows, k), columns = shapes[0], shapes[1][2]
    if batch * rows * k * columns < _MIN_MULTIPLICATIONS:
        return "too small for a kernel"
    element_types = (view.lhs.element_type, view.rhs.element_type, view.result.element_type)
    if all(type.category & INTEGER for type in element_types):
        return _integer_matmul(view, shapes, threads)
    if all(type.category & COMPLEX for type in element_types):
        return _complex_matmul(view, threads)
    if not all(type.category & FLOAT for type in element_types):
        return "no kernel for these element types"
    if view.multiplies_narrow_floats:
        return _low_precision_matmul(view, threads)
    if batch < _MIN_BATCH and batch * rows * k * columns < _MIN_UNBATCHED_MULTIPLICATIONS:
        return "too small for a kernel"
    return _float_matmul(view, shapes, threads)


def _batched_shapes(view: Contraction, lhs: Sequence[int], rhs: Sequence[int]) -> BatchedShapes:
    """The shapes of operands of these shapes as [batch, row, k] and [batch, k, column]."""
    lhs_groups = (view.lhs_batching_dimensions, view.lhs_result_dimensions, view.lhs_contracting_dimensions)
    rhs_groups = (view.rhs_batching_dimensions, view.rhs_contracting_dimensions, view.rhs_result_dimensions)
    return (
        [math.prod([lhs[d] for d in dims]) for dims in lhs_groups],
        [math.prod([rhs[d] for d in dims]) for dims in rhs_groups],
    )


def _low_precision_matmul(view: Contraction, threads: int | None) -> KernelMatch:
    """Match a product of bf16 or a narrower float with the reference's kernel, on threads."""
    is_rhs_constant = _is_rhs_constant(view) and not view.rhs_batching_dimensions

    def bind(multiply: Callable[..., Array] | None) -> Runnable:
        assert multiply is not None
        shape = view.result.shape
        stack = view.stacker(view.lhs.shape, view.rhs.shape, threads)

        def run(a: Array, b: Array) -> Array:
            return multiply(*stack(a, b), threads).reshape(shape)

        return run

    def bind_constant() -> Runnable:
        lhs, rhs, result = (type.plain_element_type for type in (view.lhs, view.rhs, view.result))
        return bind(multiplier(lhs, rhs, result, order=narrow_order(view), is_rhs_constant=True))

    def prepare() -> Runnable:
        return _by_constant(view, bind_constant) if is_rhs_constant else bind(view.multiply)

    return KernelImplementation(prepare, _low_precision_reason(view), is_compiled_ahead=True)


def _low_precision_reason(view: Contraction | Convolution) -> str:
    """The implementation of a product of bf16 or a narrower float, for `Executable.explain`."""
    order = narrow_order(view)
    assert order is not None
    return implementation_of(order) or "products of f32, in the order of matrix units"


def _integer_matmul(view: Contraction, shapes: BatchedShapes, threads: int | None) -> KernelMatch:
    from ....kernels.matmul import integer_matmul

    lhs, rhs, result = (carrier(type.plain_element_type) for type in (view.lhs, view.rhs, view.result))
    implementation = integer_matmul.implementation_of(lhs, rhs, result, shapes[0][2])

    def prepare() -> Runnable:
        multiply_stacks = integer_matmul.prepare(*shapes, lhs, rhs, result, threads=threads)
        stack, shape = view.stacker(view.lhs.shape, view.rhs.shape, threads), view.result.shape
        convert_lhs, convert_rhs = _chained_astype(view.lhs.dtype, lhs), _chained_astype(view.rhs.dtype, rhs)
        to_result = _to_result_type(result, view.result)

        def run(a: Array, b: Array) -> Array:
            return to_result(multiply_stacks(*stack(convert_lhs(a), convert_rhs(b)))).reshape(shape)

        return run

    reason = "exact integer GEMM" if implementation is None else implementation.name
    return KernelImplementation(prepare, reason, is_compiled_ahead=True)


def _uses_matrix_unit(lhs: DType, rhs: DType, result: DType, k: int) -> bool:
    """Whether the processor's matrix unit multiplies these integers; its sums are modulo 2 ** 32."""
    from ....kernels.matmul import integer_matmul, low_precision_matmul

    if any(dtype.kind not in "iu" for dtype in (lhs, rhs)):
        return False
    implementation = integer_matmul.implementation_of(lhs, rhs, result, k)
    return implementation is not None and implementation.name == low_precision_matmul.AMX


def _chained_astype(*types: DType) -> Callable[[Array], Array]:
    """Conversions of arrays from the first NumPy type to each other type in turn."""
    dtype_chain = [type for previous, type in itertools.pairwise(types) if type != previous]
    if not dtype_chain:
        return lambda array: array
    first, *later = dtype_chain
    convert = operator.methodcaller("astype", first)
    return (lambda array: functools.reduce(np.ndarray.astype, later, convert(array))) if later else convert


def _to_result_type(computed: DType, result: TensorType) -> Callable[[Array], Array]:
    """The conversion of computed integers to the type of the result."""
    held = carrier(result.plain_element_type)
    to_carrier = _chained_astype(computed, held)
    if held == result.dtype:
        return lambda array: np.asarray(to_carrier(array))
    to_result = rounding(held, result.plain_element_type)
    return lambda array: np.asarray(to_result(to_carrier(array)))


def _float_matmul(view: Contraction, shapes: BatchedShapes, threads: int | None) -> KernelMatch:
    """Match a product of floats with the reference's kernel, on threads."""
    if not has_native_matmul():
        return "BLAS computes the product"

    is_vector = 1 in (shapes[0][1], shapes[1][2])

    def prepare() -> Runnable:
        from ....kernels.matmul.matmul import ConstantProduct

        (_, rows, k), (_, _, columns) = shapes
        if not is_vector and _packs_rhs_once(view, rows, k):
            return _by_constant(view, lambda: _bound(view, ConstantProduct(threads), threads))
        return _bound(view, fastest_matmul(rows, k, columns, threads), threads)

    prepare_for_loops = functools.partial(_launched_product, view, threads)
    reason = "GEMV" if is_vector else "blocked GEMM"
    return KernelImplementation(prepare, reason, True, make_for_loops=prepare_for_loops)


def _launched_product(view: Contraction, threads: int | None) -> Runnable | None:
    """A product of floats as a launch, which native loops call without objects of Python's; None: it converts
    or copies operands."""
    types = {view.lhs.dtype, view.rhs.dtype, view.result.dtype}
    sizes = view.sizes(view.lhs.shape, view.rhs.shape)
    if types not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        return None
    if len(sizes.contracted) != 1 or max(len(sizes.rows), len(sizes.columns)) > 1:
        return None
    lhs, rhs = [
        _layout(type).transpose(order) for type, order in zip((view.lhs, view.rhs), view.orders, strict=True)
    ]
    # Stacks of matrices, also of one row or one column.
    lhs, rhs = lhs if sizes.rows else lhs[..., None, :], rhs if sizes.columns else rhs[..., None]
    if 1 in (lhs.shape[-2], rhs.shape[-1]):
        from ....kernels.matmul.gemv import launched_product
    else:
        from ....kernels.matmul.matmul import launched_product
    return launched_product(lhs, rhs, threads)


def _layout(type: TensorType) -> Array:
    """A C-contiguous array of a type, of which only the layout counts: its memory holds one element."""
    strides = [stride * type.dtype.itemsize for stride in row_major_strides(type.shape)]
    return np.lib.stride_tricks.as_strided(np.zeros(1, type.dtype), type.shape, strides, writeable=False)


def _packs_rhs_once(view: Contraction, rows: int, k: int) -> bool:
    """Whether rhs is a constant matrix that is packed once for all calls."""
    from ....kernels.matmul.matmul import packs_once

    return _is_rhs_constant(view) and not view.rhs_batching_dimensions and bool(packs_once(rows, k))


def _is_rhs_constant(view: Contraction | Convolution) -> bool:
    """Whether rhs is a constant, or an argument for which each call of an outlined function has one."""
    return constant_operand(view.operation, 1) is not None or 1 in view.constant_arguments


def _by_constant(view: Contraction | Convolution, make: Callable[[], Runnable]) -> Runnable:
    """What `make` gives for each constant rhs: a function of lhs, rhs and the operands of an epilogue that
    keeps a packed copy of rhs.
    """
    return _ByConstant(lambda _: make()) if 1 in view.constant_arguments else make()


class _ByConstant:
    """A function for each constant rhs: calls of an outlined function share its steps, and each passes
    constants of its own.

    Args:
        make: gives the function for a constant.
    """

    def __init__(self, make: Callable[[Array], Runnable]) -> None:
        self.make = make
        self.functions: dict[int, tuple[Array, Runnable]] = {}

    def function_of(self, rhs: Array) -> Runnable:
        """The function for a constant."""
        entry = self.functions.get(id(rhs))
        if entry is None:
            entry = rhs, self.make(rhs)
            # Calls take turns, so that a copy which is dropped for another one would be made at each call.
            kept_bytes = sum([constant.nbytes for constant, _ in self.functions.copy().values()])
            if kept_bytes + rhs.nbytes <= _MAX_CONSTANT_BYTES:
                # The reference keeps the id from being given to another array.
                self.functions[id(rhs)] = entry
        return entry[1]

    def __call__(self, lhs: Array, rhs: Array, *others: Array) -> Array:
        result: Array = self.function_of(rhs)(lhs, rhs, *others)
        return result


def matmul_with_epilogue(view: Contraction, code: BlockCode, position: int, threads: int | None) -> Runnable:
    """A product of floats by one matrix and the code that consumes it, as one launch.

    Args:
        view: the product.
        code: the code.
        position: the number of the product among the code's operands; the others follow those of the product.
        threads: maximum number of threads; None: all.
    """
    from ....kernels.matmul.matmul import MatmulWithEpilogue

    transposed = (view.lhs_contracting_dimensions == (0,), view.rhs_contracting_dimensions == (1,))
    is_constant = _is_rhs_constant(view)

    def make() -> Runnable:
        return MatmulWithEpilogue(code, position, transposed, is_constant, threads)

    multiply = _by_constant(view, make) if is_constant else make()
    if view.lhs.rank == 2:
        return multiply
    k, shape = view.lhs.shape[-1], view.result.shape
    return lambda lhs, rhs, *others: multiply(lhs.reshape(-1, k), rhs, *others).reshape(shape)


def _complex_matmul(view: Contraction, threads: int | None) -> KernelMatch:
    """Match a complex product with the reference's kernel, on threads."""
    multiply_stacks = functools.partial(complex_product, threads=threads)
    return KernelImplementation(
        lambda: _bound(view, multiply_stacks, threads), "complex GEMM from real GEMMs", True
    )


def _bound(
    view: Contraction, multiply_stacks: Callable[[Array, Array], Array], threads: int | None
) -> Runnable:
    """The contraction of operands of the view's types by a product of stacks of matrices."""
    lhs, rhs, result = (type.plain_element_type for type in (view.lhs, view.rhs, view.result))
    multiply = multiplier(lhs, rhs, result, multiply_stacks)
    assert multiply is not None
    function = view.bind_with(multiply, threads)
    assert function is not None
    return function


def convolution(view: Convolution, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.convolution.convolution`: products of windows with rhs, and scaled elements."""
    padding = view.static_padding()
    windows = view.windows(view.rhs.shape, padding)
    types = [type.element_type for type in (view.lhs, view.rhs, view.result)]
    if all(type.category & INTEGER for type in types):
        return _integer_convolution(view, windows, threads)
    if not view.is_float:
        return "no kernel for these element types"
    return _float_convolution(view, windows, threads)


def _float_convolution(view: Convolution, windows: Sequence[Window], threads: int | None) -> KernelMatch:
    """Match a float convolution with the depthwise kernel or the reference's kernel, on threads."""
    padding = view.static_padding()

    def run(lhs: Array, rhs: Array) -> Array:
        return view.convolve(lhs, rhs, padding, threads=threads)

    depthwise = (
        _depthwise_kernel(view, windows, view.conversions[-1].dtype, threads) if view.is_depthwise else None
    )
    if depthwise is None:
        from ....program.ops.contraction.convolution_algorithms import is_winograd

        convolve_by_loops = _convolution_by_loops(view, windows, threads)
        if convolve_by_loops is not None:
            uses_winograd = is_winograd(view, windows, view.lhs.shape, view.rhs.shape)
            reason = "Winograd's algorithm, 2x2 windows at a time" if uses_winograd else "direct convolution"
            launch = functools.partial(_launched_convolution, view, threads)
            return KernelImplementation(lambda: convolve_by_loops, reason, True, make_for_loops=launch)
        if narrow_order(view) is not None:
            return KernelImplementation(lambda: run, _low_precision_reason(view), is_compiled_ahead=True)
        return "no loops for this processor"
    convert_lhs, convert_rhs, from_accumulator, _ = view.conversions

    from ....kernels.convolution.convolution import are_finite

    def run_depthwise(lhs: Array, rhs: Array) -> Array:
        if not are_finite(rhs):
            return run(lhs, rhs)
        return np.asarray(from_accumulator(depthwise(convert_lhs(lhs), convert_rhs(rhs))))

    launch = functools.partial(_launched_convolution, view, threads, depthwise)
    return KernelImplementation(lambda: run_depthwise, "depthwise convolution", True, make_for_loops=launch)


def _launched_convolution(
    view: Convolution, threads: int | None, convolve_finite: Runnable | None = None
) -> Runnable | None:
    """A convolution of floats as a launch, which native loops call without objects of Python's; None: it
    converts operands.

    Args:
        convolve_finite: its kernel for factors that are finite; None: the one for all factors.
    """
    from ....program.ops.contraction.convolution_algorithms import native_convolution

    def kernel() -> Runnable:
        windows = view.windows(view.rhs.shape, view.static_padding())
        convolve = native_convolution(view, windows, view.lhs.shape, view.rhs.shape, threads, may_copy=False)
        assert convolve is not None
        return convolve

    return _launched(view, view.conversions[-1].dtype, kernel, threads, convolve_finite)


def _launched(
    view: Convolution,
    computed: DType,
    kernel: Callable[[], Runnable],
    threads: int | None,
    convolve_finite: Runnable | None = None,
) -> Runnable | None:
    """The convolution by a kernel as a launch; None: it converts operands from or to the computed type.

    Args:
        kernel: makes the kernel, which copies no operands.
        convolve_finite: see `_launched_convolution`.
    """
    from ....kernels.convolution.launched import launched_convolution

    types = [view.lhs, view.rhs, view.result]
    if any(type.dtype != computed for type in types):
        return None
    return launched_convolution(kernel(), [_layout(type) for type in types], threads, convolve_finite)


def stores_rows(operation: Operation) -> bool:
    """Whether an operation is a convolution of floats of one type that stores rows of features."""
    from ....program.ops.contraction.convolution import Convolution  # here, as many programs have none

    if operation.name != Convolution.name:
        return False
    view = Convolution.of(operation)
    types = [view.lhs, view.rhs, view.result]
    if not view.is_float or not all(type.is_static and type.size for type in types):
        return False
    if any(type.dtype != view.conversions[-1].dtype for type in types):
        return False
    return view.output_feature_dimension == view.result.rank - 1 and view.batch_group_count == 1


def convolution_with_epilogue(
    view: Convolution,
    convolve: Runnable,
    code: BlockCode,
    position: int,
    threads: int | None,
    apply: Runnable,
    in_two_steps: Runnable,
) -> Runnable:
    """A convolution that `stores_rows` and the code that consumes it, as one launch where kernels allow it.

    Args:
        view: the convolution.
        convolve: its kernel, whose packed constants are shared.
        code: the code.
        position: the number of the convolution's result among the code's operands.
        threads: maximum number of threads; None: all.
        apply: the code as a function of arrays.
        in_two_steps: the function of lhs, rhs and the code's other operands, for other kernels.
    """
    from ....kernels.convolution.convolution import are_finite
    from ....kernels.convolution.convolution_tasks import CachedByStrides, ConvolutionWithEpilogue

    def join(convolve: Runnable | None) -> Runnable:
        if not isinstance(convolve, CachedByStrides):
            return in_two_steps
        return ConvolutionWithEpilogue(convolve, code, apply, position)

    if isinstance(convolve, _ByConstant):
        by_constant = convolve
        return _ByConstant(lambda rhs: join(by_constant.function_of(rhs)))
    if isinstance(convolve, CachedByStrides) or not view.is_depthwise:
        return join(convolve)
    windows = view.windows(view.rhs.shape, view.static_padding())
    joined = join(_depthwise_kernel(view, windows, view.result.dtype, threads))
    return lambda lhs, rhs, *others: (joined if are_finite(rhs) else in_two_steps)(lhs, rhs, *others)


def _convolution_by_loops(
    view: Convolution, windows: Sequence[Window], threads: int | None
) -> Runnable | None:
    """The convolution by loops that multiply windows with rhs; None if there are none."""
    from ....program.ops.contraction.convolution_algorithms import native_convolution

    arguments = view, windows, view.lhs.shape, view.rhs.shape, threads
    convolve: Runnable | None = native_convolution(*arguments)
    if convolve is None or not _is_rhs_constant(view):
        return convolve

    def convolve_by_constant() -> Runnable:
        function = native_convolution(*arguments, is_rhs_constant=True)
        assert function is not None
        return function

    return _by_constant(view, convolve_by_constant)


def _depthwise_kernel(
    view: Convolution, windows: Sequence[Window], dtype: DType, threads: int | None
) -> Runnable | None:
    """The kernel of a depthwise convolution in this type; None if there is none."""
    from ....kernels.convolution import convolution, depthwise

    shapes, axes, numbers = _kernel_geometry(view, windows)
    if not convolution.supports(shapes, dtype):
        return None
    return depthwise.prepare(shapes, axes, numbers, dtype, threads=threads)


def _kernel_geometry(view: Convolution, windows: Sequence[Window]) -> tuple[Any, Any, Any]:
    """The arguments of the convolution kernels that describe the shapes."""
    from ....program.ops.contraction.convolution_algorithms import axes, numbers

    shapes = (view.lhs.shape, view.rhs.shape, view.result.shape)
    return shapes, axes(view, windows, view.lhs.shape), numbers(view)


def _integer_convolution(
    view: Convolution, windows: Sequence[Window], threads: int | None
) -> KernelMatch:
    from ....kernels.convolution import convolution, depthwise
    from ....kernels.matmul import low_precision_matmul

    result = carrier(view.result.plain_element_type)
    computed = np.dtype(np.int32 if result.itemsize <= 4 else np.int64)
    lhs_type, rhs_type = carrier(view.lhs.plain_element_type), carrier(view.rhs.plain_element_type)
    groups = max(view.feature_group_count, view.batch_group_count)
    outputs = view.rhs.shape[view.kernel_output_feature_dimension] // groups
    k = math.prod(view.rhs.shape) // max(1, outputs * groups)
    if outputs >= _MIN_MATRIX_UNIT_OUTPUTS and _uses_matrix_unit(lhs_type, rhs_type, result, k):
        return KernelImplementation(
            lambda: _integer_convolution_on_matrix_unit(view, lhs_type, rhs_type, threads),
            low_precision_matmul.AMX,
            is_compiled_ahead=True,
        )
    if not convolution.supports(_kernel_geometry(view, windows)[0], computed):
        return "no loops for this processor, or no elements"
    has_one_feature = view.rhs.shape[view.kernel_input_feature_dimension] == 1
    is_depthwise = has_one_feature and outputs == view.batch_group_count == 1

    def kernel(may_copy: bool = True) -> Runnable:
        if is_depthwise:
            return depthwise.prepare(*_kernel_geometry(view, windows), computed, threads=threads)
        return convolution.prepare(
            *_kernel_geometry(view, windows),
            computed,
            feature_group_count=view.feature_group_count,
            batch_group_count=view.batch_group_count,
            threads=threads,
            may_copy=may_copy,
        )

    def prepare() -> Runnable:
        convolve = kernel()
        convert_lhs = _chained_astype(view.lhs.dtype, lhs_type, computed)
        convert_rhs = _chained_astype(view.rhs.dtype, rhs_type, computed)
        to_result = _to_result_type(computed, view.result)
        return lambda lhs, rhs: to_result(convolve(convert_lhs(lhs), convert_rhs(rhs)))

    def launch() -> Runnable | None:
        return _launched(view, computed, lambda: kernel(may_copy=False), threads)

    return KernelImplementation(prepare, "exact integer convolution", True, make_for_loops=launch)


def _integer_convolution_on_matrix_unit(
    view: Convolution, lhs_type: DType, rhs_type: DType, threads: int | None
) -> Runnable:
    """The reference's convolution, with products by the matrix unit."""
    convert_lhs = _chained_astype(view.lhs.dtype, lhs_type)
    convert_rhs = _chained_astype(view.rhs.dtype, rhs_type)
    to_result = _to_result_type(np.dtype(np.int32), view.result)

    def multiply(a: Array, b: Array) -> Array:
        from ....kernels.matmul.low_precision_matmul import Product

        multiply_stacks: Runnable = Product(a.shape, b.shape, lhs_type, rhs_type, np.int32, threads)
        return to_result(multiply_stacks(a, b))

    return lambda lhs, rhs: view.convolve(
        convert_lhs(lhs), convert_rhs(rhs), view.static_padding(), multiply
    )
