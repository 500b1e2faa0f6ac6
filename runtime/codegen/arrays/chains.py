"""Chains of elementwise operations: those whose only user reads them element by element are made there, and
constants whose elements are equal by each user."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Block, Operation
from ...ir import Value as IrValue

MAX_OPERATIONS = 24
"""Operations of a chain: what it computes at a time stays in registers."""

IsElementwise = Callable[[Operation], bool]
"""Whether an operation makes an array element by element."""


def fused_into_users(block: Block, is_elementwise: IsElementwise, updates: frozenset[str]) -> set[Operation]:
    """The elementwise operations of a block whose elements the loop of their only user makes.

    Args:
        updates: names of operations that may change arrays.
    """
    users = _users(block)
    places = {operation: place for place, operation in enumerate(block.operations)}
    changing = [
        place
        for place, operation in enumerate(block.operations)
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
        if user.result.type.shape != operation.result.type.shape:  # type: ignore[union-attr]
            continue
        end = last[user]
        is_unchanged = not any(places[operation] < place < places[end] for place in changing)
        if is_unchanged and lengths[end] < MAX_OPERATIONS:
            last[operation] = end
            lengths[end] += 1
    return {operation for operation, end in last.items() if end is not operation}


def chain(operation: Operation, is_made: Callable[[Operation], bool]) -> list[Operation]:
    """The operations that an operation's loop makes, it last, each behind those that it uses.

    Args:
        is_made: tells of each whose result the loop reads whether it makes it.
    """
    found: dict[Operation, None] = {}

    def enter(operation: Operation) -> None:
        for operand in operation.operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner not in found and is_made(owner):
                enter(owner)
        found[operation] = None

    enter(operation)
    return list(found)


def _users(block: Block) -> dict[IrValue, list[Operation]]:
    """The operations that use each value, those in regions included."""
    users: dict[IrValue, dict[Operation, None]] = {}
    for operation in block.operations:
        for inner in operation.walk():
            for operand in inner.operands:
                users.setdefault(operand, {})[inner] = None
    return {value: list(found) for value, found in users.items()}
