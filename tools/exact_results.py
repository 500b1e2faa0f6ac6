"""Computes exact results of programs with checks, which show whose rounding errors made a check fail.

Every element is an mpmath number of `PRECISION` bits, in which sums and products of a few f32 or f64 are
exact. Fourier transforms are computed in fixed point with as many fractional bits. Only the operations of
the programs that need exact results are implemented.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

from nimblehlo.program.ir import Function, Module, Operation, Value
from nimblehlo.program.ops.contraction.convolution_algorithms import convolve_by_im2col, grouped, ungrouped
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.reduction.window_geometry import Window, window_positions

Array = np.ndarray[Any, Any]

PRECISION = 400


def exact_operands(module: Module, check: Operation) -> list[Array]:
    """The exact operands of a check in @main, as arrays of mpmath numbers."""
    with mpmath.workprec(PRECISION):
        values: dict[Value, Array] = {}
        for operation in module.functions["main"].body.block.operations:
            if operation is check:
                break
            _evaluate(module, operation, values)
        return [values[operand] for operand in check.operands]


def exact(array: Array) -> Array:
    """Floats and complex numbers as mpmath numbers; other arrays unchanged."""
    if array.dtype.kind == "c":
        return _elementwise(mpmath.mpc)(array.real.astype(float), array.imag.astype(float))
    return _elementwise(mpmath.mpf)(array.astype(float)) if array.dtype.kind == "f" else array


def _elementwise(function: Callable[..., Any]) -> Callable[..., Array]:
    """Apply a function of numbers to each element of arrays."""
    return lambda *arrays: np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)


def _call(module: Module, function: Function, operands: Sequence[Array]) -> list[Array]:
    block = function.body.block
    values = dict(zip(block.arguments, operands, strict=True))
    for operation in block.operations[:-1]:
        _evaluate(module, operation, values)
    return [values[operand] for operand in block.terminator.operands]


def _evaluate(module: Module, operation: Operation, values: dict[Value, Array]) -> None:
    """Add the results of an operation to the values."""
    operands = [values[operand] for operand in operation.operands]
    view = Op.of(operation)
    if operation.name == "func.call":
        results = _call(module, module.functions[view.callee], operands)
    elif operation.name in _ELEMENTWISE:
        results = [_elementwise(_ELEMENTWISE[operation.name])(*operands)]
    else:
        results = [_OPERATIONS[operation.name](view, *operands)]
    values.update(zip(operation.results, results, strict=True))


_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "stablehlo.add": lambda a, b: a + b,
    "stablehlo.subtract": lambda a, b: a - b,
    "stablehlo.multiply": lambda a, b: a * b,
    "stablehlo.divide": lambda a, b: a / b,
    "stablehlo.negate": lambda a: -a,
    "stablehlo.power": mpmath.power,
    "stablehlo.sine": mpmath.sin,
    "stablehlo.cosine": mpmath.cos,
    "stablehlo.exponential_minus_one": mpmath.expm1,
    "stablehlo.real": lambda a: a.real,
    "stablehlo.imag": lambda a: a.imag,
    "stablehlo.complex": mpmath.mpc,
    "stablehlo.select": lambda chosen, a, b: a if chosen else b,
    "chlo.cosh": mpmath.cosh,
    "chlo.sinh": mpmath.sinh,
}

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"EQ": lambda a, b: a == b, "NE": lambda a, b: a != b}


def _broadcast(view: Any, operand: Array) -> Array:
    shape = [1] * len(view.result.shape)
    for dimension, size in zip(view.broadcast_dimensions, operand.shape, strict=True):
        shape[dimension] = size
    return np.broadcast_to(operand.reshape(shape), view.result.shape)


def _convolution(view: Any, lhs: Array, rhs: Array) -> Array:
    windows = view.windows(rhs.shape, view.static_padding())
    lhs, rhs = lhs.transpose(view.input_dimensions), rhs.transpose(view.kernel_dimensions)
    counts = [window.count(size) for window, size in zip(windows, lhs.shape[1:-1], strict=True)]
    axes = tuple([axis for axis, is_reversed in enumerate(view.window_reversal) if is_reversed])
    operands = grouped(lhs, np.flip(rhs, axes), view.feature_group_count, view.batch_group_count)
    product = convolve_by_im2col(*operands, windows, counts, np.matmul, np.dtype(object))
    return ungrouped(product).transpose(np.argsort(view.output_dimensions))


def _reduce_window(view: Any, operand: Array, initial: Array) -> Array:
    """With a body of one operation."""
    (body, _) = view.operation.regions[0].block.operations
    combine = np.frompyfunc(_ELEMENTWISE[body.name], 2, 1)
    windows: Sequence[Window] = view.windows
    counts = [window.count(size) for window, size in zip(windows, operand.shape, strict=True)]
    result = np.full(counts, initial.item(), object)
    for spans in window_positions(windows, operand.shape, counts):
        if spans is not None:
            result[spans[0]] = combine(result[spans[0]], operand[spans[1]])
    return result


def _triangular_solve(view: Any, a: Array, b: Array) -> Array:
    """By substitution. With the unknowns on the left, the transposed equation is solved."""
    kind = str(view.transpose_a)
    if kind == "ADJOINT":
        a = _elementwise(mpmath.conj)(a)
    lower = view.lower
    if (kind == "NO_TRANSPOSE") != bool(view.left_side):
        a, lower = a.swapaxes(-1, -2), not lower
    known = b if view.left_side else b.swapaxes(-1, -2)
    size = a.shape[-1]
    result = np.zeros(known.shape, object)
    for row in range(size) if lower else range(size)[::-1]:
        others = slice(0, row) if lower else slice(row + 1, size)
        products = a[..., row, others, None] * result[..., others, :]
        rest = known[..., row, :] - products.sum(axis=-2)
        result[..., row, :] = rest if view.unit_diagonal else rest / a[..., row, row, None]
    return result if view.left_side else result.swapaxes(-1, -2)


def _fft(view: Any, operand: Array) -> Array:
    """Transforms along the last dimensions, one after another, in integers times 2^-PRECISION."""
    sizes, kind = list(view.fft_length), str(view.fft_type)
    re = _fixed_point(_elementwise(lambda x: x.real)(operand))
    im = _fixed_point(_elementwise(lambda x: x.imag)(operand))
    sign = 1 if kind.startswith("I") else -1
    for axis, size in zip(range(-len(sizes), 0), sizes, strict=True):
        is_last = axis == -1
        half = size // 2 + 1
        rows = half if is_last and kind == "IRFFT" else size
        columns = half if is_last and kind == "RFFT" else size
        # Of a real line, values that are conjugates of others count twice.
        counts = [1 if rows == size or k == 0 or 2 * k == size else 2 for k in range(rows)]
        along, across = _roots_of_unity(size)
        turns = np.outer(np.arange(rows), np.arange(columns)) % size
        weights = np.array(counts, object)[:, None]
        cosines, sines = weights * along[turns], weights * (sign * across[turns])
        re, im = np.moveaxis(re, axis, -1), np.moveaxis(im, axis, -1)
        re, im = (re @ cosines - im @ sines) >> PRECISION, (re @ sines + im @ cosines) >> PRECISION
        if sign > 0:
            re, im = re // size, im // size
        re, im = np.moveaxis(re, -1, axis), np.moveaxis(im, -1, axis)
    real = _elementwise(lambda x: mpmath.ldexp(mpmath.mpf(x), -PRECISION))
    return real(re) if kind == "IRFFT" else _elementwise(mpmath.mpc)(real(re), real(im))


def _fixed_point(array: Array) -> Array:
    return _elementwise(lambda x: int(mpmath.nint(mpmath.ldexp(x, PRECISION))))(array)


@functools.cache
def _roots_of_unity(size: int) -> tuple[Array, Array]:
    """The real and imaginary parts of the roots of unity, as integers times 2^-PRECISION."""
    turns = [mpmath.mpf(2 * k) / size for k in range(size)]
    return _fixed_point(np.array([mpmath.cospi(t) for t in turns])), _fixed_point(
        np.array([mpmath.sinpi(t) for t in turns])
    )


_OPERATIONS: dict[str, Callable[..., Array]] = {
    "stablehlo.constant": lambda view: exact(view.value.array),
    "stablehlo.compare": lambda view, a, b: _elementwise(_COMPARISONS[str(view.comparison_direction)])(a, b),
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.convolution": _convolution,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.triangular_solve": _triangular_solve,
    "stablehlo.fft": _fft,
}


def norm(values: Array) -> Any:
    """The Euclidean norm."""
    with mpmath.workprec(PRECISION):
        return mpmath.sqrt(sum(abs(value) ** 2 for value in values.reshape(-1)))


def rounded(values: Array, dtype: Any) -> Array:
    """Exact values, each component rounded to the nearest number of a type."""
    kind = np.dtype(dtype)
    component = np.dtype(f"f{kind.itemsize // 2}") if kind.kind == "c" else kind

    def nearest(x: Any) -> float:
        # Once to the type's own bits: through f64, a number might be rounded twice.
        mantissa = np.finfo(component).nmant + 1
        least = float(np.finfo(component).tiny)
        if abs(x) < least:
            step = mpmath.mpf(float(np.finfo(component).smallest_subnormal))
            return float(mpmath.nint(x / step) * step)
        with mpmath.workprec(mantissa):
            return float(+x)

    with mpmath.workprec(PRECISION):
        if kind.kind == "c":
            components = (_elementwise(get)(values) for get in (lambda x: x.real, lambda x: x.imag))
            re, im = map(_elementwise(nearest), components)
            return (re.astype(float) + 1j * im.astype(float)).astype(kind)
        return _elementwise(nearest)(values).astype(float).astype(kind)
