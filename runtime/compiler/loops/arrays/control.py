"""Decides which loops on small arrays are generated, and which of their arrays are updated in place."""

from __future__ import annotations

from collections.abc import Sequence

from ....program.ir import Operation
from ....program.ops.framework.traits import RegionRole
from ..scalars import IsInPlace, check_in_place_updates
from ..scalars.elements import MAX_ALLOCATED_ELEMENTS
from ..scalars.emitter import check_types
from ..scalars.in_place_updates import role_of
from .emitter import (
    array_bytes,
    check_block,
    is_in_memory,
    large_array_work,
    must_update_in_place,
    operation_count,
)

MAX_LOOP_BYTES, MAX_BYTES_PER_OP = 1 << 20, 3 << 13
"""Maximum bytes of the arrays that an iteration computes, in total, and per operation where this is more. In
loops of several MB native code takes 0.3 of the steps' time with 20 KB an operation, and as much processor
time as the steps of two threads with 28 KB (Zen 4)."""
MAX_SHARED_MULTIPLICATIONS, MAX_MULTIPLICATIONS_PER_OP = 1 << 20, 1 << 15
"""Maximum multiplications of an iteration, in total and per operation, if several threads are available:
sharing more of them saves more time than the steps of a plan cost."""
MAX_ALLOCATED_ELEMENTS_PER_OP = 1 << 11
"""Maximum elements of an array that a loop copies, per operation, where it could not be native otherwise. A
copy of 8 KB takes 0.3 us, a step of a plan 2 us, and some arrays are copied several times (Zen 4)."""
MAX_LARGE_ELEMENTS_PER_OP = 1 << 12
"""Maximum elements of large arrays that an iteration computes, per operation, for the same reason."""
_ALLOCATED_LIMITS = tuple([MAX_ALLOCATED_ELEMENTS << doubling for doubling in range(7)])


def check_while(
    operation: Operation, max_multiplications: int | None = None, has_launches: bool = False
) -> str | None:
    """Why a `while` cannot be generated, or None if it can.

    Args:
        max_multiplications: maximum multiplications of an iteration; None: so few that one thread computes
            them as fast as several.
        has_launches: whether what threads could share is launched, so that the rest may be any work.
    """
    reason = check_types(operation, may_be_large=True)
    if reason is not None:
        return reason
    cond, body = (region.block for region in operation.regions)
    if max_multiplications is None:
        max_multiplications = min(
            MAX_SHARED_MULTIPLICATIONS, MAX_MULTIPLICATIONS_PER_OP * operation_count(body)
        )
    return (
        check_block(cond)
        or (None if has_launches else _check_work(operation))
        or check_block(body, True, None, max_multiplications)
        or _check_allocations(operation)
    )


def _check_work(operation: Operation) -> str | None:
    """Why an iteration of a loop, or of one within it, computes or writes too much; None if none does."""
    body = operation.regions[1].block
    max_large_elements = MAX_LARGE_ELEMENTS_PER_OP * operation_count(body)
    if large_array_work(body) > max_large_elements:
        return f"computes more than {max_large_elements} elements of large arrays"
    is_in_place = updated_in_place(operation)
    bodies = [inner.regions[-1].block for inner in operation.walk() if role_of(inner) is RegionRole.LOOP]
    for body in bodies:
        max_bytes = max(MAX_LOOP_BYTES, MAX_BYTES_PER_OP * operation_count(body))
        if array_bytes(body, is_in_place) > max_bytes:
            return f"computes arrays of more than {max_bytes} bytes"
    return None


def updates_to_copy(operation: Operation) -> set[Operation]:
    """The updates in the body of a `while` that can only be generated if they write to a copy of their array.

    The code can update all other large arrays in place, unless `check_while` finds another reason.
    """
    copying: set[Operation] = set()
    for limit in _worthwhile_limits(operation):
        copying = set()
        if _check_loop_in_place(operation, must_update_in_place, limit, copying) is None:
            break
    return copying


def _check_loop_in_place(
    operation: Operation, is_in_place: IsInPlace, max_allocated: int, copying: set[Operation] | None = None
) -> str | None:
    """Why a loop cannot update all arrays for which `is_in_place` holds in place; None if it can.

    Args:
        max_allocated, copying: as for `check_in_place_updates`.
    """
    cond, body = (region.block for region in operation.regions)
    reason = check_in_place_updates(cond, (), is_in_place, False, copying, max_allocated)
    return reason or check_in_place_updates(
        body, body.arguments, is_in_place, True, copying, max_allocated
    )


def _check_allocations(operation: Operation) -> str | None:
    """Why a loop cannot update in place all arrays that are too large to copy; None if it can."""
    first, *others = _worthwhile_limits(operation)
    reason = _check_loop_in_place(operation, must_update_in_place, first)
    return None if reason is None or _first_limit(operation, others) is not None else reason


def _first_limit(operation: Operation, limits: Sequence[int]) -> int | None:
    """The first value of `max_allocated` with which code can be generated for a loop, or None."""
    for limit in limits:
        if _check_loop_in_place(operation, must_update_in_place, limit) is None:
            return limit
    return None


def _worthwhile_limits(operation: Operation) -> list[int]:
    """The values of `max_allocated` with which copies take less time than the steps of a plan."""
    operations = sum(1 for _ in operation.regions[1].walk())
    largest = MAX_ALLOCATED_ELEMENTS_PER_OP * operations
    return [limit for limit in _ALLOCATED_LIMITS if limit <= max(MAX_ALLOCATED_ELEMENTS, largest)]


def max_allocated(operation: Operation) -> int:
    """Maximum elements of an array that the operations of a native `while` allocate.

    Larger arrays keep their memory: loops within the `while`, and branches, do not copy them. It is the first
    limit with which code can be generated.
    """
    return _first_limit(operation, _ALLOCATED_LIMITS) or MAX_ALLOCATED_ELEMENTS


def updated_in_place(operation: Operation) -> IsInPlace:
    """The types that a native `while` updates in place: all arrays if possible, otherwise the large ones."""
    reason = _check_loop_in_place(operation, is_in_memory, max_allocated(operation))
    return is_in_memory if reason is None else must_update_in_place


def computed_bytes(operation: Operation, includes_large: bool = False) -> int:
    """The approximate bytes of the arrays that an iteration of a `while` computes.

    Args:
        includes_large: as for `array_bytes`.
    """
    is_in_place = updated_in_place(operation)
    return sum(array_bytes(region.block, is_in_place, includes_large) for region in operation.regions)
