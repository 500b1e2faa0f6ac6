"""Chains of elementwise operations.

The loop of an operation also computes the operands that no other operation reads, and splat constants.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Block, Operation, tensor_type
from ...ir import Value as IrValue

MAX_OPERATIONS = 24
"""Operations of a chain: all values of an element stay in registers."""

IsElementwise = Callable[[Operation], bool]
"""Whether an operation computes an array element by element."""


def fused_into_users(block: Block, is_elementwise: IsElementwise, updates: frozenset[str]) -> set[Operation]:
    """The elementwise operations of a block whose elements the loop of their only user computes.

    Args:
        updates: names of operations that may change arrays.
    """
    users = _users(block)
    positions = {operation: position for position, operation in enumerate(block.operations)}
    changing = [
        position
        for position, operation in enumerate(block.operations)
        if operation.name in updates or operation.regions
    ]
    last: dict[Operation, Operation] = {}
    lengths: dict[Operation, int] = {}
    for operation in reversed(block.operations):
        if not is_elementwise(operation):
            continue
        last[operation], lengths[operation] = operation, 1
        users_of_it = users.get(operation.result, [])
        if len(users_of_it) != 1 or users_of_it[0] not in last:
            continue
        (user,) = users_of_it
        if tensor_type(user.result).shape != tensor_type(operation.result).shape:
            continue
        end = last[user]
        is_unchanged = not any(positions[operation] < position < positions[end] for position in changing)
        if is_unchanged and lengths[end] < MAX_OPERATIONS:
            last[operation] = end
            lengths[end] += 1
    return {operation for operation, end in last.items() if end is not operation}


def chain(operation: Operation, is_fused: Callable[[Operation], bool]) -> list[Operation]:
    """The operations that an operation's loop computes, in order of use, the operation itself last.

    Args:
        is_fused: whether the loop computes an operation whose result it reads.
    """
    ordered: dict[Operation, None] = {}

    def enter(operation: Operation) -> None:
        for operand in operation.operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner not in ordered and is_fused(owner):
                enter(owner)
        ordered[operation] = None

    enter(operation)
    return list(ordered)


def _users(block: Block) -> dict[IrValue, list[Operation]]:
    """The operations that use each value, those in regions included."""
    users: dict[IrValue, dict[Operation, None]] = {}
    for operation in block.operations:
        for inner in operation.walk():
            for operand in inner.operands:
                users.setdefault(operand, {})[inner] = None
    return {value: list(ordered) for value, ordered in users.items()}
