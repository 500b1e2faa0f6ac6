"""Inlines calls of outlined functions again, once rows of these functions are fused.

Whatever else is fused, is fused as if the functions had not been outlined: over their boundaries, and values
that are kept for later are computed where that takes the least memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....program.ir import Block, Function, Operation, Region, Value, copy_region
from ....program.ops.control.control import Call
from ..framework.cleanup import remove_dead_code
from .outlined_calls import IS_INLINED_LATER
from .repeated_subgraphs import is_recomputed_by_users


def inline_fused_calls(function: Function) -> list[Block]:
    """Inline the calls of the callees that are marked, in place; these are callees no longer.

    Returns:
        The blocks of these callees.
    """
    marked = [callee for callee in function.callees if IS_INLINED_LATER in callee.attributes]
    if not marked:
        return []
    inlined = [callee.body for callee in marked if callee.body is not None]
    function.callees = [callee for callee in function.callees if callee not in marked]
    inliner = _Inliner({callee.name: body.block for callee, body in zip(marked, inlined, strict=True)})
    # A function calls only functions that were outlined before it.
    for body in (*inlined, *function.bodies):
        inliner.visit(body.block)
    for body in function.bodies:
        remove_dead_code(body)
    return [body.block for body in inlined]


class _Inliner:
    """Inlines calls in one block after another.

    Args:
        called: the blocks of the functions by name.
    """

    def __init__(self, called: Mapping[str, Block]) -> None:
        self.called = called
        self.remaining: list[Operation] = []
        self.repeatable: dict[tuple[object, ...], Operation] = {}
        """The constants and moves of the block; a call's are replaced by equal ones before it."""

    def visit(self, block: Block) -> None:
        """Inline the calls of a block."""
        self.remaining, self.repeatable = [], {}
        values: dict[Value, Value] = {}
        for operation in block.operations:
            for nested in operation.walk():
                nested.replace_operands(values)
            if operation.name == Call.name and str(operation.attributes["callee"]) in self.called:
                body = self.called[str(operation.attributes["callee"])]
                values.update(zip(operation.results, self.results_of(body, operation.operands), strict=True))
            else:
                self.append(operation, values, operation)
        block.operations = self.remaining

    def results_of(self, body: Block, operands: Sequence[Value]) -> list[Value]:
        """The results of a function whose operations are appended."""
        values = dict(zip(body.arguments, operands, strict=True))
        for operation in body.operations[:-1]:
            used = tuple([values[operand] for operand in operation.operands])
            copied = operation.clone(used, [_copied(region) for region in operation.regions])
            self.append(copied, values, operation)
        return [values[returned] for returned in body.terminator.operands]

    def append(self, operation: Operation, values: dict[Value, Value], original: Operation) -> None:
        """Append an operation, unless it repeats one; `values` maps the original's results to its own."""
        if is_recomputed_by_users(operation):
            # By identity: copies share types and attributes.
            key = (operation.operands, operation.name, id(operation.attributes), id(operation.result.type))
            equal = self.repeatable.setdefault(key, operation)
            if equal is not original:
                values[original.result] = equal.result
            if equal is not operation:
                return
        elif operation is not original:
            values.update(zip(original.results, operation.results, strict=True))
        self.remaining.append(operation)


def _copied(region: Region) -> Region:
    """A copy of a region, but for that of a fusion, which nothing changes."""
    return region if region.is_isolated else copy_region(region, {})
