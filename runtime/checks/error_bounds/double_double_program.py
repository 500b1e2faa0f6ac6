"""Runs programs of f64 in double-double arithmetic: each result is a sum of two f64 numbers.

`wide_types` is for programs of narrower types, which run in f64. Here the program runs with complex<f64> in
place of f64, whose two components are such a sum (`double_double`), so that control flow and data movement
run as they do elsewhere. Basic operations and reductions have code of their own. Products of matrices,
convolutions and sums of windows and updates run on slices of their operands, on which f64 makes no rounding
error. Functions are evaluated element by element with mpmath, where it is installed.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...compiler.implementation import ImplementationKind
from ...compiler.plan import Implementation, Prepared, choose
from ...errors import UnsupportedError
from ...execution.program import Program
from ...options import Options
from ...program.ir import (
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    StringAttribute,
    Value,
    copy_region,
    tensor_type,
)
from ...program.ops.custom_calls.custom_call import CustomCall
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.reduction.bodies import monoid
from ...program.ops.reduction.reduce import Reduce
from ...types import COMPLEX, ELEMENT_TYPES, FLOAT, Array, FunctionType, TensorType, Type
from . import double_double
from .magnitudes import executable_of
from .monte_carlo import static_function
from .operation_kinds import category

MAX_STEPS: Final = 20_000
"""Steps of a run: each costs some ten times what it costs in f64."""
MAX_ELEMENTS: Final = 1 << 21
"""Elements of all values that a program names; larger programs would take seconds."""
MAX_FUNCTION_VALUES: Final = 20_000
"""Values of functions that a run evaluates with mpmath, of which each takes some 50 us."""
MAX_SLICES: Final = 8
"""Slices of an operand of a product; more are needed where its elements differ by many powers of two."""
PRECISION: Final = 140
"""Bits of mpmath's numbers: more than 106, and those that functions lose near their zeros."""

Evaluate = Callable[..., Any]

CARRIER: Final = "carrier"
"""The rule of data movement and control flow, which run on the carriers as they do elsewhere."""
MPMATH: Final = "mpmath."
"""What the names of rules begin with that are functions of mpmath."""

_COMPARISONS: Final[dict[str, Evaluate]] = {
    "EQ": double_double.is_equal,
    "NE": lambda a, b: ~double_double.is_equal(a, b),
    "LT": double_double.is_less,
    "LE": lambda a, b: double_double.is_less(a, b) | double_double.is_equal(a, b),
    "GT": lambda a, b: double_double.is_less(b, a),
    "GE": lambda a, b: double_double.is_less(b, a) | double_double.is_equal(a, b),
}
_REDUCTIONS: Final[dict[str, Evaluate]] = {
    "add": double_double.add,
    "maximum": double_double.maximum,
    "minimum": double_double.minimum,
    "multiply": double_double.multiply,
}


def results_in_double_double(
    module: Module, entry: str, arguments: Sequence[Array], options: Options
) -> list[Array]:
    """A program's results, those of f64 as complex128 that hold sums of two f64 numbers.

    Args:
        module: a verified program.
        entry: the function to run.
        arguments: arrays of the types of its arguments.
        options: of the run.

    Raises:
        UnsupportedError: it has other floats than f64, is large, or has operations that are not evaluated so.
        NimbleError: the run fails.
    """
    return _DoubleDoubleProgram(static_function(module, entry, arguments), options).run(arguments)


class _DoubleDoubleProgram:
    """A function on sums of two f64 numbers."""

    def __init__(self, function: Function, options: Options) -> None:
        self._calls: dict[int, Operation] = {}
        self._remaining = MAX_FUNCTION_VALUES
        self._check(function)
        function_in_double_double = self._in_double_double(function)
        limited = replace(options, compile="never", sanitize=False, max_steps=MAX_STEPS)
        self._program = Program(function_in_double_double, limited, self._choose)

    def run(self, arguments: Sequence[Array]) -> list[Array]:
        inputs = [double_double.from_array(one) if one.dtype == np.float64 else one for one in arguments]
        return [np.asarray(one) for one in self._program.run(tuple(inputs))]

    def _check(self, function: Function) -> None:
        assert function.body is not None
        values: list[Value] = list(function.body.block.arguments)
        values += [result for one in function.body.walk() for result in one.results]
        for value in values:
            if category(value) & (FLOAT | COMPLEX) and not _is_f64(value.type):
                raise UnsupportedError(f"a value of type {value.type} is not evaluated in wider arithmetic")
        sizes = [one.type.size for one in values if isinstance(one.type, TensorType) and one.type.is_static]
        if sum(sizes) > MAX_ELEMENTS:
            raise UnsupportedError(f"more than {MAX_ELEMENTS} elements are not evaluated in wider arithmetic")

    def _in_double_double(self, function: Function) -> Function:
        assert function.body is not None
        inputs = [_carrier_type(type) for type in function.type.inputs]
        results = [_carrier_type(type) for type in function.type.results]
        body = copy_region(function.body, {}, self._emit, _carrier_type)
        return Function(function.name, FunctionType(inputs, results), body)

    def _emit(self, builder: Builder, operation: Operation, values: MutableMapping[Value, Value]) -> None:
        """Append an operation on double-doubles: a call that `_choose` implements, or itself."""
        operands = [values[operand] for operand in operation.operands]
        types = [_carrier_type(result.type) for result in operation.results]
        if _computes_on_f64(operation):
            # A call takes the types that the operation itself may not.
            target = {"call_target_name": StringAttribute(operation.name)}
            created = builder.create(CustomCall.name, operands, types, target, (), operation.location)
            self._calls[id(created)] = operation
        else:
            regions = [copy_region(inner, values, self._emit, _carrier_type) for inner in operation.regions]
            attributes = _carrier_attributes(operation)
            created = builder.create(operation.name, operands, types, attributes, regions, operation.location)
        values.update(zip(operation.results, created.results, strict=True))

    def _choose(self, view: Op, options: Options) -> Implementation:
        original = self._calls.get(id(view.operation))
        if original is None:
            return choose(view, options)
        return Prepared(self._evaluator(original), ImplementationKind.WIDER, takes_regions=False)

    def _evaluator(self, operation: Operation) -> Evaluate:
        """The function that an operation applies to its operands."""
        view = Op.of(operation)
        if view.wider.startswith(MPMATH):
            return functools.partial(self._function, operation)
        evaluator = _RULES[view.wider](operation) if view.wider in _RULES else _BASIC.get(view.wider)
        if evaluator is None:
            raise UnsupportedError(f"{operation.name} is not evaluated in wider arithmetic")
        return evaluator

    def _function(self, operation: Operation, *operands: Array) -> Array:
        """A function of elements, by mpmath; f64's result where that is not finite."""
        plain = np.asarray(Op.of(operation).reference(*[one.real for one in operands]))
        self._remaining -= plain.size
        if self._remaining < 0:
            raise UnsupportedError(
                f"more than {MAX_FUNCTION_VALUES} values of functions are not evaluated in wider arithmetic"
            )
        mpmath = _mpmath()
        name = declaration_of(operation).wider.removeprefix(MPMATH)
        evaluate = COMPOSED[name](mpmath) if name in COMPOSED else getattr(mpmath, name)
        result = double_double.from_array(plain)
        broadcast = np.broadcast_arrays(*operands) if operands else []
        finite = np.isfinite(plain)
        for one in broadcast:
            finite &= np.isfinite(one.real)
        with mpmath.workprec(PRECISION):
            for index in np.argwhere(finite):
                position = tuple(index)
                values = [mpmath.mpf(float(x[position].real)) + float(x[position].imag) for x in broadcast]
                exact = evaluate(*values)
                high = float(exact)
                result[position] = complex(high, float(exact - high) if math.isfinite(high) else 0.0)
        return result


def _mpmath() -> Any:
    try:
        return importlib.import_module("mpmath")
    except ImportError:
        raise UnsupportedError("wider arithmetic needs mpmath: pip install 'nimblehlo[accuracy]'") from None


def _computes_on_f64(operation: Operation) -> bool:
    """Whether an operation takes or returns f64, and is neither data movement nor control flow."""
    if declaration_of(operation).wider == CARRIER:
        return False
    return any(_is_f64(one.type) for one in (*operation.operands, *operation.results))


def _is_f64(type: Type) -> bool:
    return isinstance(type, TensorType) and type.element_type == ELEMENT_TYPES["f64"]


def _carrier_type(type: Type) -> Type:
    if isinstance(type, TensorType) and _is_f64(type):
        return type.with_element_type(ELEMENT_TYPES["complex<f64>"])
    return type


def _carrier_attributes(operation: Operation) -> dict[str, Any]:
    attributes = dict(operation.attributes)
    value = operation.constant_value
    if value is not None:
        type = _carrier_type(value.type)
        assert isinstance(type, TensorType)
        if type != value.type:
            attributes["value"] = DenseElementsAttribute(type, double_double.from_array(value.array))
    return attributes


def _compare(operation: Operation) -> Evaluate:
    return _COMPARISONS[str(operation.attributes["comparison_direction"].value)]  # type: ignore[union-attr]


def _convert(operation: Operation, operand: Array) -> Array:
    """Convert integers and booleans to f64, or back."""
    if not np.iscomplexobj(operand):
        return double_double.from_array(operand)
    result = tensor_type(operation.results[0])
    if _is_f64(result):
        return operand
    truncated = operand if result.dtype == np.bool_ else double_double.truncate(operand)
    return np.asarray(Op.of(operation).reference(truncated.real))


def _reduce(view: Reduce, combine: Evaluate, operand: Array, init_value: Array) -> Array:
    """A reduction, by a balanced tree."""
    layout = view.layout
    ordered = operand if layout.permutation is None else operand.transpose(layout.permutation)
    rows = np.moveaxis(np.ascontiguousarray(ordered).reshape(layout.sizes), 1, 0)
    reduced = double_double.reduce_tree(combine, rows)
    result = np.broadcast_to(init_value, layout.sizes[::2])
    return np.asarray(result if reduced is None else combine(reduced, result)).reshape(layout.result_shape)


def _product(operation: Operation, *operands: Array) -> Array:
    """A product of two operands: the sum of the products of their slices, which are exact in f64."""
    bits = (53 - _term_bits(operands)) // 2 - 1
    lhs, rhs = [double_double.exact_slices(one, bits, MAX_SLICES) for one in operands]
    return _exact_sum(operation, [[a, b] for a in lhs for b in rhs])


def _sum(operation: Operation, *operands: Array) -> Array:
    """A sum of elements of the operands: the sum of the sums of their slices, which are exact in f64."""
    wide = [index for index, one in enumerate(operands) if np.iscomplexobj(one)]
    flat = np.concatenate([operands[index].ravel() for index in wide])
    terms: list[list[Array]] = []
    for cut in double_double.exact_slices(flat, 53 - _term_bits(operands) - 1, MAX_SLICES):
        ends = np.cumsum([operands[index].size for index in wide])[:-1]
        arrays = list(operands)
        for index, one in zip(wide, np.split(cut, ends), strict=True):
            arrays[index] = one.reshape(operands[index].shape)
        terms.append(arrays)
    return _exact_sum(operation, terms)


def _term_bits(operands: Sequence[Array]) -> int:
    """The number of bits by which a sum over the largest operand may grow."""
    return max(one.size for one in operands).bit_length() + 1


def _exact_sum(operation: Operation, terms: Sequence[Sequence[Array]]) -> Array:
    """The exact sum of an f64 operation's results for several operands."""
    shape = tensor_type(operation.results[0]).shape
    executable = executable_of(operation)
    result = np.zeros(shape, np.complex128)
    for operands in terms:
        result = double_double.add(result, double_double.from_array(np.asarray(executable(*operands)[0])))
    return result


def _reduction(operation: Operation) -> Evaluate | None:
    """A reduction of one operand by a monoid of `_REDUCTIONS`."""
    combine = _REDUCTIONS.get(monoid(operation.regions[0]) or "")
    if combine is None or len(operation.results) != 1:
        return None
    return functools.partial(_reduce, Reduce.of(operation), combine)


def _term_sum(operation: Operation) -> Evaluate | None:
    """A sum of windows or updates, or of what an operation without a body adds."""
    is_sum = not operation.regions or monoid(operation.regions[-1]) == "add"
    if len(operation.results) != 1 or not is_sum:
        return None
    return functools.partial(_sum, operation)


_BASIC: Final[dict[str, Evaluate]] = {
    "abs": double_double.absolute,
    "add": double_double.add,
    "ceil": double_double.ceil,
    "clamp": lambda low, value, high: double_double.minimum(double_double.maximum(value, low), high),
    "divide": double_double.divide,
    "floor": double_double.floor,
    "is_finite": lambda value: np.isfinite(value.real),
    "maximum": double_double.maximum,
    "minimum": double_double.minimum,
    "multiply": double_double.multiply,
    "negate": double_double.negate,
    "rsqrt": lambda value: double_double.divide(
        double_double.from_array(np.ones(())), double_double.sqrt(value)
    ),
    "sign": double_double.sign,
    "sqrt": double_double.sqrt,
    "square": lambda value: double_double.multiply(value, value),
    "subtract": double_double.subtract,
}
_RULES: Final[dict[str, Callable[[Operation], Evaluate | None]]] = {
    "compare": _compare,
    "convert": lambda operation: functools.partial(_convert, operation),
    "product": lambda operation: functools.partial(_product, operation),
    "reduce": _reduction,
    "sum": _term_sum,
}
RULES: Final = frozenset({"", CARRIER, *_BASIC, *_RULES})
"""The names by which declarations state how they are evaluated, besides functions of mpmath."""
COMPOSED: Final[dict[str, Callable[[Any], Evaluate]]] = {
    "cbrt": lambda mp: lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "lgamma": lambda mp: lambda x: mp.log(abs(mp.gamma(x))),
    "logistic": lambda mp: lambda x: 1 / (1 + mp.exp(-x)),
}
"""Functions of real numbers that mpmath lacks."""
