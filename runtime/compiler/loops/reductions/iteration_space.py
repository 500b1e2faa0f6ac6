"""Iteration spaces of fusions with reductions, how values index into them, and properties of reducers.

The iteration space is the shape of the operands of all reductions of a fusion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from ....program.ir import Block, Operation, Value, plain_element_type, tensor_type
from ....program.ir.affine import row_major_strides
from ....program.ops.framework.declaration import Op, declaration_of, lookup
from ....program.ops.framework.traits import Memory, Movement
from ....program.ops.shape.movement import MovementOp
from ....types import COMPLEX, ELEMENT_TYPES, FLOAT, ElementType
from ..elementwise.emitted_operations import emits

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce import Reduce
    from ....program.ops.shape.layout import Reshape

IndexMap = tuple[int | None, ...]
"""For each dimension of a value its dimension of the iteration space; None for size 1."""


def shape_of(value: Value) -> tuple[int, ...]:
    return tensor_type(value).shape


def needs_no_constant_array(operation: Operation) -> bool:
    """Whether an operation needs no array of constants in memory."""
    value = operation.constant_value
    return value is None or value.has_one_value


def strides_of(value: Value, index_map: IndexMap, rank: int) -> tuple[int, ...]:
    """The strides of a value, in elements, by dimension of the iteration space."""
    strides = [0] * rank
    row_major = row_major_strides(shape_of(value))
    for d, axis in enumerate(index_map):
        if axis is not None:
            strides[axis] = row_major[d]
    return tuple(strides)


def collapsed_stride(sizes: Sequence[int], strides: Sequence[int]) -> int | None:
    """The stride of several dimensions collapsed into one; None if there is none."""
    significant = [(size, step) for size, step in zip(sizes, strides, strict=True) if size > 1]
    if not significant:
        return 0
    for (_, outer), (size, inner) in pairwise(significant):
        if outer != size * inner:
            return None
    return significant[-1][1]


def reductions_of(block: Block) -> list[Operation]:
    return [operation for operation in block.operations if declaration_of(operation).reduces]


def reduced_dimensions(reductions: Sequence[Operation]) -> tuple[tuple[int, ...], int, int] | None:
    """The operand shape that all reductions share, and the dimensions [first, last) that they reduce.

    None if they differ in these, the dimensions are not adjacent, or the operands are empty.
    """
    spaces = set()
    for operation in reductions:
        shape, dimensions = (
            shape_of(operation.operands[0]),
            sorted(cast("Reduce", Op.of(operation)).dimensions),
        )
        if not dimensions or dimensions != list(range(dimensions[0], dimensions[-1] + 1)):
            return None
        if not math.prod(shape):
            return None
        spaces.add((shape, dimensions[0], dimensions[-1] + 1))
    return spaces.pop() if len(spaces) == 1 else None


def check_reduction(operation: Operation) -> str | None:
    """Why a reduction cannot be part of a fusion, or None if it can."""
    if len(operation.operands) != 2:
        return "has several inputs"
    input_type = tensor_type(operation.operands[0])
    if not input_type.is_static_unquantized or input_type.category == COMPLEX:
        return f"is of {input_type}"
    body = cast("Reduce", Op.of(operation)).body
    types = [tensor_type(value) for value in (*body.block.arguments, *body.block.terminator.operands)]
    if any(type.element_type is not input_type.element_type for type in types):
        return "its body has other element types"
    if reducer_name(body.block) is not None and emits(body.block.operations[0]):
        return None
    from ..scalars import check_block, check_interruption

    return check_interruption(body.block.operations) or check_block(body.block)


def reducer_name(body: Block) -> str | None:
    """The name of the one operation that a body applies to its arguments, if it does nothing else."""
    first = body.operations[0]
    applies_one_operation = (
        len(body.operations) == 2
        and set(first.operands) == set(body.arguments)
        and list(body.terminator.operands) == list(first.results)
    )
    return first.name if applies_one_operation else None


def reducer_declaration(body: Block) -> type[Op]:
    """The declaration of that operation; `Op`, which states nothing, for other bodies."""
    return lookup(reducer_name(body) or "") or Op


def is_order_independent(body: Block) -> bool:
    """Whether a reducer gives the same bits in every order.

    Extremes of complex numbers do not: of equal numbers, and of those with NaNs, the first one wins.
    """
    return bool(reducer_declaration(body).any_order_on & tensor_type(body.arguments[0]).category)


def accumulator_types(operation: Operation, accumulate: str = "wide") -> list[ElementType]:
    """The element types in which a reduction accumulates its inputs.

    Args:
        accumulate: the option of that name: sums and products of floats narrower than f32 accumulate in f32
            ("wide"), those of all floats in f64 ("float64"), or in their own type ("declared").
    """
    body = operation.regions[0].block
    types = [plain_element_type(value) for value in body.terminator.operands]
    (type, *others) = types
    if others or type.category != FLOAT or reducer_declaration(body).float_identity is None:
        return types
    if accumulate == "float64":
        return [ELEMENT_TYPES["f64"]]
    return [ELEMENT_TYPES["f32"]] if accumulate == "wide" and type.width < 32 else types


class IterationSpace:
    """The iteration space of a fusion: infers the index map of each value.

    Args:
        shape: of the space.
        unreduced_dims: the dimensions over which no reduction reduces.
        is_elementwise: which operations are elementwise; by default those that are generated.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        unreduced_dims: Sequence[int],
        is_elementwise: Callable[[Operation], bool] = emits,
    ) -> None:
        self.shape = shape
        self.unreduced_dims = unreduced_dims
        self.is_elementwise = is_elementwise
        self.index_maps: dict[Value, IndexMap] = {}
        self.has_changed = False

    def of(self, block: Block) -> dict[Value, IndexMap] | None:
        """The index maps of all values of a block; None if a value has none, or several."""
        operations = block.operations[:-1]
        values = [*block.arguments, *(result for operation in operations for result in operation.results)]
        try:
            for value in values:
                self._initialize(value)
            pending = list(operations)
            self.has_changed = True
            while self.has_changed and pending:
                self.has_changed = False
                for operation in pending:
                    self._propagate(operation)
                pending = [operation for operation in reversed(pending) if not self._is_complete(operation)]
            for operation in operations:
                self._propagate(operation)
        except ValueError:
            return None
        return self.index_maps if all(value in self.index_maps for value in values) else None

    def _is_complete(self, operation: Operation) -> bool:
        """Whether the index maps of an operation's operands and results are known."""
        return all(value in self.index_maps for value in (*operation.operands, *operation.results))

    def _initialize(self, value: Value) -> None:
        shape = shape_of(value)
        if shape == self.shape:
            self._set(value, range(len(shape)))
        elif math.prod(shape) == 1:
            self._set(value, [None] * len(shape))

    def _set(self, value: Value, index_map: Iterable[int | None]) -> None:
        """Set a value's index map; ValueError if it has another one."""
        pairs = zip(shape_of(value), index_map, strict=True)
        index_map = tuple([None if size == 1 else axis for size, axis in pairs])
        sizes = [1 if axis is None else self.shape[axis] for axis in index_map]
        if value not in self.index_maps and sizes == list(shape_of(value)):
            self.index_maps[value] = index_map
            self.has_changed = True
        elif self.index_maps.get(value) != index_map:
            raise ValueError

    def _propagate(self, operation: Operation) -> None:
        facts = declaration_of(operation)
        if facts.reduces:
            for result in operation.results:
                self._set(result, self.unreduced_dims)
            return
        if facts.movement is Movement.BROADCAST:
            self._broadcast(operation)
        elif facts.movement is Movement.RESHAPE:
            self._reshape(operation)
        elif facts.memory is not Memory.CREATES:
            if not self.is_elementwise(operation):
                raise ValueError
            self._elementwise(operation)

    def _broadcast(self, operation: Operation) -> None:
        operand, result = operation.operands[0], operation.result
        index_map = self.index_maps.get(result)
        if index_map is not None:
            result_dims = MovementOp.of(operation).only_map().result_dims
            self._set(operand, [None if d is None else index_map[d] for d in result_dims])

    def _reshape(self, operation: Operation) -> None:
        """Propagate through a reshape that only adds or drops dimensions of size 1."""
        operand, result = operation.operands[0], operation.result
        if cast("Reshape", Op.of(operation)).dims_through_reshape() is None:
            raise ValueError
        for source, target in ((operand, result), (result, operand)):
            if source in self.index_maps:
                index_map = iter([axis for axis in self.index_maps[source] if axis is not None])
                self._set(target, [None if size == 1 else next(index_map) for size in shape_of(target)])

    def _elementwise(self, operation: Operation) -> None:
        values = [value for value in (*operation.operands, *operation.results) if shape_of(value)]
        shapes = {shape_of(value) for value in values}
        if len(shapes) > 1:
            raise ValueError
        index_maps = next((self.index_maps[value] for value in values if value in self.index_maps), None)
        if index_maps is not None:
            for value in values:
                self._set(value, index_maps)
