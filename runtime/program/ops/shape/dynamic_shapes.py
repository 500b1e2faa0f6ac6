"""Operations whose sizes are operands, and operations that read or set a dimension's size.

Where the specification has the static operation only (`real_dynamic_slice`), the labels are those of that
operation. Source: specification, sections "Ops" and "Dynamism".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ....types import (
    COMPLEX,
    DYNAMIC,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED_PER_TENSOR,
    SIGNED,
    TENSOR,
    Array,
    TensorType,
    Type,
)
from ..framework import constraints, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.facts import Finiteness
from ..framework.traits import Memory
from .broadcasting import BroadcastRules, broadcast_in_dim
from .creation import iota
from .layout import ReshapeRules, reshape
from .run_time_sizes import RunTimeShaped, is_result_shape
from .slicing import AMOUNTS, RANGES, PadRules, SliceRules, pad, slice_by_definition, sliced_shape

_MAX_I32: Final = int(np.iinfo(np.int32).max)
"""The largest size that `get_dimension_size`, whose result is an i32, can return."""


class DynamicBroadcastInDim(
    BroadcastRules,
    RunTimeShaped,
    name="stablehlo.dynamic_broadcast_in_dim",
    assembly="$operand , $output_dimensions , dims = $broadcast_dimensions attr-dict : functional-type",
):
    """`broadcast_in_dim` to a shape that is an operand."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "shape.dynamic_numpy.bind_broadcast_in_dim"
    memory = Memory.STRIDED_VIEW
    moved_operands = slice(1)

    operand = Operand(TENSOR)
    output_dimensions = Operand(INTEGER, rank=1)
    broadcast_dimensions = Attribute(DIMENSIONS)
    known_expanding_dimensions = Attribute(DIMENSIONS, ())
    known_nonexpanding_dimensions = Attribute(DIMENSIONS, ())
    result = Result(TENSOR)

    def result_shapes(self) -> list[tuple[int, ...]]:
        shape = self.sizes("output_dimensions")
        cached = [] if shape is None or len(shape) != self.result.rank else [shape]
        return [self.result.shape, *cached]

    C7 = is_result_shape("output_dimensions")
    C8 = constraints.unique("known_expanding_dimensions", "known_nonexpanding_dimensions")
    C9 = constraints.dimensions_of("known_expanding_dimensions", "operand")
    C10 = constraints.dimensions_of("known_nonexpanding_dimensions", "operand")

    def infer(self) -> list[Type] | None:
        shape = self.sizes("output_dimensions")
        return None if shape is None else [self.result.with_shape(shape)]

    def reference(self, operand: Array, output_dimensions: Array) -> Array:
        shape = self.at_run_time(operand, output_dimensions).required_integers("output_dimensions")
        return broadcast_in_dim(operand, self.broadcast_dimensions, shape)


class DynamicReshape(
    ReshapeRules,
    RunTimeShaped,
    name="stablehlo.dynamic_reshape",
    assembly="operands attr-dict : functional-type",
):
    """`reshape` to a shape that is an operand."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "shape.dynamic_numpy.bind_reshape"
    memory = Memory.FLAT_VIEW
    moved_operands = slice(1)

    operand = Operand(TENSOR)
    output_shape = Operand(INTEGER, rank=1)
    result = Result(TENSOR)

    def result_type(self) -> TensorType:
        shape = self.sizes("output_shape")
        declared: TensorType = self.result
        return declared if shape is None or min(shape, default=0) < 0 else declared.with_shape(shape)

    C4 = is_result_shape("output_shape")

    def infer(self) -> list[Type] | None:
        shape = self.sizes("output_shape")
        return None if shape is None else [self.result.with_shape(shape)]

    def reference(self, operand: Array, output_shape: Array) -> Array:
        return reshape(operand, self.at_run_time(operand, output_shape).required_integers("output_shape"))


class DynamicIota(
    RunTimeShaped,
    name="stablehlo.dynamic_iota",
    assembly="$output_shape , dim = $iota_dimension attr-dict : functional-type",
):
    """`iota` of a shape that is an operand."""

    rounding = Rounding.EXACT
    wider = "carrier"
    numpy = "shape.dynamic_numpy.bind_iota"

    output_shape = Operand(INTEGER, rank=1)
    iota_dimension = Attribute(I64)
    result = Result(INTEGER | FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)

    @constraint
    def C1(self) -> str | None:
        """0 <= iota_dimension < size(output_shape)"""
        length = self.length("output_shape")
        if length == DYNAMIC:
            return None
        return rules.in_range("iota_dimension", [self.iota_dimension], 0, length, "the size of output_shape")

    C2 = is_result_shape("output_shape")

    def infer(self) -> list[Type] | None:
        shape = self.sizes("output_shape")
        return None if shape is None else [self.result.with_shape(shape)]

    def reference(self, output_shape: Array) -> Array:
        shape = self.at_run_time(output_shape).required_integers("output_shape")
        return iota(self.result.plain_element_type, shape, self.iota_dimension)


class DynamicPad(
    PadRules, RunTimeShaped, name="stablehlo.dynamic_pad", assembly="operands attr-dict : functional-type"
):
    """`pad` whose amounts are operands."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "shape.dynamic_numpy.bind_pad"
    moved_operands = slice(2)

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    padding_value = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0)
    edge_padding_low = Operand(INTEGER, rank=1)
    edge_padding_high = Operand(INTEGER, rank=1)
    interior_padding = Operand(INTEGER, rank=1)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    def infer(self) -> list[Type] | None:
        amounts = self.amounts()
        return None if amounts is None else _with_sizes(self.operand, self.padded_shape(amounts))

    def reference(
        self, operand: Array, padding_value: Array, low: Array, high: Array, interior: Array
    ) -> Array:
        view = self.at_run_time(operand, padding_value, low, high, interior)
        return pad(operand, padding_value, *map(view.required_integers, AMOUNTS))


class RealDynamicSlice(
    SliceRules,
    RunTimeShaped,
    name="stablehlo.real_dynamic_slice",
    assembly="operands attr-dict : functional-type",
):
    """`slice` with indices and strides that are operands. Not in the specification.

    A slice that does not lie within the operand is an error, as in `slice`. XLA:CPU moves one
    whose size alone is known into the operand.
    """

    is_specified = False
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "shape.dynamic_numpy.bind_slice"
    memory = Memory.STRIDED_VIEW
    moved_operands = slice(1)

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    start_indices = Operand(INTEGER, rank=1)
    limit_indices = Operand(INTEGER, rank=1)
    strides = Operand(INTEGER, rank=1)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    def infer(self) -> list[Type] | None:
        ranges = self.ranges()
        if ranges is None or min(ranges[2], default=1) <= 0:
            return None
        return _with_sizes(self.operand, sliced_shape(*ranges))

    def reference(self, operand: Array, start_indices: Array, limit_indices: Array, strides: Array) -> Array:
        view = self.at_run_time(operand, start_indices, limit_indices, strides)
        return slice_by_definition(operand, *map(view.required_integers, RANGES))


def _with_sizes(type: TensorType, sizes: Sequence[int]) -> list[Type] | None:
    """The type with these sizes; None if a size is negative, which is an error at run time."""
    return None if any(size < DYNAMIC for size in sizes) else [type.with_shape(sizes)]


class ReadsSizes(Op):
    """Base of operations whose results depend only on sizes."""

    reads_sizes = True


class GetDimensionSize(
    ReadsSizes,
    name="stablehlo.get_dimension_size",
    assembly="$operand , dim = $dimension attr-dict : functional-type",
):
    """The size of one dimension."""

    operand = Operand(TENSOR)
    dimension = Attribute(I64)
    result = Result(SIGNED, rank=0)

    C1 = constraints.dimensions_of("dimension", "operand")

    def infer(self) -> list[Type]:
        return [TensorType((), ELEMENT_TYPES["i32"])]

    def value_of_types(self) -> Array | None:
        size = self.operand.shape[self.dimension]
        return None if size == DYNAMIC or size > _MAX_I32 else np.array(size, np.int32)

    def reference(self, operand: Array) -> Array:
        size = operand.shape[self.dimension]
        if size > _MAX_I32:
            rules.fail_if(self, f"operand has size {size} there, which i32 cannot hold")
        return np.array(size, np.int32)


class SetDimensionSize(
    Op,
    name="stablehlo.set_dimension_size",
    assembly="$operand , $size , dim = $dimension attr-dict : functional-type",
):
    """Sets the size of a dimension, within its bound, to the value of an operand.

    Not in the specification: its labels are our own. A dimension that grows gets zeros; XLA shows there what
    an earlier operation cut off, or anything.
    """

    is_specified = False
    finiteness = Finiteness.MOVED
    memory = Memory.MAY_FORWARD

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    size = Operand(SIGNED, rank=0)
    dimension = Attribute(I64)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_element_type("operand", "result")
    C2 = constraints.dimensions_of("dimension", "operand")

    @constraint
    def C3(self) -> str | None:
        """size is of type si32"""
        if self.size.element_type is ELEMENT_TYPES["i32"]:
            return None
        return f"size is {self.size}, but must be tensor<i32>"

    @constraint
    def C4(self) -> str | None:
        """shape(result) = shape(operand) except for dim(result, dimension)"""
        shape = list(self.operand.shape)
        if 0 <= self.dimension < len(shape):
            shape[self.dimension] = DYNAMIC
        expected = "shape(operand) except for dim(operand, dimension)"
        return rules.same_shape("result", self.result, expected, shape)

    @constraint
    def C5(self) -> str | None:
        """0 <= size <= the bound of the dimension, where it is known"""
        size, bound = rules.constant_operand(self.operation, 1), self.bound(DYNAMIC)
        if size is None or 0 <= int(size) <= (int(size) if bound == DYNAMIC else bound):
            return None
        return f"size is {int(size)}, but must be in [0, {bound}], the bound of operand there"

    def infer(self) -> list[Type] | None:
        size = rules.constant_operand(self.operation, 1)
        shape = list(self.operand.shape)
        if size is None or not 0 <= int(size) <= shape[self.dimension]:
            return None
        shape[self.dimension] = int(size)
        return [self.operand.with_shape(shape)]

    def bound(self, actual: int) -> int:
        """The largest size of the dimension: its bound, or its size."""
        bounds = [type.bounds[self.dimension] for type in (self.operand, self.result) if type.bounds]
        return int(max(actual, self.operand.shape[self.dimension], *bounds))

    def reference(self, operand: Array, size: Array) -> Array:
        limit, actual = int(size), operand.shape[self.dimension]
        declared, bound = self.result.shape[self.dimension], self.bound(actual)
        reason = None
        if not 0 <= limit <= bound:
            reason = f"size is {limit}, but must be in [0, {bound}], the bound of operand there"
        elif not rules.sizes_agree(limit, declared):
            reason = f"size is {limit}, but result has size {declared} there"
        rules.fail_if(self, reason)
        if limit > actual:
            shape = [limit if d == self.dimension else length for d, length in enumerate(operand.shape)]
            enlarged = np.zeros(shape, operand.dtype)
            enlarged[tuple(map(slice, operand.shape))] = operand
            return enlarged
        window: list[slice] = [slice(None)] * operand.ndim
        window[self.dimension] = slice(limit)
        return operand[tuple(window)]
