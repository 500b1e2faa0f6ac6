"""The dimensions of an operand collapsed into groups, each with a single stride."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..launch.compilation import kernel


class Group(NamedTuple):
    """Neighbouring dimensions that are all reduced, or all kept, collapsed into one. The stride counts
    elements."""

    size: int
    stride: int
    reduced: bool


class IterationSpace(NamedTuple):
    """Sizes and strides of groups, outermost first, as arrays for kernels."""

    sizes: np.ndarray
    strides: np.ndarray


def dimension_groups(shape: Sequence[int], dimensions: Sequence[int]) -> list[Group]:
    """The operand's dimensions as alternately reduced and kept groups, without dimensions of size 1."""
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


def iteration_space(groups: Sequence[Group]) -> IterationSpace:
    """The iteration space of these groups."""
    return IterationSpace(
        np.array([group.size for group in groups], np.int64),
        np.array([group.stride for group in groups], np.int64),
    )


def check_dimensions(shape: Sequence[int], dimensions: Sequence[int]) -> None:
    """Raises ValueError if `dimensions` has a duplicate or is out of range."""
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < len(shape) for d in dimensions):
        raise ValueError(f"dimensions {tuple(dimensions)} do not fit the shape {tuple(shape)}")


@kernel
def offset_at(index: int, sizes: np.ndarray, strides: np.ndarray) -> int:
    """The operand's offset of element number `index` of an iteration space."""
    offset = 0
    for group in range(sizes.size - 1, 0, -1):
        outer = index // sizes[group]
        offset += (index - outer * sizes[group]) * strides[group]
        index = outer
    return offset + index * strides[0] if sizes.size else 0
