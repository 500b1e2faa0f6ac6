"""`sn_zipmapreduce` and the functions for its lambdas: `sn_iteridx`, `sn_imm`, `sn_select`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..options import Options
from ..types import BOOLEAN, FLOAT, INTEGER
from . import operations as ops
from .arguments import dimension, dimensions
from .element_types import BOOL, INT32, INT64, element_type_named, is_number
from .failures import violation_error
from .functions import accumulation_type, where
from .operands import shape_of, value_of
from .programs import compute
from .tape import Shape, Tape, Value, active_tape

PATTERN = "sn_zipmapreduce"


class Attributes:
    """The first argument of a lambda: the space over which it is evaluated.

    Attributes:
        shape: the shape to which the operands broadcast.
    """

    __slots__ = ("_tape", "shape")

    def __init__(self, tape: Tape, shape: Shape) -> None:
        self._tape = tape
        self.shape = shape

    def indices(self, dim: Any, dtype: Any) -> Value:
        """See `sn_iteridx`."""
        pattern = "sn_iteridx"
        if active_tape() is not self._tape:
            raise violation_error(pattern, "attrs belongs to another call of sn_zipmapreduce", "I1")
        d = dimension(dim, len(self.shape), "dim", pattern, "I2")
        last = self.shape[d] - 1
        if dtype is None:
            element_type = INT32 if last <= np.iinfo(np.int32).max else INT64
        else:
            element_type = element_type_named(dtype, pattern)
        if not element_type.category & (INTEGER | FLOAT):
            raise violation_error(
                pattern, f"dtype is {element_type}, but must be an integer or a float", "I3"
            )
        if element_type.category & INTEGER and last > ops.max_integer(element_type):
            raise violation_error(
                pattern, f"dtype is {element_type}, which cannot hold the index {last}", "I3"
            )
        attributes = (("iota_dimension", d),)
        return self._tape.add("stablehlo.iota", (), self.shape, element_type, attributes)


def sn_zipmapreduce(
    function: Callable[..., Any],
    operands: Iterable[Any],
    reduce_op: str | None = None,
    reduce_dims: int | Iterable[int] | None = None,
    *,
    keep_dims: bool = False,
    options: Options | None = None,
) -> Any:
    """Evaluate a lambda for every element of its operands, and optionally reduce the results.

    Args:
        function: called as ``function(attrs, *values)`` with a traced value for each operand. It returns a
            value or a tuple of values, which broadcast to the space of the operands. It may read variables of
            its environment: arrays become inputs of the program, numbers constants. It is called again
            whenever these variables may have changed.
        operands: arrays whose shapes broadcast, or one array. Python's numbers are passed to `function`
            unchanged.
        reduce_op: ``"sum"``, ``"product"``, ``"min"``, ``"max"``, ``"and"`` or ``"or"``; None: no reduction.
            ``and`` and ``or`` support booleans and integers, bit by bit. Sums and products of booleans have
            type int64; all other reductions keep the element type.
        reduce_dims: dimensions of the space, negative ones counted from its end; None: all.
        keep_dims: whether the reduced dimensions remain, with size 1.
        options: the options of the run; without effect within another pattern.

    Returns:
        An array, or within another pattern a traced value; a tuple if `function` returns one.

    Raises:
        VerifyError: a constraint in docs/patterns.md does not hold.
        UnsupportedError: `function` uses an operation that traced values do not support.
    """
    listed = list(operands) if isinstance(operands, (list, tuple)) else [operands]

    def record(*values: Any) -> Any:
        tape = active_tape()
        assert tape is not None
        tensors = [value for value in values if not is_number(value)]
        if not tensors:
            raise violation_error(PATTERN, "operands has no array", "Z1")
        shape = ops.broadcast_shape([value.shape for value in tensors], PATTERN, "Z2")
        returned = function(Attributes(tape, shape), *values)
        results = [
            _reduced(_mapped(tape, result, shape), reduce_op, reduce_dims, keep_dims)
            for result in (returned if isinstance(returned, (tuple, list)) else (returned,))
        ]
        return tuple(results) if isinstance(returned, (tuple, list)) else results[0]

    settings = (function, reduce_op, reduce_dims, keep_dims)
    return compute(record, listed, _names(len(listed)), settings, PATTERN, options)


@functools.cache
def _names(count: int) -> tuple[str, ...]:
    """The names of operands in errors."""
    return tuple([f"operands[{position}]" for position in range(count)])


def _mapped(tape: Tape, result: object, shape: Shape) -> Value:
    """A lambda's result for every element of the space."""
    if result is None:
        raise violation_error(PATTERN, "function returns None, but must return a value", "Z3")
    value = value_of(tape, result, PATTERN)
    if ops.broadcast_shape([value.shape, shape], PATTERN, "Z4") != shape:
        raise violation_error(
            PATTERN, f"function returns shape {value.shape}, which does not broadcast to {shape}", "Z4"
        )
    return ops.broadcast_to(value, shape)


def _reduced(value: Value, reduce_op: str | None, reduce_dims: object, keep_dims: bool) -> Value:
    if reduce_op is None:
        if reduce_dims is not None:
            raise violation_error(PATTERN, "reduce_dims is given without reduce_op", "Z5")
        return value
    if reduce_op not in ops.REDUCTIONS:
        names = ", ".join(ops.REDUCTIONS)
        raise violation_error(PATTERN, f"reduce_op is {reduce_op!r}, but must be one of {names}", "Z5")
    rank = len(value.shape)
    if reduce_dims is None:
        reduce_dims = range(rank)
    elif hasattr(reduce_dims, "__index__"):
        reduce_dims = (reduce_dims,)
    dims = tuple(sorted(dimensions(reduce_dims, rank, "reduce_dims", PATTERN, "Z6")))
    if value.element_type.category == BOOLEAN and reduce_op in ("sum", "product"):
        value = ops.convert(value, accumulation_type(np.add, BOOL))
    return ops.reduce(value, reduce_op, dims, keep_dims=keep_dims, pattern=PATTERN)


def sn_iteridx(dim: int, attrs: Attributes, dtype: Any = None) -> Any:
    """The index of each element along a dimension of the space.

    Args:
        dim: the dimension; a negative one counts from the end.
        attrs: the first argument of the lambda of `sn_zipmapreduce`.
        dtype: an integer or floating-point type; None: int32, or int64 if int32 is too narrow.

    Returns:
        A traced value of the space's shape.

    Raises:
        VerifyError: a constraint in docs/patterns.md does not hold.
    """
    if not isinstance(attrs, Attributes):
        raise violation_error(
            "sn_iteridx", f"attrs is {attrs!r}, but must be the first argument of the lambda", "I1"
        )
    return attrs.indices(dim, dtype)


def sn_imm(value: Any, dtype: Any) -> Any:
    """A constant of an element type.

    Args:
        value: a number.
        dtype: its element type, which counts in the choice of a common type, unlike that of a Python number.

    Returns:
        Within a pattern a traced value of rank 0, elsewhere an array of rank 0.

    Raises:
        VerifyError: the type cannot represent the number.
    """
    pattern = "sn_imm"
    element_type = element_type_named(dtype, pattern)
    number = value.item() if hasattr(value, "item") and not shape_of(value) else value
    if not is_number(number):
        raise violation_error(pattern, f"value is {value!r}, but must be a number", "M1")
    element = ops.number_as(number, element_type, pattern, "M1")
    tape = active_tape()
    return element if tape is None else ops.filled(tape, element, (), element_type)


def sn_select(condition: Any, on_true: object, on_false: object, *, options: Options | None = None) -> Any:
    """Choose between two values, element by element; all three broadcast.

    Args:
        condition: booleans, or numbers, where all numbers except zero count as true.
        on_true, on_false: the two values.
        options: the options of the run; without effect within another pattern.

    Returns:
        An array, or within another pattern a traced value.

    Raises:
        VerifyError: the shapes do not broadcast, or the two values have no common element type.
    """

    def record(*values: object) -> Any:
        return where(*values, name="sn_select", label="E1")

    operands, names = [condition, on_true, on_false], ("condition", "on_true", "on_false")
    return compute(record, operands, names, (), "sn_select", options)
