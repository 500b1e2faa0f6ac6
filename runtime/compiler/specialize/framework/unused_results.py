"""Removes unused results of operations with several results, and the operations that only they needed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

from ....program.ir import Block, Operation, Value
from ....program.ops.framework.declaration import declaration_of
from .operation_classes import has_no_effect, is_pure
from .rewriter import dimensions


def drop_unused_results(operation: Operation, used: Container[Value]) -> None:
    """Remove, in place, the results that are not in `used`, and the operations that only they need."""
    if len(operation.results) == 1 and not operation.regions:
        return
    rule = RULES.get(declaration_of(operation).unused_results)
    if rule is not None and not all(result in used for result in operation.results):
        rule(operation, used)


def _live_indices(
    blocks: Sequence[Block], roots: Sequence[Value], live: Iterable[int], returned: Sequence[Value]
) -> list[int]:
    """The positions of carried values that are live, or from which roots or live ones are computed, in order.

    Args:
        blocks: their arguments are the carried values, once or several times in the same order.
        roots: values that are needed in any case.
        live: positions of values that are needed.
        returned: what the last block returns for each position.
    """
    definitions = {
        result: operation
        for block in blocks
        for operation in block.operations
        for result in operation.results
    }
    positions = {
        argument: index % len(returned) for block in blocks for index, argument in enumerate(block.arguments)
    }
    live = set(live)
    reached: set[Value] = set()
    pending = [*roots, *[returned[index] for index in live]]
    while pending:
        value = pending.pop()
        if value in reached:
            continue
        reached.add(value)
        if value in definitions:
            pending += operands_within(definitions[value])
        elif value in positions and positions[value] not in live:
            live.add(positions[value])
            pending.append(returned[positions[value]])
    return sorted(live)


def operands_within(operation: Operation) -> Sequence[Value]:
    """The operands of an operation and of the operations in its regions."""
    if not operation.regions:
        return operation.operands
    return [operand for inner in operation.walk() for operand in inner.operands]


def select_values(items: Sequence[Value], indices: Sequence[int]) -> tuple[Value, ...]:
    """The results or arguments at `indices`, with new numbers."""
    selected = tuple([items[index] for index in indices])
    for index, value in enumerate(selected):
        value.index = index
    return selected


def _keep_operands(operation: Operation, indices: Sequence[int]) -> None:
    operation.operands = tuple([operation.operands[index] for index in indices])


def _while(operation: Operation, used: Container[Value]) -> None:
    """Keep the carried values that a used result, the condition or an effect needs."""
    blocks = [region.block for region in operation.regions]
    cond, body = blocks
    roots = [*cond.terminator.operands]
    for block in blocks:
        for inner in block.operations[:-1]:
            roots += [] if has_no_effect(inner) else operands_within(inner)
    live = [index for index, result in enumerate(operation.results) if result in used]
    indices = _live_indices(blocks, roots, live, body.terminator.operands)
    if not indices or len(indices) == len(operation.results):
        return
    _keep_operands(operation, indices)
    _keep_operands(body.terminator, indices)
    operation.results = select_values(operation.results, indices)
    for block in blocks:
        block.arguments = select_values(block.arguments, indices)


def _branches(operation: Operation, used: Container[Value]) -> None:
    """Keep the values that the branches return for used results."""
    indices = [index for index, result in enumerate(operation.results) if result in used]
    for region in operation.regions:
        _keep_operands(region.block.terminator, indices)
    operation.results = select_values(operation.results, indices)


def _sort(operation: Operation, used: Container[Value]) -> None:
    """Keep the inputs whose results are used, and the inputs that the comparator reads."""
    block = operation.regions[0].block
    compared = {operand for inner in block.operations for operand in operands_within(inner)}
    indices = [
        index
        for index, result in enumerate(operation.results)
        if result in used or not compared.isdisjoint(block.arguments[2 * index : 2 * index + 2])
    ]
    if not indices:
        return
    _keep_operands(operation, indices)
    operation.results = select_values(operation.results, indices)
    block.arguments = select_values(
        block.arguments, [2 * index + side for index in indices for side in (0, 1)]
    )


def _arg_sort(operation: Operation, used: Container[Value]) -> None:
    """Keep the sorted inputs that are used, and the positions."""
    # Not at the top: only programs that sort import the operation.
    from ....program.ops.intermediate.arg_sort import ArgSort

    view = ArgSort(operation)
    last = len(view.returned)
    indices = [index for index in range(last) if operation.results[index] in used]
    operation.attributes = {
        **operation.attributes,
        **dimensions(returned=[view.returned[index] for index in indices]),
    }
    operation.results = select_values(operation.results, [*indices, last])


def _reduce(operation: Operation, used: Container[Value]) -> None:
    """Keep the inputs whose results are used, and the inputs on which these depend by the body."""
    block, count = operation.regions[0].block, len(operation.results)
    if not is_pure(block):
        return
    live = [index for index, result in enumerate(operation.results) if result in used]
    indices = _live_indices([block], [], live, block.terminator.operands)
    if not indices or len(indices) == count:
        return
    body_arguments = [*indices, *[count + index for index in indices]]
    _keep_operands(operation, body_arguments)
    _keep_operands(block.terminator, indices)
    operation.results = select_values(operation.results, indices)
    block.arguments = select_values(block.arguments, body_arguments)


RULES: Final[Mapping[str, Callable[[Operation, Container[Value]], None]]] = {
    "arg_sort": _arg_sort,
    "branches": _branches,
    "loop": _while,
    "reduce": _reduce,
    "sort": _sort,
}
"""The rules that declarations name (`Facts.unused_results`)."""
