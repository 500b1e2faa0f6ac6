"""Operations that only move elements: concatenation, reshape, reversal, transpose.

Source: specification, section "Ops".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import counted
from ....types import (
    DYNAMIC,
    PLAIN,
    QUANTIZED_PER_TENSOR,
    TENSOR,
    Array,
    QuantizedType,
    TensorType,
    Type,
)
from ...ir.affine import AffineExpr, identity_map
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.elements import Index, from_elements, index_space
from ..framework.facts import Finiteness
from ..framework.traits import Memory, Movement
from .movement import MovementMap, MovementOp, dims_through_reshape, reshape_groups


class Concatenate(
    MovementOp,
    name="stablehlo.concatenate",
    assembly="custom(variadic_operand_with_attribute) dim = $dimension attr-dict : functional-type",
):
    """Joins tensors along one dimension."""

    partition = "concatenate"
    cost = costs.COPY
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "movement"
    movement = Movement.JOIN
    moved_operands = slice(None)

    binds_by_types = True
    numpy = "shape.movement_numpy.bind_concatenate"

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    dimension = Attribute(I64)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_element_type("inputs")

    @constraint
    def C2(self) -> str | None:
        """same(shape(inputs...)) except for dim(inputs..., dimension)"""
        shape = self.other_sizes()
        for name, type in self.named_inputs():
            if len(type.shape) != len(shape):
                return f"{name} has rank {type.rank}, but inputs[0] has rank {len(shape)}"
            for d, (size, expected) in enumerate(zip(type.shape, shape, strict=True)):
                if d != self.dimension and not rules.sizes_agree(size, expected):
                    return f"dimension {d} of {name} has size {size}, but others have {expected}"
        return None

    C3 = constraints.not_empty("inputs")
    C4 = constraints.dimensions_of("dimension", "inputs[0]")
    C5 = constraints.same_element_type("inputs[0]", "result")
    C6 = constraints.shape_is("result", "the joined shape", "joined_shape")

    def named_inputs(self) -> list[tuple[str, TensorType]]:
        """The inputs with names for messages."""
        return [(f"inputs[{index}]", type) for index, type in enumerate(self.inputs)]

    def other_sizes(self) -> list[int]:
        """For each dimension of inputs[0] the first known size among the inputs."""
        rank = self.inputs[0].rank if self.inputs else 0
        columns = [[type.shape[d] for type in self.inputs if d < type.rank] for d in range(rank)]
        return [next((size for size in column if size != DYNAMIC), DYNAMIC) for column in columns]

    def joined_shape(self) -> list[int]:
        """The result's shape, as far as it is known."""
        shape = self.other_sizes()
        if 0 <= self.dimension < len(shape):
            sizes = [type.shape[self.dimension] for type in self.inputs if self.dimension < type.rank]
            shape[self.dimension] = DYNAMIC if DYNAMIC in sizes else sum(sizes)
        return shape

    def infer(self) -> list[Type]:
        return [self.inputs[0].with_shape(self.joined_shape())]

    def movement_maps(self) -> list[MovementMap]:
        maps, start = [], 0
        for number, type in enumerate(self.inputs):
            starts = [start if d == self.dimension else 0 for d in range(type.rank)]
            maps.append(
                MovementMap(number, identity_map(type.rank), type.shape, tuple(starts), (1,) * type.rank)
            )
            start += type.shape[self.dimension]
        return maps

    def reference(self, *inputs: Array) -> Array:
        """``result[i0, ..., id, ..., iR-1] = inputs[k][i0, ..., kd, ..., iR-1]``."""
        rules.check_actual_sizes(self, *inputs)
        d = self.dimension
        sizes = [array.shape[d] for array in inputs]
        result = np.empty((*inputs[0].shape[:d], sum(sizes), *inputs[0].shape[d + 1 :]), inputs[0].dtype)
        for k, array in enumerate(inputs):
            for index in index_space(array.shape):
                result[(*index[:d], sum(sizes[:k]) + index[d], *index[d + 1 :])] = array[index]
        return result


class ReshapeRules(Op):
    """The constraints that `reshape` and `dynamic_reshape` share."""

    operand: Operand[TensorType]
    result: Result[TensorType]

    def result_type(self) -> TensorType:
        """The type of the result with its known sizes."""
        declared: TensorType = self.result
        return declared

    C1 = constraints.same_element_type_up_to_axis("result", "operand")

    @constraint
    def C2(self) -> str | None:
        """size(operand) = size(result)"""
        result = self.result_type()
        if not (self.operand.is_static and result.is_static) or self.operand.size == result.size:
            return None
        return (
            f"operand is {self.operand} with {counted(self.operand.size, 'element')}, "
            f"but result has {result.size}"
        )

    @constraint
    def C3(self) -> str | None:
        """a quantized axis keeps its size, and as many elements before and after it"""
        result = self.result_type()
        axis, result_axis = (rules.quantization_dimension(t) for t in (self.operand, result))
        if axis is None or result_axis is None or not (self.operand.is_static and result.is_static):
            return None
        around = _sizes_around(self.operand.shape, axis)
        result_around = _sizes_around(result.shape, result_axis)
        if around == result_around:
            return None
        return (
            f"sizes before, at and after the quantization_dimension are {list(around)} in operand, "
            f"but {list(result_around)} in result"
        )


def _sizes_around(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """Numbers of elements before, at and after an axis."""
    return math.prod(shape[:axis]), math.prod(shape[axis : axis + 1]), math.prod(shape[axis + 1 :])


class Reshape(
    ReshapeRules, MovementOp, name="stablehlo.reshape", assembly="operands attr-dict : functional-type"
):
    """Keeps the elements in row-major order under another shape."""

    partition = "reshape"
    cost = costs.VIEW
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "reshape"
    memory = Memory.FLAT_VIEW
    movement = Movement.RESHAPE
    block_rule = "scalars.movement.ALIAS"

    binds_by_types = True
    numpy = "shape.movement_numpy.bind_reshape"

    operand = Operand(TENSOR)
    result = Result(TENSOR)

    def dimension_groups(self) -> list[tuple[list[int], list[int]]] | None:
        """See `reshape_groups`."""
        return reshape_groups(self.operand.shape, self.result.shape)

    def dims_through_reshape(self) -> dict[int, int] | None:
        """See `dims_through_reshape`."""
        return dims_through_reshape(self.operand.shape, self.result.shape)

    def movement_maps(self) -> list[MovementMap] | None:
        """None if dimensions are merged."""
        groups, shape = self.dimension_groups(), self.result.shape
        if groups is None or 0 in shape or any(len(dims) > 1 for dims, _ in groups):
            return None
        indices = [AffineExpr(0, (0,) * len(shape))] * self.operand.rank
        for (dim,), result_dims in groups:
            for d in result_dims:
                indices[dim] = indices[dim].scaled(shape[d]).plus(identity_map(len(shape))[d])
        return self.element_map(indices)

    def reference(self, operand: Array) -> Array:
        """``result[result_index] = operand[operand_index]``, of the same position in lexicographic order."""
        return reshape(operand, self.actual_shape(operand))

    def actual_shape(self, operand: Array) -> tuple[int, ...]:
        """The result's shape; a size that its type leaves unknown follows from the operand's.

        Raises:
            ExecutionError: it does not follow.
        """
        shape = self.result.shape
        unknown = shape.count(DYNAMIC)
        static_size = math.prod([size for size in shape if size != DYNAMIC])
        follows = (
            operand.size == static_size
            if unknown == 0
            else unknown == 1 and static_size and operand.size % static_size == 0
        )
        if not follows:
            actual = rules.shape_text(operand.shape)
            rules.fail_if(self, f"operand has shape {actual}, but result {rules.shape_text(shape)}", "C2")
        return tuple([operand.size // static_size if size == DYNAMIC else size for size in shape])


def reshape(operand: Array, shape: Sequence[int]) -> Array:
    """`reshape` by its definition."""
    result = np.empty(tuple(shape), operand.dtype)
    for result_index, operand_index in zip(index_space(shape), index_space(operand.shape), strict=True):
        result[result_index] = operand[operand_index]
    return result


class Reverse(
    MovementOp, name="stablehlo.reverse", assembly="$operand , dims = $dimensions attr-dict : same-type"
):
    """Reverses the order of elements along some dimensions."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "movement"
    memory = Memory.MAY_FORWARD
    movement = Movement.REVERSE

    binds_by_types = True
    numpy = "shape.movement_numpy.bind_reverse"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    dimensions = Attribute(DIMENSIONS)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_type("operand", "result")
    C2 = constraints.unique("dimensions")
    C3 = constraints.dimensions_of("dimensions", "result")

    def infer(self) -> list[Type]:
        return [self.operand]

    def movement_maps(self) -> list[MovementMap]:
        indices = list(identity_map(self.operand.rank))
        for d in self.dimensions:
            indices[d] = indices[d].scaled(-1, self.operand.shape[d] - 1)
        return self.element_map(indices)

    def slices(self) -> tuple[slice, ...]:
        """The index of `operand` that selects the result."""
        return tuple([slice(None, None, -1 if d in self.dimensions else 1) for d in range(self.operand.rank)])

    def reference(self, operand: Array) -> Array:
        """``result[result_index] = operand[operand_index]``."""

        def element_at(result_index: Index) -> Any:
            operand_index = [
                operand.shape[d] - i - 1 if d in self.dimensions else i for d, i in enumerate(result_index)
            ]
            return operand[tuple(operand_index)]

        return from_elements(operand.shape, operand.dtype, element_at)


class Transpose(
    MovementOp,
    name="stablehlo.transpose",
    assembly="$operand , dims = $permutation attr-dict : functional-type",
):
    """Permutes dimensions: dimension d of the result is dimension ``permutation[d]`` of the operand."""

    partition = "transpose"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "movement"
    memory = Memory.STRIDED_VIEW
    movement = Movement.TRANSPOSE

    binds_by_types = True
    numpy = "shape.movement_numpy.bind_transpose"

    operand = Operand(TENSOR)
    permutation = Attribute(DIMENSIONS)
    result = Result(TENSOR)

    C1 = constraints.same_element_type_up_to_axis("result", "operand")

    @constraint
    def C2(self) -> str | None:
        """permutation is a permutation of range(rank(operand))"""
        if self.is_permutation():
            return None
        return f"permutation = {list(self.permutation)} is not a permutation of range({self.operand.rank})"

    C3 = constraints.shape_is("result", "dim(operand, permutation...)", "permuted_shape")

    @constraint
    def C4(self) -> str | None:
        """quantization_dimension(operand) = permutation[quantization_dimension(result)]"""
        axis, result_axis = (rules.quantization_dimension(t) for t in (self.operand, self.result))
        if axis is None or result_axis is None or not result_axis < len(self.permutation):
            return None
        if axis == self.permutation[result_axis]:
            return None
        return (
            f"quantization_dimension of operand is {axis}, that of result {result_axis}, "
            f"but permutation = {list(self.permutation)}"
        )

    def is_permutation(self) -> bool:
        """Whether C2 holds."""
        return sorted(self.permutation) == list(range(self.operand.rank))

    def permuted_shape(self) -> list[int]:
        """The result's shape."""
        return [self.operand.shape[d] for d in self.permutation]

    def infer(self) -> list[Type]:
        element_type = self.operand.element_type
        axis = rules.quantization_dimension(self.operand)
        if isinstance(element_type, QuantizedType) and axis is not None:
            element_type = QuantizedType(
                element_type.storage,
                element_type.storage_min,
                element_type.storage_max,
                element_type.expressed,
                element_type.scales,
                element_type.zero_points,
                self.permutation.index(axis),
            )
        return [TensorType(self.permuted_shape(), element_type)]

    def movement_maps(self) -> list[MovementMap]:
        identity = identity_map(self.operand.rank)
        return self.element_map([identity[self.permutation.index(d)] for d in range(self.operand.rank)])

    def reference(self, operand: Array) -> Array:
        """``result_index[d] = operand_index[permutation[d]]``."""
        result = np.empty([operand.shape[d] for d in self.permutation], operand.dtype)
        for operand_index in index_space(operand.shape):
            result[tuple([operand_index[d] for d in self.permutation])] = operand[operand_index]
        return result
