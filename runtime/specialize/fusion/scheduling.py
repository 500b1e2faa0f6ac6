"""Puts the operations of a block into an order in which each one follows what it uses."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import Operation, Value, used_values
from ..utils.effects import has_no_effect


def by_use(operations: Iterable[Operation], results: Iterable[Value]) -> list[Operation]:
    """Operations without effects in an order that only depends on how results come from them.

    Where equal ones stood among others does not count.
    """
    given = list(operations)
    producers = {result: operation for operation in given for result in operation.results}
    ordered: dict[Operation, None] = {}
    waiting = [producers[result] for result in results if result in producers][::-1]
    while waiting:
        operation = waiting[-1]
        used = used_values(operation)
        missing = [producers[value] for value in used if value in producers]
        missing = [] if operation in ordered else [one for one in missing if one not in ordered]
        if missing:
            waiting += reversed(missing)
        else:
            ordered[waiting.pop()] = None
    return [*ordered, *(operation for operation in given if operation not in ordered)]


def in_order(operations: Iterable[Operation]) -> list[Operation]:
    """The operations, in their order where that is possible; those with effects keep theirs.

    The last one, the terminator, stays the last one. There must be such an order.
    """
    given = list(operations)
    if _is_in_order(given):
        return given
    producers = {result: operation for operation in given for result in operation.results}
    before: dict[Operation, list[Operation]] = {}
    latest_effect: Operation | None = None
    for operation in given:
        values = used_values(operation)
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


def _is_in_order(operations: list[Operation]) -> bool:
    """Whether each operation follows what it uses."""
    left = {result for operation in operations for result in operation.results}
    for operation in operations:
        if not left.isdisjoint(used_values(operation)):
            return False
        left.difference_update(operation.results)
    return True
