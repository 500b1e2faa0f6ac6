"""The NumPy implementation of `pad`: two assignments to an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....types import Array
from .movement_numpy import checked
from .slicing import Pad, padded_size, padded_slices


def bind(view: Pad) -> Callable[..., Any]:
    """The function of operand and padding_value."""
    amounts = view.amounts()
    if view.operand.is_static:
        return pad_to_shape(view.operand.shape, *amounts)
    return checked(view, lambda operand, value: pad_to_shape(operand.shape, *amounts)(operand, value))


def pad_to_shape(
    shape: Sequence[int], low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Callable[[Array, Array], Array]:
    """The function of operand and padding_value for one shape. Source: specification, `pad`."""
    result_shape = tuple(map(padded_size, shape, low, high, interior))
    pairs = list(map(padded_slices, shape, result_shape, low, interior))
    source_slices = tuple([pair[0] for pair in pairs])
    target_slices = tuple([pair[1] for pair in pairs])
    empty = np.empty

    def pad(operand: Array, padding_value: Array) -> Array:
        result = empty(result_shape, operand.dtype)
        result[...] = padding_value
        result[target_slices] = operand[source_slices]
        return result

    return pad
