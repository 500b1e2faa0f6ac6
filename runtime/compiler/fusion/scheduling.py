"""Orders the operations of a block: each follows those whose results it uses; reductions follow soon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ...program.ir import Operation, Region, Value, used_values
from ...program.ops.framework.memory_limit import bytes_of
from ...program.ops.internal.fusion import REDUCTION_FUSION
from ..specialize.utils.operation_classes import has_no_effect, is_control_flow, is_reduction


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


def reduce_early(region: Region, stays_unfused: Callable[[Operation], bool] = lambda _: False) -> None:
    """Move reductions to where their operands are computed, in place, if fewer bytes are alive then.

    Args:
        region: a region whose fusions are formed.
        stays_unfused: tells which control flow keeps its regions as they are.
    """
    block = region.block
    for operation in block.operations:
        if is_control_flow(operation) and not stays_unfused(operation):
            for inner in operation.regions:
                reduce_early(inner, stays_unfused)
    if any(map(_reduces, block.operations)):
        block.operations = _with_early_reductions(block.operations)


def _with_early_reductions(operations: list[Operation]) -> list[Operation]:
    """Operations in order, but each reduction that frees memory after the last producer of its operands."""
    use_counts = Counter(value for operation in operations for value in used_values(operation))
    ranks: dict[Operation, int] = {}
    """For a moved reduction the rank of the operation after which it is put; for others their own rank."""
    followers: dict[Operation, list[Operation]] = {}
    for rank, operation in enumerate(operations):
        ranks[operation] = rank
        if not _reduces(operation) or not has_no_effect(operation):
            continue
        producers = [value.owner for value in used_values(operation) if value.owner in ranks]
        freed = [value for value in operation.operands if value.owner in ranks and use_counts[value] == 1]
        if _bytes_of_all(freed) > _bytes_of_all(operation.results):
            latest = max(ranks[producer] for producer in producers)
            ranks[operation] = latest
            followers.setdefault(operations[latest], []).append(operation)
    moved = {operation for ones in followers.values() for operation in ones}
    return [
        one
        for operation in operations
        if operation not in moved
        for one in (operation, *followers.get(operation, ()))
    ]


def _reduces(operation: Operation) -> bool:
    return is_reduction(operation) or operation.name == REDUCTION_FUSION


def _bytes_of_all(values: Iterable[Value]) -> int:
    return sum(bytes_of(value.type) for value in values)
