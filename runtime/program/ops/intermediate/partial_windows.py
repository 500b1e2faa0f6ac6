"""Scatters that drop every element of a window which is partly out of bounds, as XLA's do.

The start indices of such a window are set far out of bounds, so that a scatter which drops single elements
drops all of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....types import ANY, ELEMENT_TYPES, INTEGER, Array, Type
from ..framework.declaration import Operand, Result
from ..framework.rules import constant_operand
from ..framework.traits import Memory
from ..indexing import index_space
from ..indexing.scatter_rules import ScatterNumbers, multi_element_components, window_extents
from ..shape.run_time_sizes import RunTimeShaped

EXCLUDE_PARTIAL_WINDOWS: Final = "nimblehlo.exclude_partial_windows"

OUT_OF_BOUNDS_START: Final = -(1 << 48)
"""A start index so far out of bounds that no window overlaps any tensor."""


class ExcludePartialWindows(RunTimeShaped, ScatterNumbers, name=EXCLUDE_PARTIAL_WINDOWS):
    """The scatter_indices of a scatter, OUT_OF_BOUNDS_START for windows that are not in bounds.

    It occurs only in specialized programs. Its attributes are those of the scatter.
    """

    memory = Memory.MAY_FORWARD
    is_internal = True

    input = Operand(ANY)
    scatter_indices = Operand(INTEGER)
    update = Operand(ANY)
    result = Result(INTEGER)

    def infer(self) -> list[Type]:
        return [self.scatter_indices.with_element_type(ELEMENT_TYPES["i64"])]

    def reference(self, input: Array, scatter_indices: Array, update: Array) -> Array:
        return indices_without_partial_windows(self, input.shape, scatter_indices, update.shape)


def may_drop_windows(view: Any) -> bool:
    """Whether a window of a scatter may be partly out of bounds.

    A window with one element along each scattered dimension cannot be partly out of bounds.
    Constant indices are checked.
    """
    input_type, updates_type = view.inputs[0], view.updates[0]
    components = multi_element_components(view, input_type.rank, updates_type.shape)
    if not components:
        return False
    indices = constant_operand(view.operation, len(view.inputs))
    if indices is None or not (input_type.is_static and updates_type.is_static):
        return True
    _, outside = out_of_bounds_components(view, input_type.shape, indices, updates_type.shape)
    return bool(outside[components].any())


def out_of_bounds_components(
    view: ScatterNumbers, shape: Sequence[int], scatter_indices: Array, updates_shape: Sequence[int]
) -> tuple[Array, Array]:
    """The index vectors of a scatter, and which of their elements put a window partly out of bounds.

    Args:
        view: has the dimension numbers of `scatter`.
        shape, updates_shape: of an input and of its updates.
        scatter_indices: integers of any type.

    Returns:
        Two arrays of shape [size of an index vector, number of index vectors]: int64 and booleans.
    """
    extents = window_extents(view, len(shape), updates_shape)
    last = [shape[d] - extents.get(d, 1) for d in view.scatter_dims_to_operand_dims]
    vectors = index_space.index_vectors(scatter_indices, view.index_vector_dim)
    return vectors, (vectors < 0) | (vectors > np.array(last, np.int64).reshape(-1, 1))


def indices_without_partial_windows(
    view: ScatterNumbers, shape: Sequence[int], scatter_indices: Array, updates_shape: Sequence[int]
) -> Array:
    """The indices as int64, replaced by OUT_OF_BOUNDS_START for windows that are not in bounds."""
    _, outside = out_of_bounds_components(view, shape, scatter_indices, updates_shape)
    indices = index_space.as_indices(scatter_indices)
    is_outside = outside.any(axis=0)
    if not is_outside.any():
        return indices
    batch = index_space.batch_sizes(indices.shape, view.index_vector_dim)
    mask = is_outside.reshape(batch)
    if view.index_vector_dim < indices.ndim:
        mask = np.expand_dims(mask, view.index_vector_dim)
    return np.where(mask, np.int64(OUT_OF_BOUNDS_START), indices)
