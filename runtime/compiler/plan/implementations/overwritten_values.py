"""Which values a `while` overwrites before it reads them: results that it stacks, window by window."""

from __future__ import annotations

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Operation, Value, tensor_type, use_counts
from ....types import ElementType, storage_range
from ...specialize.framework.rewriter import defined_by, has_static_unquantized_types, splat
from ...specialize.rewrites.loops import match_counter, trip_count


def overwritten_values(operation: Operation) -> tuple[bool, ...]:
    """For each carried value of a `while`, whether no element of its initial value is ever used.

    These are arrays of which an iteration only updates a window, at an index that follows from the counter,
    where all iterations together update all elements, as the stacked results of JAX's `scan`.
    """
    counter, count = match_counter(operation), trip_count(operation)
    if counter is None or not count:
        return (False,) * len(operation.operands)
    start = splat(operation.operands[counter.index])
    assert start is not None
    cond, body = [region.block for region in operation.regions]
    uses, uses_in_cond = [use_counts(region) for region in operation.regions[::-1]]
    argument = body.arguments[counter.index]
    last = int(start) + (count - 1) * counter.increment
    return tuple(
        [
            uses[value] == 1
            and uses[updated] == 1
            and not uses_in_cond[in_cond]
            and _covers(updated, value, _Range(argument, int(start), last, counter.increment))
            for value, in_cond, updated in zip(
                body.arguments, cond.arguments, body.terminator.operands, strict=True
            )
        ]
    )


class _Range(NamedTuple):
    """A counter with its first and last value, and the increment."""

    counter: Value
    first: int
    last: int
    increment: int


def _covers(updated: Value, array: Value, range: _Range) -> bool:
    """Whether a value is the update of an array by windows that cover it, one in each iteration."""
    update = defined_by(updated, "stablehlo.dynamic_update_slice")
    if update is None or update.operands[0] is not array or not has_static_unquantized_types(update):
        return False
    sizes, windows = [tensor_type(value).shape for value in update.operands[:2]]
    sliced = [d for d, size in enumerate(sizes) if windows[d] != size]
    if len(sliced) != 1:
        return False
    (d,) = sliced
    start = update.operands[2 + d]
    index, element_type = _affine(start, range.counter), tensor_type(start).element_type
    if index is None or abs(index[0]) != 1 or range.increment > windows[d]:
        return False
    starts = sorted([index[0] * counter + index[1] for counter in (range.first, range.last)])
    # Indices wrap around where their type does not have the number.
    assert isinstance(element_type, ElementType)
    return starts[0] <= 0 and starts[1] >= sizes[d] - windows[d] <= storage_range(element_type)[1]


def _affine(value: Value, counter: Value) -> tuple[int, int] | None:
    """The factor of the counter and the constant of a sum or difference with constants; None for others."""
    if value is counter:
        return 1, 0
    number = splat(value)
    if number is not None:
        return 0, int(number)
    for name, sign in (("stablehlo.add", 1), ("stablehlo.subtract", -1)):
        operation = defined_by(value, name)
        if operation is not None:
            lhs, rhs = [_affine(operand, counter) for operand in operation.operands]
            return None if lhs is None or rhs is None else (lhs[0] + sign * rhs[0], lhs[1] + sign * rhs[1])
    return None
