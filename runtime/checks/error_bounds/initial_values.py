"""Other results of reductions whose initial values are not the identity of the body.

The specification (section "reduce") lets an implementation combine initial values any number of times, at any
position. Ours combines one, and one for each element of padding. XLA, for example, skips padding, and returns
the input of a reduction that reduces nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...program.ops.framework.declaration import Op
from ...program.ops.reduction.reduce import Reduce
from ...program.ops.reduction.reduce_window import ReduceWindow
from ...program.ops.reduction.reduce_window_numpy import reduce_windows
from ...program.ops.reduction.reducer import Arrays, Reducer
from ...program.ops.reduction.reduction_tree_numpy import reduce_adjacent
from ...types import Array
from .ulps import equal_elements

Alternatives = Callable[[Sequence[Array], Sequence[Array], Any], list[list[Array]]]
"""A function of the operands, the results and the body's function that returns other correct results."""


def alternatives(view: Op) -> Alternatives | None:
    """The function that computes other correct results of a reduction; None for other operations."""
    if not isinstance(view, Reduce | ReduceWindow):
        return None

    def compute(operands: Sequence[Array], results: Sequence[Array], body: Any) -> list[list[Array]]:
        reducer = view.analysis.reducer(body, view.ordering.accumulate)
        count = len(operands) // 2
        initial = view.analysis.enter(operands[count:], view.init_values, reducer)
        inputs = view.analysis.enter(operands[:count], view.inputs, reducer)
        if isinstance(view, Reduce):
            values, is_any = _reduced_values(view, inputs, reducer)
        else:
            values, is_any = _window_values(view, inputs, reducer)
        starts = tuple([np.broadcast_to(one, is_any.shape) for one in initial])
        with np.errstate(all="ignore"):
            once = reducer.combine(starts, values)
        orders: list[list[Array]] = []
        for candidate in (once, values):
            chosen = [np.where(is_any, one, start) for one, start in zip(candidate, starts, strict=True)]
            rounded = [np.asarray(one) for one in view.analysis.leave(chosen, reducer)]
            others = [*orders, list(results)]
            if not any(
                all(equal_elements(*pair).all() for pair in zip(rounded, other, strict=True))
                for other in others
            ):
                orders.append(rounded)
        return orders

    return compute


def _reduced_values(view: Reduce, inputs: Arrays, reducer: Reducer) -> tuple[Arrays, Array]:
    """The reduction of the inputs without the initial value, and a mask of the results that have inputs."""
    layout = view.layout
    outer, count, inner = layout.sizes
    if not count:
        zeros = tuple([np.zeros(layout.result_shape, one.dtype) for one in inputs])
        return zeros, np.zeros(layout.result_shape, np.bool_)
    ordered = inputs if layout.permutation is None else [x.transpose(layout.permutation) for x in inputs]
    values = tuple([np.ascontiguousarray(one).reshape(outer, count, inner) for one in ordered])
    reduced = reduce_adjacent(values, reducer)
    results = tuple([one.reshape(layout.result_shape) for one in reduced])
    return results, np.ones(layout.result_shape, np.bool_)


def _window_values(view: ReduceWindow, inputs: Arrays, reducer: Reducer) -> tuple[Arrays, Array]:
    """The reduction of each window without padding, and a mask of the windows that have elements."""
    present = np.ones(inputs[0].shape, np.bool_)
    absent = tuple([np.zeros((), one.dtype) for one in inputs])
    *values, is_any = reduce_windows(
        (*inputs, present), (*absent, np.zeros((), np.bool_)), view.windows, _flagged(reducer)
    )
    return tuple(values), is_any


def _flagged(reducer: Reducer) -> Reducer:
    """A reducer of values with flags, which skips the values that are not flagged."""

    def combine(left: Arrays, right: Arrays) -> Arrays:
        *left_values, is_left = left
        *right_values, is_right = right
        with np.errstate(all="ignore"):
            combined = reducer.combine(tuple(left_values), tuple(right_values))
        both = is_left & is_right
        chosen = [
            np.where(both, joined, np.where(is_left, a, b))
            for joined, a, b in zip(combined, left_values, right_values, strict=True)
        ]
        return (*chosen, is_left | is_right)

    return Reducer(combine, [*reducer.dtypes, np.dtype(np.bool_)])
