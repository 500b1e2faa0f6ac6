"""Moves a gather of few elements before the elementwise operations whose results it reads.

For example, a loss gathers one element of each row of `log_softmax`. The maxima and sums of the rows need all
elements, but the last subtractions only the gathered ones. Without this pass a language model's loss takes
1.1 times as long, values of chosen actions 1.3 times, and rows sampled from a normalized table 3 times
(docs/strategies.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...program.ir import Operation, Region, StructAttribute, Value, tensor_type, used_values
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.indexing.gather import Gather
from ...program.ops.shape.broadcasting import BroadcastInDim
from ..specialize.framework.cleanup import remove_dead_code
from ..specialize.framework.constants import Budget
from ..specialize.framework.operation_classes import creates, is_broadcast, is_gather, is_reduction
from ..specialize.framework.rewriter import Rewriter, dimensions, has_static_unquantized_types, splat
from ..specialize.rewrites.reshaping import broadcast
from ..specialize.rewrites.slicing import concatenate, sliced
from ..specialize.stages import Specialization
from .elementwise import MIN_LARGE_SIZE
from .movement_index_map import is_movement_op

_MIN_SIZE_RATIO: Final = 4
"""A gather moves if its operand has at least this many times as many elements as its result."""
_MAX_OPERATIONS: Final = 24


def gather_before_computing(state: Specialization) -> None:
    """Gather from the operands of elementwise operations in place of their results."""
    gather_early(state.body)
    remove_dead_code(state.body)


def gather_early(region: Region) -> None:
    """Make gathers of few elements read the operands of elementwise operations instead of their results.

    Changes the region in place. Operations whose results become unused stay.
    """
    gathers = list(filter(is_gather, region.walk()))
    if any(_is_computed(operation.operands[0]) for operation in gathers):
        early = _EarlyGathers(region)
        Rewriter({"stablehlo.gather": [early.rewrite]}, {}, {}, Budget()).visit(region)


def _is_computed(value: Value) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and has_static_unquantized_types(owner) and _is_elementwise(owner)


def _is_elementwise(operation: Operation) -> bool:
    declaration = declaration_of(operation)
    return issubclass(declaration, Elementwise) and not operation.regions and len(operation.results) == 1


class _EarlyGathers:
    """The rewrite of gathers, and the users of each value of the program before it."""

    def __init__(self, region: Region) -> None:
        self.users: dict[Value, list[Operation]] = {}
        self._record_users(region)

    def _record_users(self, region: Region) -> None:
        for operation in region.block.operations:
            for value in used_values(operation):
                self.users.setdefault(value, []).append(operation)
            for inner in operation.regions:
                self._record_users(inner)

    def rewrite(self, operation: Operation, rewriter: Rewriter) -> Value | None:
        """The gathered elements, computed from gathered elements of the operands; None: the gather stays."""
        operand, start_indices = operation.operands
        view, size = Gather.of(operation), tensor_type(operand).size
        is_smaller = 0 < view.result.size * _MIN_SIZE_RATIO <= size
        if size < MIN_LARGE_SIZE or not is_smaller or not _is_computed(operand):
            return None
        if self.users.get(operand) != [operation]:
            return None
        selected: dict[Value, bool] = {}
        if not self._select(operand, selected):
            return None
        gathered = _GatheredElements(view, start_indices, rewriter)
        gathered_values: dict[Value, Value] = {}
        for value, is_here in selected.items():
            gathered_values[value] = (
                gathered.computed(value, gathered_values) if is_here else gathered.of(value)
            )
        return gathered_values[operand]

    def _select(self, value: Value, selected: dict[Value, bool]) -> bool:
        """Add the values to gather from, operands first, with whether their elements are computed.

        Returns:
            Whether gathering from them pays.
        """
        if value in selected:
            return True
        owner = value.owner
        is_computed_here = isinstance(owner, Operation) and not self._is_in_memory(value)
        if isinstance(owner, Operation) and is_computed_here and splat(value) is None:
            if len(selected) >= _MAX_OPERATIONS:
                return False
            if not _is_elementwise(owner) and not _is_ordered_broadcast(owner):
                return False
            if _is_elementwise(owner) and not all(
                self._select(operand, selected) for operand in _operands_of_full_shape(owner)
            ):
                return False
        selected[value] = is_computed_here
        return True

    def _is_in_memory(self, value: Value) -> bool:
        """Whether a value is written to memory anyway: another operation computes it, or needs it there."""
        owner = value.owner
        assert isinstance(owner, Operation)
        if not has_static_unquantized_types(owner):
            return True
        if not _is_elementwise(owner):
            return not is_movement_op(owner) and not creates(owner)
        users = self.users.get(value, ())
        return not all(_is_elementwise(user) or _reads_fused(user) for user in users)


def _reads_fused(operation: Operation) -> bool:
    """Whether an operation, like elementwise ones, does not need its operands in memory."""
    return is_reduction(operation) or is_gather(operation) or is_broadcast(operation)


def _operands_of_full_shape(operation: Operation) -> list[Value]:
    """The operands of an elementwise operation that have its shape; the others have one element."""
    shape = tensor_type(operation.result).shape
    return [operand for operand in operation.operands if tensor_type(operand).shape == shape]


def _is_ordered_broadcast(operation: Operation) -> bool:
    """Whether an operation is a broadcast that keeps the order of its operand's dimensions."""
    if operation.name != BroadcastInDim.name:
        return False
    to = list(BroadcastInDim.of(operation).broadcast_dimensions)
    return to == sorted(to)


class _GatheredElements:
    """Gathers from other values the elements that a gather reads from its operand."""

    def __init__(self, view: Gather, start_indices: Value, rewriter: Rewriter) -> None:
        self.view = view
        self.start_indices = start_indices
        self.rewriter = rewriter

    def of(self, value: Value) -> Value:
        """The elements of a value of the operand's shape that lies in memory."""
        return self._gathered(value, list(range(self.view.operand.rank)))

    def computed(self, value: Value, gathered_values: Mapping[Value, Value]) -> Value:
        """The elements of a value, computed from those of its operands in `gathered_values`."""
        operation, element = value.owner, splat(value)
        assert isinstance(operation, Operation)
        type = tensor_type(value).with_shape(self.view.result.shape)
        if element is not None:
            return self.rewriter.constant(type, element)
        if operation.name == BroadcastInDim.name:
            return self._of_broadcast(operation)
        operands = [
            gathered_values.get(operand, self.rewriter.current(operand)) for operand in operation.operands
        ]
        return self.rewriter.create(operation.name, operands, type, operation.attributes)

    def _of_broadcast(self, operation: Operation) -> Value:
        """The elements of a broadcast to the operand's shape, by a smaller broadcast to the result."""
        view, operand = self.view, self.rewriter.current(operation.operands[0])
        type = tensor_type(operand)
        pairs = zip(type.shape, BroadcastInDim.of(operation).broadcast_dimensions, strict=True)
        nonunit_dims = [d for size, d in pairs if size != 1]
        narrow = type.with_shape([view.operand.shape[d] for d in nonunit_dims])
        value = self.rewriter.create("stablehlo.reshape", [operand], narrow)
        result = type.with_shape(view.result.shape)
        if not set(nonunit_dims).isdisjoint(view.start_index_map):
            gathered = self._gathered(value, nonunit_dims)
            return broadcast(gathered, self._result_dimensions(nonunit_dims), result, self.rewriter)
        batching = view.operand_batching_dims
        sizes = [
            size if d in batching else view.slice_sizes[d]
            for size, d in zip(narrow.shape, nonunit_dims, strict=True)
        ]
        sliced_value = sliced(value, ([0] * len(nonunit_dims), sizes, [1] * len(nonunit_dims)), self.rewriter)
        dims = [d for d in nonunit_dims if d not in view.collapsed_slice_dims]
        shape = [size for d, size in zip(nonunit_dims, sizes, strict=True) if d in dims]
        sliced_value = self.rewriter.create("stablehlo.reshape", [sliced_value], type.with_shape(shape))
        return broadcast(sliced_value, [self._result_dimension(d) for d in dims], result, self.rewriter)

    def _result_dimension(self, dimension: int) -> int:
        """The result's dimension that a dimension of the operand becomes, if no index moves along it."""
        view = self.view
        if dimension in view.windowed_dims:
            return view.windowed_dims[dimension]
        batch = view.start_indices_batching_dims[view.operand_batching_dims.index(dimension)]
        position: int = batch - (batch > view.index_vector_dim)
        return view.batch_dims[position]

    def _result_dimensions(self, dims: Sequence[int]) -> list[int]:
        """The result's dimensions, without window dimensions of operand dimensions outside `dims`."""
        dropped_dims = {
            result_dim
            for d, result_dim in self.view.windowed_dims.items()
            if d not in dims
        }
        return [d for d in range(self.view.result.rank) if d not in dropped_dims]

    def _gathered(self, value: Value, dims: list[int]) -> Value:
        """The gather applied to a value that has only the dimensions `dims` of the operand."""
        view, rewriter = self.view, self.rewriter
        position_of = {d: position for position, d in enumerate(dims)}
        remaining = self._result_dimensions(dims)
        batching = zip(view.operand_batching_dims, view.start_indices_batching_dims, strict=True)
        pairs = [(position_of[d], other) for d, other in batching if d in position_of]
        fields: dict[str, Any] = {
            "offset_dims": tuple(
                [position for position, d in enumerate(remaining) if d in view.offset_dims]
            ),
            "collapsed_slice_dims": tuple(
                [position_of[d] for d in view.collapsed_slice_dims if d in position_of]
            ),
            "operand_batching_dims": tuple([d for d, _ in pairs]),
            "start_indices_batching_dims": tuple([other for _, other in pairs]),
            "start_index_map": tuple([position_of[d] for d in view.start_index_map if d in position_of]),
            "index_vector_dim": view.index_vector_dim,
        }
        sizes = [view.slice_sizes[d] for d in dims]
        shape = [view.result.shape[d] for d in remaining]
        numbers = StructAttribute("stablehlo", "gather", fields)
        return rewriter.create(
            "stablehlo.gather",
            [
                value,
                self._index_components([k for k, d in enumerate(view.start_index_map) if d in position_of]),
            ],
            tensor_type(value).with_shape(shape),
            {"dimension_numbers": numbers, **dimensions(slice_sizes=sizes)},
        )

    def _index_components(self, numbers: list[int]) -> Value:
        """The start indices with only some components of each index vector."""
        along, type = self.view.index_vector_dim, tensor_type(self.start_indices)
        if len(numbers) == len(self.view.start_index_map):
            return self.start_indices
        starts, limits = [0] * type.rank, list(type.shape)
        components = []
        for number in numbers:
            starts[along], limits[along] = number, number + 1
            components.append(
                sliced(self.start_indices, (list(starts), list(limits), [1] * type.rank), self.rewriter)
            )
        return concatenate(components, along, self.rewriter)
