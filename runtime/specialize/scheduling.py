"""Puts the operations of a block into an order in which each one follows what it uses."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import Operation, captured_values
from .effects import has_no_effect


def in_order(operations: Iterable[Operation]) -> list[Operation]:
    """The operations, in their order where that is possible; those with effects keep theirs.

    The last one, the terminator, stays the last one. There must be such an order.
    """
    given = list(operations)
    producers = {result: operation for operation in given for result in operation.results}
    before: dict[Operation, list[Operation]] = {}
    latest_effect: Operation | None = None
    for operation in given:
        values = (*operation.operands, *captured_values(operation.regions))
        needed = dict.fromkeys(producers[value] for value in values if value in producers)
        if not has_no_effect(operation):
            if latest_effect is not None:
                needed[latest_effect] = None
            latest_effect = operation
        before[operation] = list(needed)
    ordered: dict[Operation, None] = {}
    for operation in given:
        waiting = [operation]
        while waiting:
            missing = [needed for needed in before[waiting[-1]] if needed not in ordered]
            if waiting[-1] in ordered or not missing:
                ordered[waiting.pop()] = None
            else:
                waiting += reversed(missing)
    return list(ordered)
