"""Checks whether a block can update arrays in place: no read of an array may follow its update."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....program.ir import Block, Operation, Value, captured_values
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.traits import Memory, RegionRole
from ....types import Type
from .elements import MAX_ALLOCATED_ELEMENTS, is_large, is_small

IsInPlace = Callable[[Type], bool]
"""Whether tensors of a type are updated in place."""


def memory_of(operation: Operation) -> Memory:
    """The memory of an operation's results, as its declaration states it."""
    return declaration_of(operation).memory


def _allocates_results(operation: Operation) -> bool:
    """Whether code of blocks allocates the memory of an operation's results, if they are arrays.

    Constants are part of the code, and a slice at dynamic indices may lie within an array that nothing
    updates.
    """
    declaration = declaration_of(operation)
    is_window = declaration.memory is Memory.STRIDED_VIEW and declaration.movement is None
    return declaration.memory is not Memory.CREATES and not is_window


def role_of(operation: Operation) -> RegionRole:
    """What an operation's regions are for."""
    return declaration_of(operation).region_role


def _is_in_memory(type: Type) -> bool:
    """Whether blocks of scalars hold tensors of a type as `Storage`."""
    return not is_small(type)


def check_in_place_updates(
    block: Block,
    own: Sequence[Value],
    is_in_place: IsInPlace = _is_in_memory,
    are_copied: bool = False,
    copying: set[Operation] | None = None,
    max_allocated: int = MAX_ALLOCATED_ELEMENTS,
) -> str | None:
    """Why the arrays that a block uses cannot be updated in place; None if they can.

    Args:
        block: a loop's condition or body.
        own: the carried values, which the block may update and must return, each at its position; empty if
            the block may not update anything.
        is_in_place: whether tensors of a type are updated in place.
        are_copied: whether the block and its loops may return arrays in other memory, which are copied.
        copying: receives the updates of arrays that must be copied before: the others can be in place then.
        max_allocated: maximum elements of an array that the block may allocate.
    """
    while True:
        homes = {value: value for value in own if is_in_place(value.type)}
        max_copied = max_allocated if are_copied else 0
        checker = _AliasChecker(homes, set(own), is_in_place, max_copied, copying or set())
        reason = checker.check_block(block)
        if reason is None:
            break
        if copying is None or checker.culprit is None or checker.culprit in copying:
            return reason
        copying.add(checker.culprit)
    for value, expected in zip(block.terminator.operands, own, strict=bool(own)):
        home = checker.home_of(value)
        is_copied = are_copied and (home not in own or not is_large(value.type, max_allocated))
        if is_in_place(value.type) and home is not expected and not is_copied:
            return "returns an array at another position"
    return None


class _AliasChecker:
    """Visits a block in order and tracks which values share memory.

    Attributes:
        homes: for each array the value that owns its memory.
        writable: the values whose memory may be written.
        stale: values whose memory holds a later version.
        updates: for each value that an update made stale, that update.
        max_copied: maximum elements of an array that loops and branches may copy.
        copying: the updates that write to a copy of their operand.
        culprit: the update that is to write to a copy, so that the reason for which a check failed is gone.
    """

    def __init__(
        self,
        homes: dict[Value, Value],
        writable: set[Value],
        is_in_place: IsInPlace,
        max_copied: int,
        copying: set[Operation],
    ) -> None:
        self.is_in_place = is_in_place
        self.max_copied = max_copied
        self.copying = copying
        self.homes = homes
        self.writable = writable
        self.stale: set[Value] = set()
        self.updates: dict[Value, Operation] = {}
        self.culprit: Operation | None = None

    def home_of(self, value: Value) -> Value:
        """The value that owns the memory of an array; a captured array owns its own."""
        return self.homes.setdefault(value, value)

    def homes_in_place(self, values: Sequence[Value]) -> list[Value | None]:
        """The homes of the values that are updated in place, and None for the others."""
        return [self.home_of(value) if self.is_in_place(value.type) else None for value in values]

    def check_block(self, block: Block) -> str | None:
        """Visit a block's operations and its terminator."""
        for operation in block.operations:
            for operand in operation.operands:
                if operand in self.stale:
                    self.culprit = self.updates.get(operand)
                    return "an array is used after its update"
            reason = self.check_operation(operation)
            if reason is not None:
                return reason
        return None

    def check_operation(self, operation: Operation) -> str | None:
        declaration = declaration_of(operation)
        memory, role = declaration.memory, declaration.region_role
        if memory is Memory.UPDATES:
            return self.update(operation)
        if role is RegionRole.LOOP:
            return self.loop(operation)
        if memory.keeps_order:
            for operand, result in zip(operation.operands, operation.results, strict=True):
                self.homes[result] = self.home_of(operand)
        elif role.runs_once:
            return self.fusion(operation)
        elif role is RegionRole.BRANCHES:
            return self.branches(operation)
        elif _allocates_results(operation):
            self.writable.update(operation.results)
        # Other regions work on elements: they neither use nor update arrays from outside.
        return None

    def update(self, operation: Operation) -> str | None:
        """The result overwrites the first operand."""
        operand, result = operation.operands[0], operation.results[0]
        if not self.is_in_place(operand.type) or operation in self.copying:
            self.writable.add(result)
            return None
        home = self.home_of(operand)
        self.culprit = operation
        if home not in self.writable:
            return "updates an array that is not the loop's own"
        if any(self.homes.get(other) is home for other in operation.operands[1:]):
            return "updates an array by itself"
        self.culprit = None
        replaced = {value for value, value_home in self.homes.items() if value_home is home}
        self.updates.update(dict.fromkeys(replaced - self.stale, operation))
        self.stale |= replaced
        self.homes[result] = home
        return None

    def fusion(self, operation: Operation) -> str | None:
        """Arguments alias the operands, and results alias the returned values."""
        block = operation.regions[0].block
        for operand, argument in zip(operation.operands, block.arguments, strict=True):
            self.homes[argument] = self.home_of(operand)
        reason = self.check_block(block)
        for value, result in zip(block.terminator.operands, operation.results, strict=True):
            self.homes[result] = self.home_of(value)
        return reason

    def branches(self, operation: Operation) -> str | None:
        """Each branch may update arrays. The values that branches return at a position must share memory, or
        may be copied to memory of the operation."""
        before, after = set(self.stale), set(self.stale)
        homes: list[list[Value | None]] = []
        for region in operation.regions:
            self.stale = set(before)
            reason = self.check_block(region.block)
            if reason is not None:
                return reason
            returned = region.block.terminator.operands
            homes.append(
                [
                    result if home is not None and self.may_copy(home.type) else home
                    for result, home in zip(operation.results, self.homes_in_place(returned), strict=True)
                ]
            )
            after |= self.stale - set(returned)
        if any(other != homes[0] for other in homes):
            return "branches return different arrays"
        self.stale = after
        self.writable.update(set(operation.results) & set(homes[0]))
        self.alias_results(operation, homes[0])
        return None

    def loop(self, operation: Operation) -> str | None:
        """The arrays that an inner loop carries keep their memory, or are copied to memory of the loop."""
        cond, body = (region.block for region in operation.regions)
        homes = self.homes_in_place(operation.operands)
        copied = [home is not None and self.may_copy(home.type) for home in homes]
        shared = [home for home, is_copied in zip(homes, copied, strict=True) if home and not is_copied]
        if len(set(shared)) < len(shared):
            return "an inner loop carries an array twice"
        writable = self.writable
        for block, may_write in ((cond, set[Value]()), (body, writable)):
            own = [argument for argument, is_copied in zip(block.arguments, copied, strict=True) if is_copied]
            for argument, home, is_copied in zip(block.arguments, homes, copied, strict=True):
                if home is not None:
                    self.homes[argument] = argument if is_copied else home
            self.writable = may_write | set(own) if block is body else may_write
            reason = self.check_block(block)
            self.writable = writable
            if reason is not None:
                return reason
            for value in captured_values(operation.regions):
                if value in self.stale:
                    self.culprit = self.updates.get(value)
                    return "an inner loop reads an array that it updates"
        kept = self.homes_in_place(body.arguments)
        for value, home in zip(body.terminator.operands, kept, strict=True):
            if home is None or self.home_of(value) is home:
                continue
            if not self.may_copy(value.type):
                return "an inner loop returns an array at another position"
        for k, (value, is_copied) in enumerate(zip(operation.operands, copied, strict=True)):
            if is_copied:
                homes[k] = operation.results[k]
                writable.add(operation.results[k])
            elif body.terminator.operands[k] is not body.arguments[k] and self.is_in_place(value.type):
                self.stale.add(value)
        self.alias_results(operation, homes)
        return None

    def may_copy(self, type: Type) -> bool:
        """Whether a loop may copy an array of a type to memory that it allocates."""
        return not is_large(type, self.max_copied)

    def alias_results(self, operation: Operation, homes: Sequence[Value | None]) -> None:
        """Give results the memory of the returned values; None: the result is not updated in place."""
        for result, home in zip(operation.results, homes, strict=True):
            if home is not None:
                self.homes[result] = home
