"""Programs of elementwise operations with 60 digits: the true values where f64 does not tell them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from nimblehlo.checks.error_bounds.wide_types import wide_array
from nimblehlo.program.ir import Function, Module, Operation, Value
from nimblehlo.program.ops import lookup

Array = np.ndarray[Any, Any]

DIGITS = 60
MOST_ELEMENTS = 20_000
"""Larger results are not evaluated: an operation on a number takes some 10 us."""


class NotElementwise(Exception):
    """The program has an operation that is not evaluated here."""


def _sign(z: Any) -> Any:
    return z / abs(z) if z else z


def _cube_root(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


def _logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "stablehlo.abs": abs,
    "stablehlo.add": operator.add,
    "stablehlo.atan2": mp.atan2,
    "stablehlo.cbrt": _cube_root,
    "stablehlo.complex": mp.mpc,
    "stablehlo.cosine": mp.cos,
    "stablehlo.divide": operator.truediv,
    "stablehlo.exponential": mp.exp,
    "stablehlo.exponential_minus_one": mp.expm1,
    "stablehlo.imag": lambda z: mp.mpc(z).imag,
    "stablehlo.log": mp.log,
    "stablehlo.log_plus_one": mp.log1p,
    "stablehlo.logistic": _logistic,
    "stablehlo.maximum": max,
    "stablehlo.minimum": min,
    "stablehlo.multiply": operator.mul,
    "stablehlo.negate": operator.neg,
    "stablehlo.power": mp.power,
    "stablehlo.real": lambda z: mp.mpc(z).real,
    "stablehlo.rsqrt": lambda x: 1 / mp.sqrt(x),
    "stablehlo.sign": _sign,
    "stablehlo.sine": mp.sin,
    "stablehlo.sqrt": mp.sqrt,
    "stablehlo.subtract": operator.sub,
    "stablehlo.tan": mp.tan,
    "stablehlo.tanh": mp.tanh,
    "chlo.acos": mp.acos,
    "chlo.acosh": mp.acosh,
    "chlo.asin": mp.asin,
    "chlo.asinh": mp.asinh,
    "chlo.atan": mp.atan,
    "chlo.atanh": mp.atanh,
    "chlo.cosh": mp.cosh,
    "chlo.digamma": mp.digamma,
    "chlo.erf": mp.erf,
    "chlo.erf_inv": mp.erfinv,
    "chlo.erfc": mp.erfc,
    "chlo.lgamma": lambda x: mp.loggamma(x).real,
    "chlo.sinh": mp.sinh,
    "chlo.square": lambda x: x * x,
    "chlo.tan": mp.tan,
}
"""On real and complex numbers; compositions such as a sign or a maximum on what they are declared for."""
_COMPARISONS = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


def evaluated(module: Module, inputs: Sequence[Array]) -> list[Array]:
    """The results of @main as f64 or complex128, NaN where an operation has no value.

    Raises:
        NotElementwise: the program has other than elementwise operations on floats, or is too large.
    """
    with mpmath.workdps(DIGITS):
        arguments = [_numbers(value) for value in inputs]
        results = _called(module, module.functions["main"], arguments)
        wanted = [type.dtype for type in module.functions["main"].type.results]
        return [_rounded(result, dtype.kind == "c") for result, dtype in zip(results, wanted, strict=True)]


def _numbers(array: Array) -> Array:
    if array.size > MOST_ELEMENTS:
        raise NotElementwise(f"{array.size} elements")
    wide = wide_array(array)
    if wide.dtype.kind not in "bcf":
        raise NotElementwise("integers")
    number = {"b": bool, "c": mp.mpc, "f": mp.mpf}[wide.dtype.kind]
    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(number, 1, 1)(wide.astype(object)), object)


def _rounded(array: Array, is_complex: bool) -> Array:
    convert, dtype = (complex, np.complex128) if is_complex else (float, np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(convert, 1, 1)(array)).astype(dtype)


def _called(module: Module, function: Function, arguments: Sequence[Array]) -> list[Array]:
    assert function.body is not None
    block = function.body.block
    values: dict[Value, Array] = dict(zip(block.arguments, arguments, strict=True))
    for operation in block.operations[:-1]:
        operands = [values[operand] for operand in operation.operands]
        values.update(zip(operation.results, _results(module, operation, operands), strict=True))
    return [values[operand] for operand in block.terminator.operands]


def _results(module: Module, operation: Operation, operands: Sequence[Array]) -> list[Array]:
    name = operation.name
    if name == "func.call":
        callee: Any = operation.attributes["callee"]
        return _called(module, module.functions[callee.root], operands)
    declaration = lookup(name)
    assert declaration is not None
    view: Any = declaration(operation)
    shape = operation.results[0].type.shape
    if name == "stablehlo.constant":
        value: Any = operation.attributes["value"]
        return [_numbers(value.array)]
    if name in ("stablehlo.convert", "stablehlo.reshape"):
        if operation.results[0].type.category != operation.operands[0].type.category:
            raise NotElementwise(name)
        return [np.asarray(operands[0], object).reshape(shape)]
    if name == "stablehlo.broadcast_in_dim":
        sizes = [1] * len(shape)
        for size, position in zip(operands[0].shape, view.broadcast_dimensions, strict=True):
            sizes[position] = size
        return [np.broadcast_to(operands[0].reshape(sizes), shape)]
    if name == "stablehlo.select":
        return [np.where(np.asarray(operands[0], bool), operands[1], operands[2])]
    if name == "stablehlo.compare":
        function: Callable[..., Any] = _COMPARISONS[view.comparison_direction]
    elif name in _FUNCTIONS:
        function = _FUNCTIONS[name]
    else:
        raise NotElementwise(name)
    return [np.asarray(np.frompyfunc(_defined(function), len(operands), 1)(*operands), object).reshape(shape)]


def _defined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with NaN where it has no value."""

    def evaluate(*numbers: Any) -> Any:
        try:
            return function(*numbers)
        except (ZeroDivisionError, ValueError, OverflowError, TypeError, mpmath.libmp.NoConvergence):
            return mp.nan

    return evaluate
