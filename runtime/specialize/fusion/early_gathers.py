"""Gathers of few elements are made before what is computed: of operands, not of a result of many elements.

A loss takes one element of each row of `log_softmax`: of the rows' largest values and sums that needs all
elements, but the last subtractions only those that are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...ir import Operation, Region, StructAttribute, Value, used_values
from ...ops.elementwise.base import Elementwise
from ...ops.framework.declaration import Op, lookup
from ...ops.indexing.gather import Gather
from ...ops.indexing.index_space import other_dimensions
from ...ops.shape.broadcasting import BroadcastInDim
from ..rewrites.reshaping import spread
from ..rewrites.slicing import joined, sliced
from ..utils.constants import Budget
from ..utils.rewriter import Rewriter, dimensions, is_plain, splat, tensor_type, viewed
from .elementwise import LARGE
from .movement_index_map import is_movement_op

_SHARE: Final = 4
"""A gather that takes no more than one in so many elements is made first."""
_MAX_OPERATIONS: Final = 24

_TAKING: Final = frozenset({"stablehlo.reduce", "stablehlo.gather", BroadcastInDim.name})
"""Users that need not have an operand in memory, as elementwise ones."""
_FREE: Final = frozenset({"stablehlo.constant", "stablehlo.iota"})


def gather_early(region: Region) -> None:
    """Let gathers of few elements take operands of what was computed, in place; what nothing needs then is
    left behind."""
    gathers = [operation for operation in region.walk() if operation.name == "stablehlo.gather"]
    if any(_is_computed(operation.operands[0]) for operation in gathers):
        early = _Early(region)
        Rewriter({"stablehlo.gather": [early.rewrite]}, {}, {}, Budget()).visit(region)


def _is_computed(value: Value) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and is_plain(owner) and _is_elementwise(owner)


def _is_elementwise(operation: Operation) -> bool:
    known = lookup(operation.name) or Op
    return issubclass(known, Elementwise) and not operation.regions and len(operation.results) == 1


class _Early:
    """The rewrite, and what it knows of the program as it was."""

    def __init__(self, region: Region) -> None:
        self.users: dict[Value, list[Operation]] = {}
        self._note(region)

    def _note(self, region: Region) -> None:
        for operation in region.block.operations:
            for value in used_values(operation):
                self.users.setdefault(value, []).append(operation)
            for inner in operation.regions:
                self._note(inner)

    def rewrite(self, operation: Operation, rewriter: Rewriter) -> Value | None:
        """What a gather takes, computed from what it takes of the operands; None: it stays."""
        operand, start_indices = operation.operands
        view, size = viewed(operation, Gather), tensor_type(operand).size
        if size < LARGE or not 0 < view.result.size * _SHARE <= size or not _is_computed(operand):
            return None
        if self.users.get(operand) != [operation]:
            return None
        found: dict[Value, bool] = {}
        if not self._find(operand, found):
            return None
        taken = _Taken(view, start_indices, rewriter)
        made: dict[Value, Value] = {}
        for value, is_here in found.items():
            made[value] = taken.computed(value, made) if is_here else taken.of(value)
        return made[operand]

    def _find(self, value: Value, found: dict[Value, bool]) -> bool:
        """Note the values of which elements are to be taken, operands first, and whether they are computed
        for these; False where that does not pay."""
        if value in found:
            return True
        owner = value.owner
        found_here = isinstance(owner, Operation) and not self._is_in_memory(value)
        if isinstance(owner, Operation) and found_here and splat(value) is None:
            if len(found) >= _MAX_OPERATIONS:
                return False
            if not _is_elementwise(owner) and not _repeats(owner):
                return False
            if _is_elementwise(owner) and not all(
                self._find(operand, found) for operand in _wide_operands(owner)
            ):
                return False
        found[value] = found_here
        return True

    def _is_in_memory(self, value: Value) -> bool:
        """Whether a value is written to memory anyway: it is neither computed nor moved element by element,
        or used otherwise."""
        owner = value.owner
        assert isinstance(owner, Operation)
        if not is_plain(owner):
            return True
        if not _is_elementwise(owner):
            return not is_movement_op(owner) and owner.name not in _FREE
        return not all(_is_elementwise(user) or user.name in _TAKING for user in self.users.get(value, ()))


def _wide_operands(operation: Operation) -> list[Value]:
    """The operands of an elementwise operation that have its shape; the others have one element."""
    shape = tensor_type(operation.result).shape
    return [operand for operand in operation.operands if tensor_type(operand).shape == shape]


def _repeats(operation: Operation) -> bool:
    """Whether an operation repeats what it takes, in the same order of dimensions."""
    if operation.name != BroadcastInDim.name:
        return False
    to = list(viewed(operation, BroadcastInDim).broadcast_dimensions)
    return to == sorted(to)


class _Taken:
    """The elements that a gather takes, of other values than its operand."""

    def __init__(self, view: Gather, start_indices: Value, rewriter: Rewriter) -> None:
        self.view = view
        self.start_indices = start_indices
        self.rewriter = rewriter
        taken_away = (*view.collapsed_slice_dims, *view.operand_batching_dims)
        self.windows = other_dimensions(view.operand.rank, taken_away)

    def of(self, value: Value) -> Value:
        """Of a value of the operand's shape that lies in memory."""
        return self._gathered(value, list(range(self.view.operand.rank)))

    def computed(self, value: Value, made: Mapping[Value, Value]) -> Value:
        """Of a value whose operands' elements are there."""
        operation, element = value.owner, splat(value)
        assert isinstance(operation, Operation)
        type = tensor_type(value).with_shape(self.view.result.shape)
        if element is not None:
            return self.rewriter.constant(type, element)
        if operation.name == BroadcastInDim.name:
            return self._repeated(operation)
        operands = [made.get(operand, self.rewriter.now(operand)) for operand in operation.operands]
        return self.rewriter.create(operation.name, operands, type, operation.attributes)

    def _repeated(self, operation: Operation) -> Value:
        """Of what a broadcast gives the operand's shape: its operand's elements, repeated in the result."""
        view, operand = self.view, self.rewriter.now(operation.operands[0])
        type = tensor_type(operand)
        pairs = zip(type.shape, viewed(operation, BroadcastInDim).broadcast_dimensions, strict=True)
        kept = [d for size, d in pairs if size != 1]
        narrow = type.with_shape([view.operand.shape[d] for d in kept])
        value, result = (
            self.rewriter.create("stablehlo.reshape", [operand], narrow),
            type.with_shape(view.result.shape),
        )
        if not set(kept).isdisjoint(view.start_index_map):
            return spread(self._gathered(value, kept), self._left(kept), result, self.rewriter)
        batching = view.operand_batching_dims
        sizes = [
            size if d in batching else view.slice_sizes[d] for size, d in zip(narrow.shape, kept, strict=True)
        ]
        part = sliced(value, ([0] * len(kept), sizes, [1] * len(kept)), self.rewriter)
        left = [(d, size) for d, size in zip(kept, sizes, strict=True) if d not in view.collapsed_slice_dims]
        part = self.rewriter.create("stablehlo.reshape", [part], type.with_shape([size for _, size in left]))
        return spread(part, [self._place(d) for d, _ in left], result, self.rewriter)

    def _place(self, dimension: int) -> int:
        """The result's dimension that a dimension of the operand becomes, if no index moves along it."""
        view = self.view
        if dimension in self.windows:
            return int(view.offset_dims[self.windows.index(dimension)])
        batch = view.start_indices_batching_dims[view.operand_batching_dims.index(dimension)]
        number: int = batch - (batch > view.index_vector_dim)
        return other_dimensions(view.result.rank, view.offset_dims)[number]

    def _left(self, kept: Sequence[int]) -> list[int]:
        """The result's dimensions without those of windows along other dimensions of the operand."""
        gone = {place for d, place in zip(self.windows, self.view.offset_dims, strict=True) if d not in kept}
        return [d for d in range(self.view.result.rank) if d not in gone]

    def _gathered(self, value: Value, kept: list[int]) -> Value:
        """What the gather takes of a value that has some of the operand's dimensions."""
        view, rewriter = self.view, self.rewriter
        number = {d: position for position, d in enumerate(kept)}
        left = self._left(kept)
        batching = zip(view.operand_batching_dims, view.start_indices_batching_dims, strict=True)
        pairs = [(number[d], other) for d, other in batching if d in number]
        fields: dict[str, Any] = {
            "offset_dims": tuple([place for place, d in enumerate(left) if d in view.offset_dims]),
            "collapsed_slice_dims": tuple([number[d] for d in view.collapsed_slice_dims if d in number]),
            "operand_batching_dims": tuple([d for d, _ in pairs]),
            "start_indices_batching_dims": tuple([other for _, other in pairs]),
            "start_index_map": tuple([number[d] for d in view.start_index_map if d in number]),
            "index_vector_dim": view.index_vector_dim,
        }
        sizes = [view.slice_sizes[d] for d in kept]
        shape = [view.result.shape[d] for d in left]
        numbers = StructAttribute("stablehlo", "gather", fields)
        return rewriter.create(
            "stablehlo.gather",
            [value, self._columns([k for k, d in enumerate(view.start_index_map) if d in number])],
            tensor_type(value).with_shape(shape),
            {"dimension_numbers": numbers, **dimensions(slice_sizes=sizes)},
        )

    def _columns(self, numbers: list[int]) -> Value:
        """Some of the columns of the indices."""
        along, type = self.view.index_vector_dim, tensor_type(self.start_indices)
        if len(numbers) == len(self.view.start_index_map):
            return self.start_indices
        starts, limits = [0] * type.rank, list(type.shape)
        parts = []
        for number in numbers:
            starts[along], limits[along] = number, number + 1
            parts.append(
                sliced(self.start_indices, (list(starts), list(limits), [1] * type.rank), self.rewriter)
            )
        return joined(parts, along, self.rewriter)
