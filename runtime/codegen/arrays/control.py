"""Loops on small arrays: which are generated, and how their arrays are updated."""

from __future__ import annotations

from ...ir import Operation
from ..blocks import IsArray, updates_problem
from ..blocks.emitter import types_problem
from ..coverage import ViewOf
from .emitter import (
    IN_PLACE,
    block_problem,
    bytes_of,
    is_array,
    large_elements_of,
    must_update_in_place,
    operation_count,
)

MAX_BYTES = 1 << 20
"""Bytes of the arrays that a step of a loop makes."""
MAX_WORK = 1 << 23
"""Products that it multiplies on one thread: more are better multiplied block by block."""
MAX_SHARED_WORK, MAX_WORK_PER_OPERATION = 1 << 20, 1 << 15
"""Products that it multiplies, in all and for each of its operations, where threads could share them: more of
them gain more by that than the steps of a plan cost."""
MAX_LARGE_ELEMENTS_PER_OPERATION = 1 << 12
"""Elements of large arrays that it makes, for each of its operations: likewise."""


def while_problem(operation: Operation, view_of: ViewOf, max_work: int | None = None) -> str | None:
    """Why a `while` cannot be generated, or None where it can.

    Args:
        max_work: products that a step may multiply; None: so few that threads need not share them.
    """
    reason = types_problem(operation, frozenset({operation.name}))
    if reason is not None:
        return reason
    cond, body = (region.block for region in operation.regions)
    if max_work is None:
        max_work = min(MAX_SHARED_WORK, MAX_WORK_PER_OPERATION * operation_count(body))
    if large_elements_of(body) > MAX_LARGE_ELEMENTS_PER_OPERATION * operation_count(body):
        return "makes large arrays"
    return (
        block_problem(cond, view_of)
        or block_problem(body, view_of, IN_PLACE, MAX_BYTES, max_work)
        or _updates_problem(operation, must_update_in_place)
    )


def _updates_problem(operation: Operation, is_in_place: IsArray) -> str | None:
    """Why such arrays cannot be updated in place alone."""
    cond, body = (region.block for region in operation.regions)
    return updates_problem(cond, (), is_in_place) or updates_problem(body, body.arguments, is_in_place, True)


def updated_in_place(operation: Operation) -> IsArray:
    """Which tensors a `while` that can be generated updates in place: all arrays, where that is possible."""
    return is_array if _updates_problem(operation, is_array) is None else must_update_in_place


def computed_bytes(operation: Operation) -> int:
    """About how many bytes the arrays have that a step of a `while` makes."""
    return sum(bytes_of(region.block) for region in operation.regions)
