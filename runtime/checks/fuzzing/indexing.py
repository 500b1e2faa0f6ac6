"""Random gathers and scatters, with any dimension numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...types import ELEMENT_TYPES, INTEGER, ElementType, TensorType, storage_range
from .elementwise import EXACT_BINARY, scalar_expression
from .generator import CannotGenerate, Generator, Producers
from .tensor_values import TensorValue as Value

_INDEX_TYPES = ("i8", "i16", "i32", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "i4", "ui4")


@dataclass
class Dimensions:
    """Dimension numbers of a gather or a scatter, under names that fit both.

    Attributes:
        slice_sizes: the sizes of a window, 1 along dropped and batching dimensions.
        indices: the start indices, or the scatter indices.
        dropped: collapsed_slice_dims, or inserted_window_dims.
        batching: the batching dimensions of the operand, or of the input.
        indices_batching: the batching dimensions of the indices.
        index_map: start_index_map, or scatter_dims_to_operand_dims.
        window: offset_dims, or update_window_dims.
        index_vector_dim: as in the specification.
        space: the shape of the gather's result, or of the scatter's updates.
    """

    slice_sizes: list[int]
    indices: Value
    dropped: list[int]
    batching: list[int]
    indices_batching: list[int]
    index_map: list[int]
    window: list[int]
    index_vector_dim: int
    space: list[int]


def dimensions(g: Generator, shape: Sequence[int]) -> Dimensions:
    """Dimension numbers for an operand of `shape`."""
    rank = len(shape)
    roles = [g.random.choice(("window", "dropped", "dropped", "batching")) for _ in range(rank)]
    # An element is read along a dropped dimension, so that it must not be empty.
    roles = ["window" if size == 0 else role for size, role in zip(shape, roles, strict=True)]
    batching = [d for d in range(rank) if roles[d] == "batching"]
    mappable = [d for d in range(rank) if roles[d] != "batching"]
    index_map = g.random.sample(mappable, g.random.randrange(len(mappable) + 1))
    slice_sizes = [
        g.random.randrange(min(size, g.pick((3,), (3, size))) + 1) if role == "window" else 1
        for size, role in zip(shape, roles, strict=True)
    ]
    batch = [(d, shape[d]) for d in batching] + [(-1, g.size()) for _ in range(g.random.randrange(3))]
    g.random.shuffle(batch)
    sizes = [size for _, size in batch]
    position = g.random.randrange(len(batch) + 1)
    implicit = len(index_map) == 1 and g.chance(0.5)
    index_vector_dim = len(sizes) if implicit else position
    indices_shape = sizes if implicit else [*sizes[:position], len(index_map), *sizes[position:]]
    positions = {d: position for position, (d, _) in enumerate(batch)}
    window_sizes = [size for size, role in zip(slice_sizes, roles, strict=True) if role == "window"]
    space_rank = len(sizes) + len(window_sizes)
    window = sorted(g.random.sample(range(space_rank), len(window_sizes)))
    remaining = {True: list(window_sizes), False: list(sizes)}
    space = [remaining[d in window].pop(0) for d in range(space_rank)]
    if max(np.prod(space), np.prod(indices_shape)) > 2 * g.largest:
        raise CannotGenerate("large")
    return Dimensions(
        slice_sizes,
        _indices(g, indices_shape),
        [d for d in range(rank) if roles[d] == "dropped"],
        batching,
        [positions[d] + (positions[d] >= index_vector_dim) for d in batching],
        index_map,
        window,
        index_vector_dim,
        space,
    )


def _indices(g: Generator, shape: Sequence[int]) -> Value:
    """Indices near zero, with duplicates and some outside, or any integers."""
    element_type = ELEMENT_TYPES[g.random.choice(_INDEX_TYPES)]
    type = TensorType(shape, element_type)
    if g.chance(0.2):
        return g.operand(type)
    low = 0 if element_type.name.startswith("ui") else -1
    values = g.np_random.integers(low, g.pick((6,), (6, 40, 127)), tuple(shape))
    values = np.minimum(values, min(storage_range(element_type)[1], 127))
    return g.constant(type, values.astype(np.int64).astype(type.dtype))


def gather(g: Generator) -> None:
    operand = g.value()
    d = dimensions(g, operand.type.shape)
    g.add(
        "stablehlo.gather",
        [operand, d.indices],
        [operand.type.with_shape(d.space)],
        offset_dims=tuple(d.window),
        collapsed_slice_dims=tuple(d.dropped),
        operand_batching_dims=tuple(d.batching),
        start_indices_batching_dims=tuple(d.indices_batching),
        start_index_map=tuple(d.index_map),
        index_vector_dim=d.index_vector_dim,
        slice_sizes=tuple(d.slice_sizes),
        indices_are_sorted=False,
    )


def scatter(g: Generator) -> None:
    """A scatter of one to three inputs with any update computation."""
    first = g.value()
    d = dimensions(g, first.type.shape)
    inputs = [first]
    if g.chance(0.3):
        inputs += [
            g.operand(TensorType(first.type.shape, g.element_type())) for _ in range(g.random.choice((1, 2)))
        ]
    updates = [g.operand(value.type.with_shape(d.space)) for value in inputs]
    element_types = [promoted(g, value.type.element_type) for value in inputs]
    scalars = [TensorType((), element_type) for element_type in element_types]
    count = len(inputs)

    def combine(*arguments: Value) -> list[Value]:
        if g.chance(0.2):
            return list(arguments[count:])
        if count == 1 and g.chance(0.5):
            category = scalars[0].category
            name = g.random.choice(
                [name for name, categories in EXACT_BINARY.items() if categories & category]
            )
            return g.add(f"stablehlo.{name}", g.random.sample(arguments, 2), [scalars[0]])
        return [scalar_expression(g, arguments, scalar, g.random.randrange(1, 4)) for scalar in scalars]

    region = g.region([*scalars, *scalars], combine)
    results = [value.type.with_element_type(e) for value, e in zip(inputs, element_types, strict=True)]
    g.add(
        "stablehlo.scatter",
        [*inputs, d.indices, *updates],
        results,
        [region],
        update_window_dims=tuple(d.window),
        inserted_window_dims=tuple(d.dropped),
        input_batching_dims=tuple(d.batching),
        scatter_indices_batching_dims=tuple(d.indices_batching),
        scatter_dims_to_operand_dims=tuple(d.index_map),
        index_vector_dim=d.index_vector_dim,
        indices_are_sorted=False,
        unique_indices=False,
    )


def promoted(g: Generator, element_type: ElementType) -> ElementType:
    """The element type itself, or rarely a wider one of its kind."""
    if not element_type.category & INTEGER or g.chance(0.8):
        return element_type
    wider = [
        declared
        for declared in ELEMENT_TYPES.values()
        if declared.category == element_type.category and declared.width > element_type.width
    ]
    return g.random.choice([element_type, *wider])


PRODUCERS: Producers = [(2.5, gather), (2.5, scatter)]
"""The operation producers of this module, with their relative frequencies."""
