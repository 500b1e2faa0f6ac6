"""Index spaces and elements of tensors, as the formulas of the specification use them.

References are written with these functions: they go through tensors element by element.

Source: specification, section "Formulas".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ....types import Array, DType

Index = tuple[int, ...]


def index_space(shape: Iterable[int]) -> Iterator[Index]:
    """``index_space``: all indices of a tensor of `shape`, in ascending lexicographic order."""
    return itertools.product(*map(range, shape))


def in_bounds(index: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a tensor of `shape` has an element at `index`."""
    return all(0 <= i < size for i, size in zip(index, shape, strict=True))


def clamp(minimum: int, operand: int, maximum: int) -> int:
    """``clamp`` of one number."""
    return min(max(minimum, operand), maximum)


def inserted(index: Sequence[int], value: Any, dimensions: Sequence[int]) -> tuple[Any, ...]:
    """``[i0, ..., value, ..., iN]``: `index` with `value` inserted at `dimensions`."""
    extended: list[Any] = list(index)
    for d in sorted(dimensions):
        extended.insert(d, value)
    return tuple(extended)


def element(array: Array, index: Index) -> Array:
    """``array[index]`` as an array: 0-dimensional where `index` has all dimensions, else a slice."""
    at: tuple[Any, ...] = (*index, ...)
    found: Array = array[at]
    return found


def from_elements(shape: Sequence[int], dtype: DType, element_at: Callable[[Index], Any]) -> Array:
    """The tensor with ``result[result_index] = element_at(result_index)``."""
    result = np.empty(tuple(shape), dtype)
    for result_index in index_space(shape):
        result[result_index] = element_at(result_index)
    return result
