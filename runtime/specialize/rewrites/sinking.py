"""Moves operations whose results only one branch uses into that branch."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...ir import Block, Operation, Region, Value
from ...types import TensorType
from ..utils.effects import CONTROL_FLOW, has_no_effect

_BRANCHING: Final = frozenset({"stablehlo.case", "stablehlo.if"})
_OVERWRITING: Final = frozenset({"stablehlo.dynamic_update_slice", "stablehlo.scatter", "stablehlo.while"})
"""They may write to the memory of their operands, unless a later operation reads them."""


class _Use(NamedTuple):
    """A use of a value: by an operation of a block, or in one of the operation's regions."""

    user: Operation
    region: Region | None


def sink_into_branches(region: Region) -> None:
    """Move operations into the only branch that uses their results, in place, in all blocks of a program.

    An operation stays where moving it would keep more memory alive than it saves, or would make an operation
    copy an array that it could have overwritten.
    """
    block = region.block
    if any(operation.name in _BRANCHING for operation in block.operations):
        _sink(block)
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for inner in operation.regions:
                sink_into_branches(inner)


def _sink(block: Block) -> None:
    uses = _uses(block)
    remaining: list[Operation] = []
    for operation in reversed(block.operations):
        branch = _only_branch(operation, uses)
        if branch is None or not _may_sink(operation, uses):
            remaining.append(operation)
            continue
        user = uses[operation.results[0]][0].user
        branch.block.operations.insert(0, operation)
        branch.is_isolated = False
        for operand in operation.operands:
            uses[operand] = [use for use in uses[operand] if use.user is not operation]
            uses[operand].append(_Use(user, branch))
    block.operations = remaining[::-1]


def _uses(block: Block) -> dict[Value, list[_Use]]:
    """The uses of each value in a block, in the order of its operations."""
    uses: dict[Value, list[_Use]] = {}
    for operation in block.operations:
        for operand in operation.operands:
            uses.setdefault(operand, []).append(_Use(operation, None))
        for region in operation.regions:
            for inner in region.walk():
                for operand in inner.operands:
                    uses.setdefault(operand, []).append(_Use(operation, region))
    return uses


def _only_branch(operation: Operation, uses: dict[Value, list[_Use]]) -> Region | None:
    """The branch of an `if` or `case` that alone uses an operation's results."""
    users = {use for result in operation.results for use in uses.get(result, ())}
    if len(users) != 1:
        return None
    (use,) = users
    return use.region if use.user.name in _BRANCHING else None


def _may_sink(operation: Operation, uses: dict[Value, list[_Use]]) -> bool:
    if operation.name == "stablehlo.constant" or operation.regions or not has_no_effect(operation):
        return False
    operands = dict.fromkeys(operation.operands)
    if sum(map(_bytes, operands)) > sum(map(_bytes, operation.results)):
        return False
    return not any(use.user.name in _OVERWRITING for operand in operands for use in uses[operand])


def _bytes(value: Value) -> float:
    """The memory of a tensor of known sizes; infinite for any other value, so that its user stays."""
    type = value.type
    if not isinstance(type, TensorType) or not type.is_static:
        return float("inf")
    return float(type.size * type.dtype.itemsize)
