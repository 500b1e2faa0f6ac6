"""Values of which only the elements that a gather reads are computed (`early_gathers`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...program.ir import Operation, StructAttribute, Value, tensor_type
from ...program.ops.indexing.gather import Gather
from ...program.ops.shape.broadcasting import BroadcastInDim
from ..specialize.framework.rewriter import Rewriter, dimensions, splat
from ..specialize.rewrites.reshaping import broadcast
from ..specialize.rewrites.slicing import concatenate, sliced


class GatheredElements:
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
