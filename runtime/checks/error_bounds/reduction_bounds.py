"""Error bounds of sums of products and of reductions in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...program.ir import Block, Builder, Operation, Region, Value, captured_values
from ...program.ops.framework.accuracy import Rounding
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.facts import OpenOrder
from ...program.ops.reduction.bodies import monoid
from ...types import COMPLEX, FLOAT, Array, DType
from .magnitudes import (
    inverse_length,
    largest_products,
    magnitude_sums,
    smallest_products,
    term_counts,
    wide_results,
)
from .operation_kinds import base_name, category, is_exact
from .summation import summation_error
from .ulps import distance, is_inexact, layout_of, ulp, unit_roundoff, wide_dtype
from .wide_types import algorithm_epsilon

Bounds = list[Array | None]
"""For each result a bound for each element as f64; None: all are exact."""
Rule = Callable[[Sequence[Array], Sequence[Array]], Bounds]
"""A function of the operands and the results."""

LAMBDA: Final = 2.0
"""lambda in the probabilistic error bound lambda sqrt(n) u of a sum of n terms; see `rounding_rules`."""


def reduction_rule(operation: Operation) -> Rule | None:
    """The rule of a sum, a reduction or another operation with a body; None for other operations."""
    rounding = declaration_of(operation).rounding
    if rounding is Rounding.SUM:
        return _sum_rule(operation)
    if rounding is not Rounding.BODY:
        return None
    if all(map(is_exact_body, operation.regions)):
        return lambda operands, results: [None for _ in results]
    if monoid(operation.regions[-1]) == "add":
        return _sum_rule(operation)
    if monoid(operation.regions[-1]) == "multiply":
        return lambda operands, results: _product_bounds(operation, operands, results)
    if len(operation.results) > 1 and declaration_of(operation).open_order is OpenOrder.REDUCTION_TREE:
        separate = [_separate(operation, index) for index in range(len(operation.results))]
        rules = [reduction_rule(one) for one in separate if one is not None]
        if len(rules) == len(separate):
            return lambda operands, results: _separate_bounds(rules, operands, results)
    return lambda operands, results: _body_bounds(operation, operands, results)


def is_exact_body(region: Region) -> bool:
    """Whether a body computes without rounding."""
    return all(
        is_exact(inner)
        or declaration_of(inner).is_terminator
        or not any(category(result) & (FLOAT | COMPLEX) for result in inner.results)
        for inner in region.walk()
    )


def _separate(operation: Operation, index: int) -> Operation | None:
    """The reduction of one input alone; None if its result depends on other inputs."""
    count = len(operation.results)
    old = operation.regions[0].block
    own = (old.arguments[index], old.arguments[count + index])
    needed: list[Operation] = []
    waiting = [old.terminator.operands[index]]
    while waiting:
        owner = waiting.pop().owner
        if not isinstance(owner, Operation) or owner in needed:
            continue
        if owner not in old.operations:
            return None
        needed.append(owner)
        waiting += owner.operands
    block = Block([argument.type for argument in own])
    values: dict[Value, Value] = dict(zip(own, block.arguments, strict=True))
    builder = Builder(block)
    try:
        for inner in old.operations:
            if inner in needed:
                builder.copy(inner, values)
        body = builder.region([values[old.terminator.operands[index]]])
    except KeyError:
        return None
    operands = [operation.operands[index], operation.operands[count + index]]
    return Operation(operation.name, operands, [operation.results[index].type], operation.attributes, [body])


def _separate_bounds(
    rules: Sequence[Rule | None], operands: Sequence[Array], results: Sequence[Array]
) -> Bounds:
    bounds: Bounds = []
    for index, (rule, result) in enumerate(zip(rules, results, strict=True)):
        own = [operands[index], operands[len(results) + index]]
        bounds += [None] if rule is None else rule(own, [result])
    return bounds


def _sum_rule(operation: Operation) -> Rule:
    counts: list[list[Array]] = []

    def rule(operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
        if not counts or declaration_of(operation).terms_depend_on_data:
            counts[:] = [term_counts(operation, operands, results)]
        return _sum_bounds(operation, operands, results, counts[0])

    return rule


def _sum_bounds(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array], counts: Sequence[Array]
) -> Bounds:
    """Sums in any order: a multiple of the sum of magnitudes, which is computed in f64.

    Where finite terms may overflow in some order, any value is right. Otherwise infinite terms alone tell a
    result that is not finite.
    """
    sums = magnitude_sums(operation, operands, results)
    finite_sums = sums
    if not all(np.isfinite(_wide(one)).all() for one in operands if is_inexact(one.dtype)):
        finite_sums = magnitude_sums(operation, [_finite(one) for one in operands], results)
    bounds: Bounds = []
    for result, magnitudes, finite, count in zip(results, sums, finite_sums, counts, strict=True):
        if magnitudes is None or finite is None:
            bounds.append(None)
            continue
        # A finite result does not depend on infinite operands, as components of transforms do not.
        magnitudes = np.where(np.isfinite(_wide(result)), finite, magnitudes)
        roundoff = max(_accumulator_roundoff(operation, result.dtype), float(np.finfo(np.float64).eps) / 2)
        with np.errstate(all="ignore"):
            error = 2 * LAMBDA * np.sqrt(count) * roundoff * magnitudes
            ordered = summation_error(operation, operands, roundoff)
            if ordered is not None:
                error = np.fmin(error, ordered)
            bound = ulp(result) + error
        largest = float(layout_of(result.dtype).max)
        bound = np.where(np.isfinite(magnitudes), bound, 0.0)
        bound = np.where(finite * inverse_length(operation) < largest / 4, bound, np.inf)
        bounds.append(np.where(np.isnan(magnitudes), 0.0, bound))
    return bounds


def _wide(array: Array) -> Array:
    return array.astype(wide_dtype(array.dtype))


def _finite(array: Array) -> Array:
    """An array with zeros in place of infinities and NaN."""
    if not is_inexact(array.dtype):
        return array
    return np.where(np.isfinite(_wide(array)), array, np.zeros((), array.dtype)).astype(array.dtype)


def _product_bounds(operation: Operation, operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """Products in any order: a relative error of each factor, if none of their products overflows.

    Where one underflows, the result may be zero, or off by as much as it is.
    """
    maxima = largest_products(operation, operands, results)
    minima = smallest_products(operation, operands, results)
    bounds: Bounds = []
    for result, largest, smallest in zip(results, maxima, minima, strict=True):
        if largest is None or smallest is None:
            bounds.append(None)
            continue
        count = max((operand.size for operand in operands), default=1) / max(result.size, 1) + 2
        if base_name(operation) != "reduce":
            count = float(max((operand.size for operand in operands), default=1)) + 1
        with np.errstate(all="ignore"):
            magnitude = np.abs(_wide(result))
            bound = ulp(result) + 2 * LAMBDA * np.sqrt(count) * unit_roundoff(result.dtype) * magnitude
            underflows = smallest < float(layout_of(result.dtype).smallest_normal)
            bound = bound + np.where(underflows, magnitude, 0.0)
        bounds.append(np.where(largest < float(layout_of(result.dtype).max), bound, np.inf))
    return bounds


def _accumulator_roundoff(operation: Operation, dtype: DType) -> float:
    """Products accumulate in f32 or more; reductions in the type of their body."""
    if declaration_of(operation).rounding is Rounding.SUM:
        return max(min(unit_roundoff(dtype), 2.0**-24), algorithm_epsilon(operation) / 2)
    return unit_roundoff(dtype)


def _body_bounds(operation: Operation, operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """Bodies other than sums: rounding errors in the results' types, and digits that bodies round away.

    Compilers may keep digits between the operations of a body of narrow types.
    """
    bounds = [_body_bound(operands, result) for result in results]
    if not _rounds_in_narrower_types(operation):
        return bounds
    wide = wide_results(operation, operands)
    with np.errstate(all="ignore"):
        return [
            None if bound is None else bound + 2 * distance(result, one)
            for bound, result, one in zip(bounds, results, wide, strict=True)
        ]


def _rounds_in_narrower_types(operation: Operation) -> bool:
    """Whether bodies of real numbers compute in types with fewer digits than the results'."""
    inner = [one for region in operation.regions for one in region.walk()]
    rounding = [value for one in inner if not is_exact(one) for value in one.results]
    if captured_values(operation.regions) or any(category(one) & COMPLEX for one in rounding):
        return False
    computed, returned = _roundoffs(rounding), _roundoffs(operation.results)
    return max(computed, default=0.0) > min(returned, default=0.0)


def _roundoffs(values: Sequence[Value]) -> list[float]:
    types: list[Any] = [value.type for value in values if category(value) & FLOAT]
    return [unit_roundoff(type.dtype) for type in types]


def _body_bound(operands: Sequence[Array], result: Array) -> Array | None:
    """The rounding errors of one step for each element."""
    if not is_inexact(result.dtype):
        return None
    count = max((operand.size for operand in operands), default=1) / max(result.size, 1) + 1
    largest = [np.abs(_wide(one)) for one in (*operands, result) if is_inexact(one.dtype)]
    scale = max((float(np.max(one, initial=0.0, where=np.isfinite(one))) for one in largest), default=0.0)
    return np.full(result.shape, 2 * LAMBDA * count * unit_roundoff(result.dtype) * scale)
