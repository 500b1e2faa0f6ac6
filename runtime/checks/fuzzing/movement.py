"""Random operations that move elements: reshapes, slices, padding, and those whose sizes are operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...program.ops.shape.slicing import padded_size
from ...types import COMPLEX, ELEMENT_TYPES, FLOAT, INTEGER, TensorType
from .generator import CannotGenerate, Generator, Producers
from .tensor_values import TensorValue as Value

_INDEX_TYPES = ("i8", "i32", "i64", "ui8", "ui32", "ui64")


def index_constant(g: Generator, values: object) -> Value:
    """A constant of sizes or amounts, which are known."""
    array = np.array(values)
    name = g.random.choice(("i32", "i64"))
    return g.constant(TensorType(array.shape, ELEMENT_TYPES[name]), array)


def broadcast_in_dim(g: Generator) -> None:
    """A broadcast; sizes of 1 may grow, and dimensions may be exchanged."""
    operand = g.value()
    rank = operand.type.rank
    result_rank = rank + g.random.randrange(0, 3)
    dimensions = g.random.sample(range(result_rank), rank)
    shape = list(g.shape(result_rank, g.largest // 5))
    for dimension, size in zip(dimensions, operand.type.shape, strict=True):
        if size != 1 or g.chance(0.3):
            shape[dimension] = size
    require_small(g, shape)
    attributes: dict[str, Any] = {"broadcast_dimensions": tuple(dimensions)}
    result = operand.type.with_shape(shape)
    if g.chance(0.2):
        sizes = index_constant(g, shape)
        g.add("stablehlo.dynamic_broadcast_in_dim", [operand, sizes], [result], **attributes)
    else:
        g.add("stablehlo.broadcast_in_dim", [operand], [result], **attributes)


def require_small(g: Generator, shape: Sequence[int]) -> None:
    """Raise CannotGenerate if a result has too many elements."""
    if np.prod(shape) > 2 * g.largest:
        raise CannotGenerate("large")


def concatenate(g: Generator) -> None:
    """A concatenation of one to four operands, some of them empty."""
    first = g.value()
    if not first.type.rank:
        raise CannotGenerate("rank 0")
    dimension = g.random.randrange(first.type.rank)
    inputs = [first]
    for _ in range(g.random.randrange(0, 4)):
        shape = list(first.type.shape)
        shape[dimension] = g.size()
        inputs.append(g.operand(first.type.with_shape(shape)))
    shape = list(first.type.shape)
    shape[dimension] = sum(value.type.shape[dimension] for value in inputs)
    require_small(g, shape)
    g.add("stablehlo.concatenate", inputs, [first.type.with_shape(shape)], dimension=dimension)


def iota(g: Generator) -> None:
    """An iota, of sizes that are known or an operand."""
    type = g.type(INTEGER | FLOAT | COMPLEX, g.random.randrange(1, 4))
    dimension = g.random.randrange(type.rank)
    if g.chance(0.3):
        g.add("stablehlo.dynamic_iota", [index_constant(g, type.shape)], [type], iota_dimension=dimension)
    else:
        g.add("stablehlo.iota", [], [type], iota_dimension=dimension)


def pad(g: Generator) -> None:
    """Padding with negative edges and holes."""
    operand = g.value()
    amounts = []
    for size in operand.type.shape:
        interior = g.random.choice((0, 0, 1, 2))
        low, high = (g.random.choice((-2, -1, 0, 0, 1, 2, 3, -5, 9)) for _ in range(2))
        if padded_size(size, low, high, interior) < 0:
            low, high = 0, 0
        amounts.append((low, high, interior))
    shape = [padded_size(size, *amount) for size, amount in zip(operand.type.shape, amounts, strict=True)]
    require_small(g, shape)
    columns = [tuple([amount[index] for amount in amounts]) for index in range(3)]
    padding_value = g.operand(operand.type.with_shape(()))
    result = operand.type.with_shape(shape)
    if g.chance(0.2) and amounts:
        name = g.random.choice(("i32", "i64"))
        type = TensorType((len(amounts),), ELEMENT_TYPES[name])
        sizes = [g.constant(type, np.array(column)) for column in columns]
        g.add("stablehlo.dynamic_pad", [operand, padding_value, *sizes], [result])
        return
    low_column, high_column, interior_column = columns
    g.add(
        "stablehlo.pad",
        [operand, padding_value],
        [result],
        edge_padding_low=low_column,
        edge_padding_high=high_column,
        interior_padding=interior_column,
    )


def reshape(g: Generator) -> None:
    """A reshape to a shape of as many elements."""
    operand = g.value()
    remaining, shape = operand.type.size, []
    if remaining == 0:
        shape = [*g.shape(g.random.randrange(0, 3)), 0]
    else:
        while remaining > 1 or g.chance(0.3):
            divisors = [size for size in range(1, remaining + 1) if remaining % size == 0]
            shape.append(g.random.choice(divisors))
            remaining //= shape[-1]
    result = operand.type.with_shape(shape)
    if g.chance(0.2):
        g.add("stablehlo.dynamic_reshape", [operand, index_constant(g, shape or np.zeros(0, int))], [result])
    else:
        g.add("stablehlo.reshape", [operand], [result])


def reverse(g: Generator) -> None:
    """A reversal along some dimensions."""
    operand = g.value()
    rank = operand.type.rank
    dimensions = g.random.sample(range(rank), g.random.randrange(rank + 1))
    g.add("stablehlo.reverse", [operand], [operand.type], dimensions=tuple(dimensions))


def slice_(g: Generator) -> None:
    """A slice with strides, of ranges that are known or operands."""
    operand = g.value()
    ranges = []
    for size in operand.type.shape:
        start = g.random.randrange(size + 1)
        limit = g.random.randrange(start, size + 1)
        ranges.append((start, limit, g.random.choice((1, 1, 2, 3))))
    shape = [-((start - limit) // stride) for start, limit, stride in ranges]
    starts, limits, strides = ([slice_range[index] for slice_range in ranges] for index in range(3))
    result = operand.type.with_shape(shape)
    g.add(
        "stablehlo.slice",
        [operand],
        [result],
        start_indices=tuple(starts),
        limit_indices=tuple(limits),
        strides=tuple(strides),
    )


def transpose(g: Generator) -> None:
    operand = g.value()
    permutation = tuple(g.random.sample(range(operand.type.rank), operand.type.rank))
    shape = [operand.type.shape[dimension] for dimension in permutation]
    g.add("stablehlo.transpose", [operand], [operand.type.with_shape(shape)], permutation=permutation)


def get_dimension_size(g: Generator) -> None:
    operand = g.value()
    if not operand.type.rank:
        raise CannotGenerate("rank 0")
    dimension = g.random.randrange(operand.type.rank)
    g.add(
        "stablehlo.get_dimension_size", [operand], [TensorType((), ELEMENT_TYPES["i32"])], dimension=dimension
    )


def start_indices(g: Generator, count: int) -> list[Value]:
    """Start indices of one integer type, some of them outside of any range."""
    type = TensorType((), ELEMENT_TYPES[g.random.choice(_INDEX_TYPES)])
    return [g.operand(type) for _ in range(count)]


def dynamic_slice(g: Generator) -> None:
    """A slice whose start is clamped."""
    operand = g.value()
    sizes = tuple(g.random.randrange(size + 1) for size in operand.type.shape)
    starts = start_indices(g, operand.type.rank)
    g.add("stablehlo.dynamic_slice", [operand, *starts], [operand.type.with_shape(sizes)], slice_sizes=sizes)


def dynamic_update_slice(g: Generator) -> None:
    """An update of a slice whose start is clamped."""
    operand = g.value()
    sizes = [g.random.randrange(size + 1) for size in operand.type.shape]
    update = g.operand(operand.type.with_shape(sizes))
    starts = start_indices(g, operand.type.rank)
    g.add("stablehlo.dynamic_update_slice", [operand, update, *starts], [operand.type])


PRODUCERS: Producers = [
    (1, broadcast_in_dim),
    (1, concatenate),
    (0.7, iota),
    (1, pad),
    (1, reshape),
    (0.7, reverse),
    (1, slice_),
    (1, transpose),
    (0.2, get_dimension_size),
    (1, dynamic_slice),
    (1, dynamic_update_slice),
]
"""The operation producers of this module, with their relative frequencies."""
