"""Chains of operations that share the loop of an elementwise one.

The loop of an operation also computes its splat constants, and operands that no other operation reads. It
reads the elements of a broadcast or another view from the operand of the view.
"""

from __future__ import annotations

from collections.abc import Callable

from ....program.ir import Block, Operation, tensor_type
from ....program.ir import Value as IrValue
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.traits import Memory, Movement
from ..scalars.in_place_updates import memory_of

MAX_FUSED_OPS = 24
"""Maximum operations of a chain, so that all values of an element stay in registers."""

IsKind = Callable[[Operation], bool]
"""A predicate of operations."""


def fused_into_users(
    block: Block, is_elementwise: IsKind, has_elements: IsKind, is_view: IsKind
) -> set[Operation]:
    """The operations and views of a block that the loops of their elementwise users compute.

    An operation is fused if it has one user, so that nothing is computed twice. So is a transpose: each
    strided read takes as long as transposing.

    Args:
        is_elementwise: whether an operation computes an array element by element.
        has_elements: whether the loop of another operation can compute the elements of an operation that is
            not elementwise.
        is_view: whether an operation's result has elements of its operand.
    """
    users = _users(block)
    positions = {operation: position for position, operation in enumerate(block.operations)}
    changing = [
        position
        for position, operation in enumerate(block.operations)
        if memory_of(operation) is Memory.UPDATES or operation.regions
    ]

    def is_unchanged(operation: Operation, end: Operation) -> bool:
        return not any(positions[operation] < position < positions[end] for position in changing)

    last: dict[Operation, Operation] = {}
    lengths: dict[Operation, int] = {}
    views: dict[Operation, Operation] = {}
    for operation in reversed(block.operations):
        if is_view(operation):
            readers = [last.get(user) or views.get(user) for user in users.get(operation.result, [])]
            ends = [reader for reader in readers if reader is not None]
            is_strided = declaration_of(operation).movement is Movement.TRANSPOSE
            if ends and len(ends) == len(readers) and not (is_strided and len(ends) > 1):
                end = max(ends, key=positions.__getitem__)
                if is_unchanged(operation, end):
                    views[operation] = end
            continue
        if is_elementwise(operation):
            last[operation], lengths[operation] = operation, 1
        elif not has_elements(operation):
            continue
        users_of_it = users.get(operation.result, [])
        if len(users_of_it) != 1 or users_of_it[0] not in last or not is_elementwise(users_of_it[0]):
            continue
        (user,) = users_of_it
        if tensor_type(user.result).shape != tensor_type(operation.result).shape:
            continue
        end = last[user]
        if is_unchanged(operation, end) and lengths[end] < MAX_FUSED_OPS:
            last[operation] = end
            lengths[end] += 1
    return {operation for operation, end in last.items() if end is not operation} | set(views)


def chain(operation: Operation, is_fused: Callable[[Operation], bool]) -> list[Operation]:
    """The operations that an operation's loop computes, in topological order; the operation itself is last.

    Args:
        is_fused: whether the loop computes an operation whose result it reads.
    """
    ordered: dict[Operation, None] = {}

    def visit(operation: Operation) -> None:
        for operand in operation.operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner not in ordered and is_fused(owner):
                visit(owner)
        ordered[operation] = None

    visit(operation)
    return list(ordered)


def _users(block: Block) -> dict[IrValue, list[Operation]]:
    """The operations that use each value, including operations in regions."""
    users: dict[IrValue, dict[Operation, None]] = {}
    for operation in block.operations:
        for inner in operation.walk():
            for operand in inner.operands:
                users.setdefault(operand, {})[inner] = None
    return {value: list(ordered) for value, ordered in users.items()}
