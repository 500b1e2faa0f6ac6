"""How many elements of each value a program has to compute or read, at least.

The elements that a result needs are followed from the program's results back to its arguments. Where an
operation may leave elements of an operand unread, the least number is taken over all values that the other
operands may have: a gather may read one element again and again.
"""

from __future__ import annotations

from ...compiler.specialize.framework.rewriter import splat
from ...compiler.specialize.rewrites.loops import trip_count
from ...kernels.named_tuples import NamedTuple
from ...program.ir import Block, Operation, Value
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import Memory, Movement, RegionRole
from ...types import TensorType


class Use(NamedTuple):
    """An operand of an operation.

    Attributes:
        operation: the operation of the block that has it, itself or in a region.
        number: the operand's number.
        is_inside: whether a region has it.
    """

    operation: Operation
    number: int
    is_inside: bool


def size_of(value: Value) -> int:
    """The elements of a value; 0 for values that are no tensors and for unknown sizes."""
    type = value.type
    return type.size if isinstance(type, TensorType) and type.is_static else 0


class Demand:
    """The elements that a block needs of its values.

    Args:
        block: the body of a function, or of a region that runs once or repeatedly.
    """

    def __init__(self, block: Block) -> None:
        self._uses: dict[Value, list[Use]] = {}
        self._needed: dict[Value, int] = {}
        self._distinct: dict[Value, int] = {}
        for operation in block.operations:
            self._record(operation, operation, is_inside=False)
        for operation in reversed(block.operations):
            for result in operation.results:
                self._needed[result] = self._of_uses(result)
        for argument in block.arguments:
            self._needed[argument] = self._of_uses(argument)

    def _record(self, operation: Operation, outer: Operation, *, is_inside: bool) -> None:
        for index, value in enumerate(operation.operands):
            self._uses.setdefault(value, []).append(Use(outer if is_inside else operation, index, is_inside))
        for region in operation.regions:
            for inner in region.block.operations:
                self._record(inner, outer, is_inside=True)

    def needed(self, value: Value) -> int:
        """The least number of elements of a value that have to be computed, or read."""
        return self._needed.get(value, 0)

    def _of_uses(self, value: Value) -> int:
        size = size_of(value)
        return min(
            size, max([self._of_use(value, use, size) for use in self._uses.get(value, ())], default=0)
        )

    def _of_use(self, value: Value, use: Use, size: int) -> int:
        operation = use.operation
        declaration = declaration_of(operation)
        if declaration.is_terminator:
            return size
        of_results = max([self._needed.get(result, 0) for result in operation.results], default=0)
        if declaration.region_role.is_block or use.is_inside:
            return self._of_region(operation, use, size)
        if not of_results:
            return 0
        if issubclass(declaration, Elementwise):
            return of_results if size > 1 else size
        result_size = size_of(operation.results[0])
        if declaration.memory is Memory.UPDATES and use.number == 0:
            return max(0, of_results - sum([size_of(other) for other in operation.operands[1:]]))
        if declaration.movement is Movement.JOIN or declaration.memory is Memory.UPDATES:
            return max(0, of_results - (result_size - size))
        if declaration.movement is Movement.BROADCAST:
            return -(-of_results * size // max(result_size, 1))
        if declaration.movement is not None or declaration.moved_operands is not None:
            is_moved = declaration.moved_operands is None or use.number == 0
            return (0 if declaration.gathers else of_results) if is_moved else size
        return size

    def _of_region(self, operation: Operation, use: Use, size: int) -> int:
        """The elements that the regions of control flow need: of loops that surely run, of what runs once."""
        declaration = declaration_of(operation)
        if declaration.region_role.runs_once:
            return size
        if declaration.region_role is not RegionRole.LOOP:
            return 0 if declaration.region_role.is_control_flow else size
        body = operation.regions[1].block
        if use.is_inside or not trip_count(operation) or use.number >= len(body.arguments):
            return 0
        return Demand(body).needed(body.arguments[use.number])

    def distinct(self, value: Value) -> int:
        """The most elements of a value that can differ from each other: a broadcast repeats its operand's."""
        if value not in self._distinct:
            self._distinct[value] = self._distinct_of(value)
        return self._distinct[value]

    def _distinct_of(self, value: Value) -> int:
        operation, size = value.owner, size_of(value)
        if not isinstance(operation, Operation):
            return size
        declaration = declaration_of(operation)
        if declaration.memory is Memory.CREATES:
            return size if splat(value) is None else min(size, 1)
        if declaration.movement is not None and declaration.movement.has_one_source:
            return min(size, self.distinct(operation.operands[0]))
        if issubclass(declaration, Elementwise):
            product = 1
            for operand in operation.operands:
                product = min(size, product * max(self.distinct(operand), 1))
            return product
        return size
