"""Causes of differences between NimbleHLO and other implementations that are known, with explanations.

A cause is found by looking at the first operation whose result exceeds its bound, its operands and both
results; where there is a program that does what the other implementation does, its results are compared.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

from ...api import execute, load
from ...errors import NimbleError
from ...options import Options
from ...program.ir import Module, Operation, Value, captured_values
from ...program.ops.reduction.reduce_window import SelectAndScatter
from ...types import BOOLEAN, INTEGER, ElementType, TensorType, Type
from ..differences import FaultyOperation
from ..differences.extraction import constant_array, main_block, operation_program, returning
from ..error_bounds import BoundViolation, accuracy
from ..error_bounds.ulps import equal_elements, layout_of
from ..error_bounds.wide_types import wide_array, widened
from .function_causes import (
    FUNCTION_CAUSES,
    Index,
    KnownCause,
    for_elements_of,
    operand_arrays,
    operation_of,
)
from .selection_orders import transposed_selection

MAX_PERMUTED_RANK: Final = 5
"""Windows of more dimensions are not tried in all their orders."""


def known_cause(first: FaultyOperation) -> KnownCause | None:
    return next((cause for cause in KNOWN_CAUSES if cause.matches(first)), None)


def _attribute(operation: Operation, name: str) -> Any:
    value: Any = operation.attributes.get(name)
    return getattr(value, "value", value)


def _drops_windows(first: FaultyOperation) -> bool:
    """Whether the results are those of a scatter that drops entire windows."""
    if first.operation != "stablehlo.scatter":
        return False
    options = Options(scatter_out_of_bounds="window", compile="never")
    try:
        return not accuracy(first.module, first.inputs, options=options).violations(first.theirs)
    except NimbleError:
        return False


def _has_no_index(first: FaultyOperation) -> bool:
    operation = operation_of(first)
    if first.operation != "stablehlo.scatter":
        return False
    numbers: Any = operation.attributes["scatter_dimension_numbers"]
    return not numbers.fields.get("scatter_dims_to_operand_dims")


def _scatters_into_one_array(first: FaultyOperation) -> bool:
    """Whether a scatter has an array as several inputs, and one result in place of several."""
    operation = operation_of(first)
    inputs = operation.operands[: len(operation.results)]
    if first.operation != "stablehlo.scatter" or len(set(inputs)) == len(inputs):
        return False
    firsts = [inputs.index(one) for one in inputs]
    return all(
        np.array_equal(first.theirs[index], first.theirs[other], equal_nan=False)
        for index, other in enumerate(firsts)
        if index == first.violation.result
    )


def _returns_captured_values(first: FaultyOperation) -> bool:
    """Whether a reduction's body returns a value from outside, and the result has another shape."""
    if first.violation.index is not None:
        return False
    return any(
        value in captured_values([region])
        for region in operation_of(first).regions
        for value in region.block.terminator.operands
    )


def _merges_slices(first: FaultyOperation) -> bool:
    """Whether an operand is a dynamic slice that begins out of bounds, so that its start is clamped."""
    if first.fails_alone:
        return False
    for operand in operation_of(first).operands:
        source = operand.owner
        if isinstance(source, Operation) and source.name == "stablehlo.dynamic_slice":
            starts = execute(returning(first.module, source.operands[1:]), first.inputs)
            sliced: Any = source.operands[0].type
            sizes: Any = source.results[0].type
            limits = np.subtract(sliced.shape, sizes.shape)
            if any(not 0 <= int(one) <= limit for one, limit in zip(starts, limits, strict=True)):
                return True
    return False


def _is_negative_sort(first: FaultyOperation) -> bool:
    operation = operation_of(first)
    return first.operation == "stablehlo.sort" and (_attribute(operation, "dimension") or 0) < 0


@for_elements_of("stablehlo.reduce_precision")
def _reduces_subnormal_numbers(first: FaultyOperation, index: Index) -> bool:
    (operand,) = operand_arrays(first)
    magnitude = abs(float(operand[index]))
    return 0 < magnitude < float(layout_of(operand.dtype).smallest_normal)


@for_elements_of("stablehlo.reduce_precision")
def _reduces_precision_in_f16(first: FaultyOperation, index: Index) -> bool:
    """Whether the results of reduce_precision of numbers of 8 bits or less are those of f16."""
    dtype = first.ours[0].dtype
    if dtype.itemsize > 1:
        return False
    value = operation_of(first).operands[0]
    operand: Any = value.type
    try:
        (array,) = execute(returning(first.module, [value]), first.inputs)
        program, _ = operation_program(operation_of(first), {value: np.asarray(array)})
        module = load(re.sub(rf"(?<=[x<]){operand.element_type}(?=>)", "f16", str(program)))
        (reduced,) = execute(module, [np.asarray(array).astype(np.float16)])
    except NimbleError:
        return False
    if np.shape(reduced) != first.theirs[0].shape:
        return False
    return bool(np.asarray(reduced)[index].astype(dtype) == first.theirs[0][index])


@for_elements_of()
def _rounds_to_normal_f16(first: FaultyOperation, index: Index) -> bool:
    """Whether a number of f8 that is subnormal in f16 became the smallest normal number of f16."""
    result = first.violation.result
    if first.ours[result].dtype.name != "float8_e5m2fnuz":
        return False
    smallest = float(np.finfo(np.float16).smallest_normal)
    ours, theirs = [abs(float(side[result][index])) for side in (first.ours, first.theirs)]
    return 0 < ours < smallest == theirs


def _converts_booleans(operation: Operation) -> bool:
    types = [one.type for one in (*operation.operands, *operation.results)]
    is_boolean = any(isinstance(type, TensorType) and type.category == BOOLEAN for type in types)
    return operation.name == "stablehlo.bitcast_convert" and is_boolean


def _forgets_promotion(first: FaultyOperation) -> bool:
    """Whether a reduction returns its operand's type in place of its body's."""
    if not operation_of(first).regions:
        return False
    operands = {np.asarray(one).dtype for one in first.inputs}
    pairs = zip(first.ours, first.theirs, strict=True)
    return any(mine.dtype != other.dtype and other.dtype in operands for mine, other in pairs)


def _sorts_narrow_integers(first: FaultyOperation) -> bool:
    types = [one.type for one in operation_of(first).operands]
    widths = [
        type.element_type.width
        for type in types
        if isinstance(type, TensorType) and isinstance(type.element_type, ElementType)
    ]
    return first.operation == "stablehlo.sort" and min(widths, default=8) in (2, 4)


@for_elements_of("stablehlo.reduce_precision")
def _reduces_nans(first: FaultyOperation, index: Index) -> bool:
    """Whether NaN is reduced to a format without mantissa bits."""
    has_none = _attribute(operation_of(first), "mantissa_bits") == 0
    return has_none and bool(np.isnan(operand_arrays(first)[0][index]))


@for_elements_of("stablehlo.convert")
def _saturates_integers(first: FaultyOperation, index: Index) -> bool:
    """Whether the largest numbers of f4E2M1FN, 6 and -6, are converted to the limits of an integer type."""
    (operand,) = operand_arrays(first)
    result: Any = operation_of(first).results[0].type
    if operand.dtype.name != "float4_e2m1fn" or not result.category & INTEGER:
        return False
    limits = ml_dtypes.iinfo(first.theirs[0].dtype)  # type: ignore[no-untyped-call]
    return int(first.theirs[0][index]) in (int(limits.min), int(limits.max))


def _has_low_bits(module: Module, inputs: Sequence[object], operation: Operation, theirs: object) -> bool:
    """Whether integers of 2 bits begin with the low bits of each byte of the operand."""
    result: Any = operation.results[0].type if operation.results else None
    is_narrow = isinstance(result, TensorType) and bool(result.category & INTEGER)
    if operation.name != "stablehlo.bitcast_convert" or not is_narrow or result.element_type.width != 2:
        return False
    (operand,) = execute(returning(module, operation.operands), inputs)
    stored = np.ascontiguousarray(operand).reshape(-1).view(np.uint8)
    begin = np.asarray(theirs).astype(np.int64).reshape(-1)[: stored.size]
    return bool(np.array_equal(begin & 3, stored & 3))


def cause_of_result(
    module: Module, inputs: Sequence[Any], violation: BoundViolation, theirs: Sequence[Any]
) -> KnownCause | None:
    """The cause that a result alone shows: a backend may reject its operation alone, or be right there."""
    results = main_block(module).terminator.operands
    if violation.result >= len(results):
        return None
    operation = results[violation.result].owner
    if not isinstance(operation, Operation):
        return None
    if violation.index is None:
        return _BOOLEANS if _converts_booleans(operation) else None
    if operation.name == "stablehlo.sort" and (_attribute(operation, "dimension") or 0) < 0:
        return _NEGATIVE_SORT
    if _has_low_bits(module, inputs, operation, theirs[violation.result]):
        return _TWO_BITS
    value = operation.operands[0] if operation.name == "stablehlo.convert" else results[violation.result]
    if _is_unwrapped(value.type, theirs[violation.result][violation.index]):
        return _UNWRAPPED
    counts = operation.name == "stablehlo.count_leading_zeros"
    return _COUNT if counts and int(theirs[violation.result][violation.index]) < 0 else None


def _is_unwrapped(type: Type, value: int) -> bool:
    """Whether an integer is out of the range of its type of 2 or 4 bits."""
    if not isinstance(type, TensorType) or not type.category & INTEGER:
        return False
    limits = ml_dtypes.iinfo(type.dtype)  # type: ignore[no-untyped-call]
    return not int(limits.min) <= int(value) <= int(limits.max)


@for_elements_of()
def _rounds_through_f16(first: FaultyOperation, index: Index) -> bool:
    """Whether results are those of f16, rounded a second time to f8E3M4."""
    result = first.violation.result
    if operation_of(first).regions or first.ours[result].dtype.name != "float8_e3m4":
        return False
    try:
        wide = execute(widened(first.module), [wide_array(one) for one in first.inputs])
    except NimbleError:
        return False
    with np.errstate(all="ignore"):
        twice = np.asarray(wide[result])[index].astype(np.float16).astype(first.ours[result].dtype)
    return bool(twice == first.theirs[result][index])


@for_elements_of("stablehlo.select_and_scatter")
def _selects_by_columns(first: FaultyOperation, index: Index) -> bool:
    """Whether results are those of windows whose elements are compared in another order of dimensions."""
    if not first.fails_alone:
        return False
    sizes = SelectAndScatter(operation_of(first)).window_dimensions or [1] * len(index)
    long = [dimension for dimension, size in enumerate(sizes) if size > 1]
    if len(long) > MAX_PERMUTED_RANK:
        return False
    orders = [list(range(len(sizes))) for _ in range(math.factorial(len(long)))]
    for order, permuted in zip(orders, itertools.permutations(long), strict=True):
        for dimension, other in zip(long, permuted, strict=True):
            order[dimension] = other
    try:
        programs = [transposed_selection(first.module, order) for order in orders]
        if any(not accuracy(program, first.inputs).violations(first.theirs) for program in programs):
            return True
        results = [np.asarray(execute(program, first.inputs)[0]) for program in programs]
    except NimbleError:
        return False
    # Windows may be compared in several orders: elements on which the order has no influence are ours.
    ours, theirs = first.ours[0], first.theirs[0]
    depends = np.logical_or.reduce([one != ours for one in results])
    return bool((equal_elements(ours, theirs) | depends).all())


def _merges_padding(first: FaultyOperation) -> bool:
    """Whether a window reduction's operand is padded with the initial value."""
    operation = operation_of(first)
    if first.operation != "stablehlo.reduce_window" or first.fails_alone:
        return False
    count = len(operation.results)
    pairs = zip(operation.operands[:count], operation.operands[count:], strict=True)
    return any(
        isinstance(one.owner, Operation)
        and one.owner.name == "stablehlo.pad"
        and _same_value(one.owner.operands[1], initial)
        for one, initial in pairs
    )


def _same_value(a: Value, b: Value) -> bool:
    """Whether two values are one, or equal constants."""
    if a is b:
        return True
    left, right = [constant_array(one.owner) if isinstance(one.owner, Operation) else None for one in (a, b)]
    return left is not None and right is not None and bool(np.array_equal(left, right))


_COUNT: Final = KnownCause(
    "count_leading_zeros of constant negative integers is minus their width",
    "A negative integer has no leading zeros. The other implementation returns minus the number of bits where"
    " it evaluates the operation on a constant; what it computes at run time is right.",
    lambda first: False,
)
_UNWRAPPED: Final = KnownCause(
    "results of 2 or 4 bits keep other bits of their byte",
    "Arithmetic wraps around modulo 2 ** width. The other implementation computes in bytes, and returns"
    " integers out of the type's range, such as -12 for i4 instead of 4.",
    for_elements_of()(
        lambda first, index: _is_unwrapped(
            operation_of(first).results[0].type, first.theirs[first.violation.result][index]
        )
    ),
)
_NEGATIVE_SORT: Final = KnownCause(
    "sort along a negative dimension does nothing",
    "Constraint C4 of `sort` allows dimensions in [-rank, rank), and a negative one counts from the end. The"
    " other implementation returns the operands unsorted for some negative dimensions, which depend on the"
    " rank and vary from run to run.",
    _is_negative_sort,
)
_BOOLEANS: Final = KnownCause(
    "bitcast_convert takes booleans for eight bits",
    "By the specification i1 has one bit, so that eight of them make an integer of eight bits. The other"
    " implementation converts a byte for each boolean, and returns another shape.",
    lambda first: _converts_booleans(operation_of(first)),
)
_TWO_BITS: Final = KnownCause(
    "bitcast_convert to integers of 2 bits returns a byte for each",
    "Each integer has 2 bits of the operand, so that a byte gives four of them. The other implementation"
    " takes the low bits of each byte for one integer, and returns memory that it has not written for the"
    " rest.",
    lambda first: _has_low_bits(first.module, first.inputs, operation_of(first), first.theirs[0]),
)
KNOWN_CAUSES: Final = (
    KnownCause(
        "scatter leaves out windows that are partly out of bounds",
        "The specification drops only those elements of an update that are out of bounds. The other"
        " implementation drops every element of a window that has one out of bounds."
        ' NimbleHLO returns the same results with `Options(scatter_out_of_bounds="window")`.',
        _drops_windows,
    ),
    KnownCause(
        "scatter without index components applies one update",
        "With `scatter_dims_to_operand_dims = []` each index vector is empty, and all windows start at the"
        " origin. The specification combines every update; the other implementation applies one of them.",
        _has_no_index,
    ),
    KnownCause(
        "scatter into one array as several inputs returns one result",
        "Each input has its own updates and result. If two inputs are the same value, the other"
        " implementation returns the first result twice.",
        _scatters_into_one_array,
    ),
    KnownCause(
        "reductions whose body returns a captured value have the shape of the body's result",
        "Each element of the result is what the body returns, here a value from outside. The other"
        " implementation returns that value, with its shape.",
        _returns_captured_values,
    ),
    KnownCause(
        "reduce_window of a padded array leaves out what pad has added",
        "Elements that `pad` adds are combined with the others in their windows. If they equal the initial"
        " value, the other implementation turns them into padding of the windows and skips it, which is"
        " correct only if the initial value is the identity.",
        _merges_padding,
    ),
    KnownCause(
        "slices of a dynamic slice start beyond its clamped start",
        "A start index that is out of bounds is clamped, so that the slice fits (section dynamic_slice)."
        " The other implementation merges two slices, that of scatter among them, into one and adds their"
        " starts without clamping the first one.",
        _merges_slices,
    ),
    KnownCause(
        "select_and_scatter compares the elements of windows of several dimensions in another order",
        "The elements of a window are compared in the order of their indices (section reduce: an in-order"
        " traversal). If `select` keeps the second of two equal elements, the order matters. The other"
        " implementation reduces one dimension after the other: NimbleHLO returns the same results for"
        " transposed operands, or differs only where the order matters.",
        _selects_by_columns,
    ),
    KnownCause(
        "conversion of f4E2M1FN's 6 and -6 to integers gives the limits of the integer type",
        "Every integer type of at least 4 bits holds 6 and -6. The other implementation treats the largest"
        " numbers of a type without infinities as infinite.",
        _saturates_integers,
    ),
    KnownCause(
        "operations on f8E3M4 round twice",
        "The specification refers to IEEE 754, where results are rounded once. The other implementation"
        " computes in f16, whose 11 digits are less than the 12 that make a second rounding to 5 digits"
        " harmless, so that results near the middle of two numbers may be off by one unit.",
        _rounds_through_f16,
    ),
    KnownCause(
        "numbers of f8E5M2FNUZ that are subnormal in f16 become its smallest normal number",
        "f8E5M2FNUZ has numbers below 2 ** -14, which f16 holds as subnormal numbers. The other"
        " implementation keeps values of loops in f16, from where such numbers return as 2 ** -14.",
        _rounds_to_normal_f16,
    ),
    _NEGATIVE_SORT,
    _BOOLEANS,
    _TWO_BITS,
    _UNWRAPPED,
    KnownCause(
        "reductions that promote return the type of the operand",
        "The result has the element type of the body's results, which may be wider than the operand's"
        " (constraint C8 of `reduce`). The other implementation returns the operand's type.",
        _forgets_promotion,
    ),
    KnownCause(
        "sort of integers of 2 or 4 bits loses elements",
        "The results are not a sorted permutation of the operands. The other implementation stores several"
        " such integers in a byte.",
        _sorts_narrow_integers,
    ),
    KnownCause(
        "reduce_precision of NaN to no mantissa bits",
        "A format without mantissa bits has no NaN. By the specification's steps NaN overflows to an"
        " infinity, as in the reference interpreter; the other implementation keeps NaN.",
        _reduces_nans,
    ),
    KnownCause(
        "reduce_precision rounds the value of subnormal numbers, not their bits",
        "The specification rounds the mantissa bits of the operand, and subnormal numbers have fewer;"
        " NimbleHLO and the reference interpreter agree. The other implementation first converts to f16,"
        " where the same numbers are normal and keep more digits.",
        _reduces_subnormal_numbers,
    ),
    KnownCause(
        "reduce_precision of numbers of 8 bits or less is that of f16",
        "The specification keeps exponent bits of the operand's type, whose bias differs from f16's. The"
        " other implementation first converts to f16, and keeps the exponents of f16 nearest to 0.",
        _reduces_precision_in_f16,
    ),
    *FUNCTION_CAUSES,
)
"""The causes, in the order in which they are tried."""
