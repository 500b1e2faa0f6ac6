"""The NumPy implementations of `reduce` and `map`, over whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....types import Array
from ..framework.declaration import Evaluate
from ..numerics.element_types import carrier
from .bodies import vectorize_region
from .reduce import Layout, Map, Reduce
from .reducer import UFUNCS, Arrays, Reducer
from .reduction_tree_numpy import reduce_adjacent, reduce_by_tree


def bind(view: Reduce) -> Callable[..., Any]:
    """The function of inputs, init values and body."""

    def reduce(*operands: Array, body: Evaluate) -> Arrays:
        analysis, tree = view.analysis, view.ordering.reduction_tree
        reducer = analysis.reducer(body, view.ordering.accumulate)
        count = len(operands) // 2
        init_values = analysis.enter(operands[count:], view.init_values, reducer)
        inputs, layout = operands[:count], view.layout
        if tree != "blocked":
            values = _in_order(analysis.enter(inputs, view.inputs, reducer), layout)
            reduced = reduce_by_tree(values, init_values, reducer, tree)
            results = tuple([array.reshape(layout.result_shape) for array in reduced])
        elif not layout.sizes[1]:
            results = tuple([np.broadcast_to(value, layout.result_shape) for value in init_values])
        elif reducer.ufunc is not None:
            results = (reducer.ufunc(init_values[0], _totals(view, inputs, layout, reducer)[0]),)
        else:
            initial = tuple([np.broadcast_to(value, layout.result_shape) for value in init_values])
            results = reducer.combine(initial, _totals(view, inputs, layout, reducer))
        return analysis.leave(results, reducer)

    return reduce


def _totals(view: Reduce, inputs: Arrays, layout: Layout, reducer: Reducer) -> Arrays:
    """Reduce the inputs along the dimensions by adjacent pairs, without init values."""

    def enter(values: Arrays) -> Arrays:
        return view.analysis.enter(values, view.inputs, reducer)

    if reducer.ufunc is not None and reducer.is_exact:
        (array,) = enter(inputs)
        return (reducer.ufunc.reduce(array, axis=view.dimensions, dtype=array.dtype),)
    if view.analysis.is_float_minmax:
        assert view.analysis.monoid is not None
        dtype = carrier(view.analysis.element_types[0])  # type: ignore[arg-type]
        (array,) = enter(inputs)
        result = _extreme(view.analysis.monoid, array.astype(dtype, copy=False), view.dimensions)
        return (result.astype(array.dtype, copy=False),)
    reduced = reduce_adjacent(_in_order(inputs, layout), reducer, enter)
    return tuple([array.reshape(layout.result_shape) for array in reduced])


def _in_order(inputs: Arrays, layout: Layout) -> Arrays:
    """The inputs as [outer, n, inner] arrays."""
    ordered = inputs if layout.permutation is None else [x.transpose(layout.permutation) for x in inputs]
    return tuple([np.ascontiguousarray(array).reshape(layout.sizes) for array in ordered])


def _extreme(name: str, values: Array, dimensions: tuple[int, ...]) -> Array:
    """Minimum or maximum of floats along nonempty dimensions; NaN wins, and -0 is less than +0."""
    result: Array = np.asarray(UFUNCS[name].reduce(values, axis=dimensions))
    zero = result == 0
    if zero.any():
        signs = np.logical_or if name == "minimum" else np.logical_and
        negative = signs.reduce(np.signbit(values), axis=dimensions)
        result = np.where(zero, np.where(negative, result.dtype.type(-0.0), result.dtype.type(0)), result)
    return result


def bind_map(view: Map) -> Callable[..., Any]:
    """The function of inputs and computation."""
    vectorized = vectorize_region(view.computation)

    def map_elements(*inputs: Array, computation: Evaluate) -> Array:
        (result,) = vectorized(computation, *inputs)
        return np.asarray(result)

    return map_elements
