"""Orders the operations of a block: after what they use, reductions soon, updates late."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from ...program.ir import Operation, Region, Value, used_values
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.memory_limit import bytes_of
from ...program.ops.framework.traits import Memory, RegionRole
from ...program.ops.intermediate.fusion import REDUCTION_FUSION
from ...types import TensorType
from ..specialize.framework.operation_classes import has_no_effect, is_control_flow, is_reduction


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
    undefined = {result for operation in unordered for result in operation.results}
    preceding: dict[Operation, Operation] | None = None
    ordered: dict[Operation, None] = {}
    for operation in unordered:
        pending = [operation]
        while pending:
            current = pending[-1]
            if current in ordered:
                pending.pop()
                continue
            used = used_values(current)
            missing: list[Any] = []
            if not undefined.isdisjoint(used):
                missing = list(dict.fromkeys([value.owner for value in used if value in undefined]))
            if current is not operation and not has_no_effect(current):
                # Operations with effects that precede `operation` are ordered already.
                if preceding is None:
                    effects = [one for one in unordered if not has_no_effect(one)]
                    preceding = dict(zip(effects[1:], effects[:-1], strict=True))
                earlier = preceding.get(current)
                if earlier is not None and earlier not in ordered and earlier not in missing:
                    missing.append(earlier)
            if missing:
                pending += reversed(missing)
            else:
                ordered[pending.pop()] = None
                undefined.difference_update(current.results)
    return list(ordered)


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


def update_late(region: Region) -> None:
    """Move updates of arrays behind the operations that read these arrays, in place.

    An update can then overwrite its operand, which otherwise has to be copied for the later readers.
    """
    block = region.block
    for operation in block.operations:
        if is_control_flow(operation):
            for inner in operation.regions:
                update_late(inner)
    updates = [operation for operation in block.operations if _updated_values(operation)]
    if not updates:
        return
    roots = _roots(block.operations)
    readers: defaultdict[Value, list[Operation]] = defaultdict(list)
    for operation in block.operations[:-1]:
        for value in used_values(operation):
            readers[roots.get(value, value)].append(operation)
    ranks = {operation: rank for rank, operation in enumerate(block.operations)}
    # Twice, since what moves with an update may read the operand of another one, which then follows.
    for update in (*updates, *updates):
        updated = [roots.get(value, value) for value in _updated_values(update)]
        if any(ranks[reader] > ranks[update] for value in updated for reader in readers[value]):
            block.operations = _behind_readers(block.operations, update, roots)
            ranks = {operation: rank for rank, operation in enumerate(block.operations)}


def _updated_values(operation: Operation) -> list[Value]:
    """The operands whose memory an operation may update: those that it changes in part, or in a loop."""
    facts = declaration_of(operation)
    values: list[Value] = []
    if facts.memory is Memory.UPDATES:
        values = [*operation.operands[: len(operation.results)]]
    elif facts.region_role is RegionRole.LOOP:
        body = operation.regions[-1].block
        triples = zip(operation.operands, body.arguments, body.terminator.operands, strict=True)
        values = [operand for operand, argument, returned in triples if returned is not argument]
    return [value for value in values if isinstance(value.type, TensorType) and value.type.size > 1]


def _roots(operations: Iterable[Operation]) -> dict[Value, Value]:
    """Maps each view to the value whose memory it may share."""
    roots: dict[Value, Value] = {}
    for operation in operations:
        memory = declaration_of(operation).memory
        if memory in (Memory.FLAT_VIEW, Memory.STRIDED_VIEW, Memory.FORWARDS):
            # Only operations that forward have several results.
            for result, operand in zip(operation.results, operation.operands, strict=False):
                roots[result] = roots.get(operand, operand)
    return roots


def _behind_readers(
    operations: list[Operation], update: Operation, roots: dict[Value, Value]
) -> list[Operation]:
    """The operations, but an update and what depends on it behind the last other reader of its operands."""
    updated = {roots.get(value, value) for value in _updated_values(update)}
    first, last = operations.index(update), 0
    moving, changed = {update: None}, {*update.results}
    followers: list[tuple[int, Operation]] = []
    for number in range(first + 1, len(operations) - 1):
        operation = operations[number]
        used = used_values(operation)
        if not changed.isdisjoint(used):
            followers.append((number, operation))
            changed.update(operation.results)
        elif not updated.isdisjoint([roots.get(value, value) for value in used]) and updated.isdisjoint(
            [roots.get(value, value) for value in _updated_values(operation)]
        ):
            last = number
    if not last:
        return operations
    moving.update({operation: None for number, operation in followers if number < last})
    staying = [operation for operation in operations[first : last + 1] if operation not in moving]
    if not all(map(has_no_effect, moving)) and not all(map(has_no_effect, staying)):
        return operations
    return [*operations[:first], *staying, *moving, *operations[last + 1 :]]
