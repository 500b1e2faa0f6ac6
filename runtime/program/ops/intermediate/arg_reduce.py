"""The specialized form of a `reduce` whose second input is an iota along a dimension.

Only the specializer creates it: no text and no bytecode may name it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....types import INTEGER, PLAIN, Array, DType, TensorType, Type
from ...ir import Operation
from ..framework import costs, rules
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.op_registry import ARG_REDUCE
from ..reduction.bodies import arg_reducer
from ..reduction.reduce import Reduce
from ..reduction.reducer import Arrays
from ..shape.creation import Iota


class ArgReduce(Op, name=ARG_REDUCE):
    """`reduce` of values paired with their positions along a reduced dimension, which are not an operand.

    `dimensions` are the reduced ones, beginning with the one along which positions are counted.
    """

    kernel = "body_kernels.arg_reduce_kernel"
    region_loop = "reductions.region_reduction.ArgReduceCode"
    copies_strided_operands = True
    work = costs.Work.COMBINATIONS
    block_rule = "scalars.small_reductions.ARG_REDUCE"
    loop_sharding = "arg_reduce"

    is_internal = True

    operand = Operand(PLAIN)
    init_value = Operand(PLAIN, rank=0)
    init_position = Operand(INTEGER, rank=0)
    dimensions = Attribute(DIMENSIONS)
    body = Region()
    results = Result(PLAIN, variadic=True)

    @property
    def positions_type(self) -> TensorType:
        type: TensorType = self.init_position
        return type.with_shape(self.operand.shape)

    @property
    def positions(self) -> Array:
        shape, along = self.operand.shape, self.dimensions[0]
        counted = np.arange(shape[along]).astype(self.positions_type.dtype)
        aligned = counted.reshape([-1 if d == along else 1 for d in range(len(shape))])
        return np.broadcast_to(aligned, shape)

    @functools.cached_property
    def direction(self) -> str | None:
        """``"maximum"`` or ``"minimum"``, which the body searches; None for another body."""
        return arg_reducer(self.body)

    @functools.cached_property
    def reduction(self) -> Reduce:
        """The equivalent `reduce` with positions as an operand."""
        value, init_value, init_position = self.operation.operands
        counted = {"iota_dimension": I64.encode(self.dimensions[0])}
        positions = Operation(Iota.name, (), [self.positions_type], counted).result
        return Reduce(
            Operation(
                Reduce.name,
                (value, positions, init_value, init_position),
                [result.type for result in self.operation.results],
                self.operation.attributes,
                self.operation.regions,
                self.operation.location,
            )
        )

    @constraint
    def C1(self) -> str | None:
        """the constraints of `reduce` on the operand and the positions hold"""
        return rules.first(*(reason for _, _, reason in self.reduction.constraints()))

    def infer(self) -> list[Type]:
        return self.reduction.infer()

    def reference(self, operand: Array, init_value: Any, init_position: Any, *, body: Evaluate) -> Arrays:
        reduction = self.reduction
        reduction.ordering = self.ordering
        analysis, reducer = reduction.analysis, reduction.analysis.reducer(body, self.ordering.accumulate)
        extremes = self._search(operand) if list(reducer.dtypes) == self._dtypes else None
        if extremes is None:
            results: Arrays = reduction.bind()(operand, self.positions, init_value, init_position, body=body)
            return results
        init_values = analysis.enter((init_value, init_position), reduction.init_values, reducer)
        initial = tuple([np.broadcast_to(value, extremes[0].shape) for value in init_values])
        return analysis.leave(reducer.combine(initial, extremes), reducer)

    @property
    def _dtypes(self) -> list[DType]:
        """The NumPy types of values and positions."""
        return [self.operand.dtype, self.positions_type.dtype]

    def _search(self, operand: Array) -> Arrays | None:
        """The extremes along one dimension and their positions; None if NumPy does not search as the body.

        In the tree of adjacent pairs the body keeps the first NaN, or else the lowest position of the extreme
        and, of zeros, the sign of the last one.
        """
        direction, dtype = self.direction, self.positions_type.dtype
        axis, size = self.dimensions[0], operand.shape[self.dimensions[0]]
        has_order = direction is not None and self.ordering.reduction_tree == "blocked"
        if not has_order or len(self.dimensions) > 1 or operand.dtype.kind not in "iuf":
            return None
        if not operand.size or size - 1 > np.iinfo(dtype).max:
            return None
        search = np.argmax if direction == "maximum" else np.argmin
        positions = np.expand_dims(search(operand, axis), axis)
        values = np.take_along_axis(operand, positions, axis)
        if operand.dtype.kind == "f" and not values.all():
            last = size - 1 - np.argmax(np.flip(operand == 0, axis), axis)
            last_zeros = np.take_along_axis(operand, np.expand_dims(last, axis), axis)
            values = np.where(values == 0, last_zeros, values)
        return values.squeeze(axis), positions.squeeze(axis).astype(dtype)
