"""Answers questions about operations once for all operations of the same name, types and attributes.

The layers of a model repeat a few hundred kinds of operations thousands of times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ...program.ir import Operation
from ...program.ir.structural_key import structural_key
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import RegionRole
from ..specialize.framework.cleanup import MAX_COMPARED_OPERATIONS

Answer = TypeVar("Answer")


class OperationKinds:
    """The kinds of a program's operations, while passes replace operands by others of the same types.

    Operations with several results, of which some may be dropped, have no kind unless they are fusions, nor
    have those whose regions are programs, which passes change, are long, or use values from outside.
    """

    def __init__(self) -> None:
        self._numbers: dict[Operation, int] = {}
        self._kinds: dict[tuple[object, ...], tuple[int, object]] = {}
        """The number of each kind, and the objects whose identities are in its key, which it keeps alive."""

    def by_kind(self, function: Callable[[Operation], Answer]) -> Callable[[Operation], Answer]:
        """A function that gives the answers of another one, which it calls once for each kind.

        Args:
            function: depends on nothing but the name, the types, the attributes and the regions of an
                operation that has a kind.
        """
        answers: dict[int, Answer] = {}
        numbers, number_of = self._numbers, self._number

        def answer(operation: Operation) -> Answer:
            number = numbers.get(operation)
            if number is None:
                number = number_of(operation)
            if number is None:
                return function(operation)
            if number not in answers:
                answers[number] = function(operation)
            return answers[number]

        return answer

    def forget(self) -> None:
        """Forget which operation is of which kind, since a pass has changed regions."""
        self._numbers.clear()

    def _number(self, operation: Operation) -> int | None:
        """The number of an operation's kind; None if it has none."""
        regions = _regions_key(operation)
        if regions is None:
            return None
        attributes, types = operation.attributes, [operand.type for operand in operation.operands]
        types += [result.type for result in operation.results]
        # By identity, which is faster than equality: equal kinds may have different numbers.
        key = (operation.name, id(attributes), len(types), *map(id, types), *regions[0])
        kept = (attributes, types, regions[1])
        number, _ = self._kinds.setdefault(key, (len(self._kinds), kept))
        self._numbers[operation] = number
        return number


def _regions_key(operation: Operation) -> tuple[Sequence[object], Sequence[object]] | None:
    """A key of an operation's regions and the objects whose identities it contains; None if it has none."""
    role = declaration_of(operation).region_role
    if role is not RegionRole.FUSION and len(operation.results) != 1:
        return None
    if not operation.regions:
        return (), ()
    if role not in (RegionRole.COMPUTATION, RegionRole.FUSION):
        return None
    keys: list[object] = []
    referenced: list[object] = []
    for region in operation.regions:
        if role is RegionRole.COMPUTATION and len(region.block.operations) > MAX_COMPARED_OPERATIONS:
            return None
        try:
            key, objects = structural_key(region.block)
        except KeyError:
            return None
        keys.append(key)
        referenced += objects
    return keys, referenced
