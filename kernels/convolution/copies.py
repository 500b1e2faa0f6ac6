"""Which convolutions are faster of copies whose features, or whose groups, are contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..matmul.strided_copy import reshaped
from . import convolution_tasks as tasks
from .problem import Problem
from .sliding import may_slide

__all__ = ["copies_lhs", "in_order", "prefers_contiguous_features", "prefers_contiguous_groups"]

_COPIED_FMAS = 10
"""Vectors of multiply-adds that take as long as copying an element to or from contiguous features. This and
the next three were measured on one thread of a Zen 5."""
_SHORT_ROW_FMAS = 8
"""Those that take as long as packing an element of windows whose rows are shorter than a vector."""
_STEP_FMAS = 4
"""The same for windows in longer rows with steps; 1 without steps."""
_SEGMENT_FMAS = 20
"""Those that take as long as finding a contiguous run of a window that is read where it is."""
_MIN_COPIED_FEATURES = 16
"""Minimum number of input features for which windows are read in a copy of lhs, instead of being packed from
lhs itself. On one thread of a Sapphire Rapids 3x3 windows of 64 to 512 features take 0.6 to 0.9 of the time,
and those of 2 features, in gradients of filters, 1.6."""


def prefers_contiguous_features(problem: Problem, shapes: Sequence[Sequence[int]]) -> bool:
    """Whether contiguous features of lhs and of the result pay, although arrays may have to be copied.

    Vectors then run along output features, and windows are read where they are. Few consecutive windows do
    not fill vectors, and windows with steps or in short rows take long to pack.
    """
    numbers, result = problem.numbers, shapes[2]
    consecutive = prod(result[numbers.result[-1] + 1 :])
    if consecutive == 1 or problem.axes == ():
        return False
    if max(problem.groups) == 1 and may_slide(problem.axes, problem.outputs, problem.dtype):
        return False
    lanes = tasks.tile_shape(problem.dtype.name, tasks.best_level())[0]
    groups = max(problem.groups)
    columns, windows = problem.outputs // groups, prod(result) // problem.outputs
    row = problem.axes[-1]
    fmas_of_steps = _STEP_FMAS if row.stride * row.base_dilation > 1 else 1
    vectors_of_windows = windows // consecutive * -(-consecutive // lanes) * columns
    vectors_of_columns = windows * -(-columns // lanes)
    packed_fmas = windows * (_SHORT_ROW_FMAS if row.windows < lanes else fmas_of_steps)
    saved_fmas = (vectors_of_windows - vectors_of_columns + packed_fmas) * groups * problem.features
    saved_fmas *= prod(axis.window for axis in problem.axes)
    positions = 1 if row.base_dilation > 1 or row.window_dilation > 1 else row.window
    saved_fmas -= _SEGMENT_FMAS * windows * groups * prod(axis.window for axis in problem.axes) // positions
    return saved_fmas > _COPIED_FMAS * (prod(shapes[0]) + prod(result))


def prefers_contiguous_groups(problem: Problem) -> bool:
    """Whether copies whose groups are contiguous pay: vectors then run along groups.

    The gradient of the weight of a depthwise convolution has batch groups with one result feature each. A
    single result feature of a group leaves other loops one multiply-add for each element that they pack. On
    one thread of a Sapphire Rapids 1 and 9 windows take 0.1 to 0.3 of the time of these, 25 and 49 windows
    0.06 to 0.2.
    """
    numbers, groups = problem.numbers, problem.groups[1]
    last = len(numbers.lhs) - 1
    if problem.batch > 1 or problem.outputs != groups or groups == 1:
        return False
    if numbers.lhs[0] == numbers.rhs[-1] == numbers.result[-1] == last:
        return False
    lanes = tasks.tile_shape(problem.dtype.name, tasks.best_level())[0]
    return 2 * groups >= lanes


def copies_lhs(problem: Problem) -> bool:
    """Whether a convolution by contiguous features copies lhs, instead of packing windows of lhs as it is."""
    return problem.features >= _MIN_COPIED_FEATURES and max(problem.groups) == 1


def in_order(array: np.ndarray, dims: Sequence[int], threads: int | None) -> np.ndarray:
    """An array with its dimensions in this order, also in memory: a copy unless they are."""
    transposed = array.transpose(dims)
    return reshaped(transposed, (transposed.size,), threads).reshape(transposed.shape)
