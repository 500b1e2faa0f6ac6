"""The specialized form of a `reduce` whose second input is an iota along a dimension.

Only the specializer creates it: no text and no bytecode may name it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...ir import Operation
from ...types import INTEGER, PLAIN, TensorType
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Array, Attribute, Evaluate, Op, Operand, Region, Result
from ..framework.op_registry import ARG_REDUCE
from ..reduction.reduce import Reduce
from ..reduction.vectorize_region import Arrays
from ..shape.creation import Iota


class ArgReduce(Op, name=ARG_REDUCE):
    """`reduce` of values paired with their positions along a reduced dimension, which are not an operand.

    `dimensions` are the reduced ones, beginning with the one along which positions are counted.
    """

    is_internal = True

    operand = Operand(PLAIN)
    init_value = Operand(PLAIN, rank=0)
    init_position = Operand(INTEGER, rank=0)
    dimensions = Attribute(DIMENSIONS)
    body = Region()
    results = Result(PLAIN, variadic=True)

    @property
    def positions_type(self) -> TensorType:
        """The type that the positions of all values have."""
        type: TensorType = self.init_position
        return type.with_shape(self.operand.shape)

    @property
    def positions(self) -> Array:
        """The positions of all values."""
        shape, along = self.operand.shape, self.dimensions[0]
        counted = np.arange(shape[along]).astype(self.positions_type.dtype)
        aligned = counted.reshape([-1 if d == along else 1 for d in range(len(shape))])
        return np.broadcast_to(aligned, shape)

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

    def reference(self, operand: Array, init_value: Any, init_position: Any, *, body: Evaluate) -> Arrays:
        reduction = self.reduction
        reduction.ordering = self.ordering
        return reduction.reference(operand, self.positions, init_value, init_position, body=body)
