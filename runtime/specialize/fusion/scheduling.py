"""Orders the operations of a block so that each follows the operations whose results it uses."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import Operation, Value, used_values
from ..utils.effects import has_no_effect


def canonical_order(operations: Iterable[Operation], results: Iterable[Value]) -> list[Operation]:
    """Operations without effects, in an order that depends only on the dataflow to the results.

    Blocks that compute the same in different orders get the same order.
    """
    unordered = list(operations)
    producers = {result: operation for operation in unordered for result in operation.results}
    ordered: dict[Operation, None] = {}
    pending = [producers[result] for result in results if result in producers][::-1]
    while pending:
        operation = pending[-1]
        operands = used_values(operation)
        missing = [producers[value] for value in operands if value in producers]
        missing = [] if operation in ordered else [current for current in missing if current not in ordered]
        if missing:
            pending += reversed(missing)
        else:
            ordered[pending.pop()] = None
    return [*ordered, *(operation for operation in unordered if operation not in ordered)]


def topological_order(operations: Iterable[Operation]) -> list[Operation]:
    """A topological order that stays close to the given order; operations with effects keep theirs.

    The terminator stays last. The operations must have no cycle.
    """
    unordered = list(operations)
    if _is_in_order(unordered):
        return unordered
    producers = {result: operation for operation in unordered for result in operation.results}
    before: dict[Operation, list[Operation]] = {}
    latest_effect: Operation | None = None
    for operation in unordered:
        values = used_values(operation)
        needed = dict.fromkeys(producers[value] for value in values if value in producers)
        if not has_no_effect(operation):
            if latest_effect is not None:
                needed[latest_effect] = None
            latest_effect = operation
        before[operation] = list(needed)
    ordered: dict[Operation, None] = {}
    for operation in unordered:
        pending = [operation]
        while pending:
            missing = [needed for needed in before[pending[-1]] if needed not in ordered]
            if pending[-1] in ordered or not missing:
                ordered[pending.pop()] = None
            else:
                pending += reversed(missing)
    return list(ordered)


def _is_in_order(operations: list[Operation]) -> bool:
    """Whether each operation follows the operations whose results it uses."""
    undefined = {result for operation in operations for result in operation.results}
    for operation in operations:
        if not undefined.isdisjoint(used_values(operation)):
            return False
        undefined.difference_update(operation.results)
    return True
