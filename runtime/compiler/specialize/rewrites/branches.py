"""Rewrites of `if` and `case` with a known branch."""

from __future__ import annotations

from collections.abc import Sequence

from ....program.ir import Operation, Region, Value
from ..framework.rewriter import Rewriter, splat


def if_by_constant(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """``if`` with a constant predicate is the branch that it takes."""
    pred = splat(operation.operands[0])
    return None if pred is None else _inlined_branch(operation, operation.regions[0 if pred else 1], rewriter)


def case_by_constant(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """``case`` with a constant index is the branch that it takes; so it is with one branch."""
    count = len(operation.regions)
    index = splat(operation.operands[0]) if count > 1 else 0
    if index is None:
        return None
    return _inlined_branch(operation, operation.regions[int(index) if 0 <= index < count else -1], rewriter)


def _inlined_branch(operation: Operation, branch: Region, rewriter: Rewriter) -> Sequence[Value] | None:
    if branch.type.results != tuple([result.type for result in operation.results]):
        return None
    block = branch.block
    rewriter.insert_all(block.operations[:-1])
    return [rewriter.current(value) for value in block.terminator.operands]
