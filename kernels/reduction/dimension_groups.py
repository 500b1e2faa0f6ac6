"""The dimensions of an operand seen as few groups, each walked through with one stride."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..launch.compilation import kernel


class Group(NamedTuple):
    """Neighbouring dimensions that are all reduced, or all kept, taken as one. The stride counts elements."""

    size: int
    stride: int
    reduced: bool


class Walk(NamedTuple):
    """Sizes and strides of the groups that an index runs through, outermost first, as arrays for loops."""

    sizes: np.ndarray
    strides: np.ndarray


def groups_of(shape: Sequence[int], dimensions: Sequence[int]) -> list[Group]:
    """The operand's dimensions as alternately reduced and kept groups; dimensions of size 1 are left out."""
    groups: list[Group] = []
    stride = 1
    for dimension in reversed(range(len(shape))):
        size = shape[dimension]
        if size == 1:
            continue
        reduced = dimension in dimensions
        if groups and groups[0].reduced == reduced:
            groups[0] = Group(groups[0].size * size, groups[0].stride, reduced)
        else:
            groups.insert(0, Group(size, stride, reduced))
        stride *= size
    return groups


def walk_of(groups: Sequence[Group]) -> Walk:
    """The walk through these groups."""
    return Walk(
        np.array([group.size for group in groups], np.int64),
        np.array([group.stride for group in groups], np.int64),
    )


def check_dimensions(shape: Sequence[int], dimensions: Sequence[int]) -> None:
    """Raises ValueError where `dimensions` names one twice, or one that is not there."""
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < len(shape) for d in dimensions):
        raise ValueError(f"dimensions {tuple(dimensions)} do not fit the shape {tuple(shape)}")


@kernel
def offset_of(index: int, sizes: np.ndarray, strides: np.ndarray) -> int:
    """Where in the operand the element number `index` of a walk lies."""
    offset = 0
    for group in range(sizes.size - 1, 0, -1):
        outer = index // sizes[group]
        offset += (index - outer * sizes[group]) * strides[group]
        index = outer
    return offset + index * strides[0] if sizes.size else 0
