"""`reduce` and `map`: functions applied along dimensions.

The values of a result element, in row-major order of the reduced dimensions, are reduced by the tree of
`reduction_tree`. Where the body is one addition or multiplication of floats narrower than f32, all of this
happens in f32 and is rounded once; `Options(accumulate=...)` says otherwise.

Source: specification, sections "reduce" and "map".
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...types import PLAIN, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Attribute, Constraint, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.facts import OpenOrder
from ..framework.rules import function_type_is
from ..numerics.element_types import carrier
from .bodies import vectorize_region
from .reducer import UFUNCS, Arrays, Body, Reducer
from .reduction_tree import reduce_adjacent, reduce_by_tree


class Layout(NamedTuple):
    """The view of an operand as [outer, n, inner], where n counts the reduced values of a result element.

    Attributes:
        permutation: dimensions transposed first, or None.
        sizes: outer, n and inner.
        result_shape: sizes of the result.
    """

    permutation: tuple[int, ...] | None
    sizes: tuple[int, int, int]
    result_shape: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def layout(shape: tuple[int, ...], dimensions: tuple[int, ...]) -> Layout:
    """The layout of an operand of `shape` whose `dimensions` are reduced."""
    unreduced_dims = [axis for axis in range(len(shape)) if axis not in dimensions]
    result_shape = tuple([shape[axis] for axis in unreduced_dims])
    reduced = sorted(dimensions)
    count = math.prod(shape[axis] for axis in reduced)
    large = [axis for axis in range(len(shape)) if shape[axis] != 1]
    run = [axis for axis in large if axis in dimensions]
    if not run or not any(run[0] < axis < run[-1] for axis in large if axis not in dimensions):
        first, last = (run[0], run[-1]) if run else (len(shape), len(shape))
        outer = math.prod(shape[axis] for axis in unreduced_dims if axis < first)
        inner = math.prod(shape[axis] for axis in unreduced_dims if axis > last)
        return Layout(None, (outer, count, inner), result_shape)
    size = math.prod(result_shape)
    if large[-1] in dimensions:
        return Layout((*unreduced_dims, *reduced), (size, count, 1), result_shape)
    return Layout((*reduced, *unreduced_dims), (1, count, size), result_shape)


def extreme(name: str, values: Array, dimensions: tuple[int, ...]) -> Array:
    """Minimum or maximum of floats along nonempty dimensions; NaN wins, and -0 is less than +0."""
    result: Array = np.asarray(UFUNCS[name].reduce(values, axis=dimensions))
    zero = result == 0
    if zero.any():
        signs = np.logical_or if name == "minimum" else np.logical_and
        negative = signs.reduce(np.signbit(values), axis=dimensions)
        result = np.where(zero, np.where(negative, result.dtype.type(-0.0), result.dtype.type(0)), result)
    return result


def same_positive_counts(view: Reduce) -> str | None:
    """0 < size(inputs) = size(init_values) = size(results) = N"""
    count = len(view.inputs)
    if not count:
        return "inputs is empty"
    return rules.first(
        rules.length_is("init_values", len(view.init_values), count, "the number of inputs"),
        rules.length_is("results", len(view.results), count, "the number of inputs"),
    )


class Reduce(Op, name="stablehlo.reduce", assembly="custom(reduce)"):
    """Combines the values along dimensions by a body. Source: specification, section "reduce"."""

    partition = "reduce"
    cost = costs.REDUCTION
    kernel = "body_kernels.reduce_kernel"
    region_loop = "region_loops.ReduceCode"
    open_order = OpenOrder.REDUCTION_TREE
    rounding = Rounding.BODY
    wider = "reduce"
    loop_sharding = "reduce"

    takes_stored_values = True

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    init_values = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0, variadic=True)
    dimensions = Attribute(DIMENSIONS)
    body = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

    C1 = constraints.same_shape("inputs")
    C2 = constraints.same_element_type_each("init_values", "inputs")
    C3 = Constraint(same_positive_counts)
    C4 = constraints.dimensions_of("dimensions", "inputs[0]")
    C5 = constraints.unique("dimensions")
    C6 = constraints.combines("body", "inputs", "results")
    C7 = constraints.shape_is("results", "the shape of inputs without dimensions", "_result_shape")
    C8 = constraints.results_of("body", "inputs", "results")

    def _result_shape(self) -> tuple[int, ...]:
        return tuple([size for axis, size in enumerate(self.inputs[0].shape) if axis not in self.dimensions])

    def infer(self) -> list[Type]:
        shape = self._result_shape()
        return [TensorType(shape, result.element_type) for result in self.results]

    @functools.cached_property
    def analysis(self) -> Body:
        return Body(self.body)

    @property
    def layout(self) -> Layout:
        """The view of the inputs as [outer, n, inner]."""
        return layout(self.inputs[0].shape, self.dimensions)

    def reference(self, *operands: Array, body: Evaluate) -> Arrays:
        analysis, tree = self.analysis, self.ordering.reduction_tree
        reducer = analysis.reducer(body, self.ordering.accumulate)
        count = len(operands) // 2
        init_values = analysis.enter(operands[count:], self.init_values, reducer)
        inputs, layout = operands[:count], self.layout
        if tree != "blocked":
            values = self._in_order(analysis.enter(inputs, self.inputs, reducer), layout)
            reduced = reduce_by_tree(values, init_values, reducer, tree)
            results = tuple([array.reshape(layout.result_shape) for array in reduced])
        elif not layout.sizes[1]:
            results = tuple([np.broadcast_to(value, layout.result_shape) for value in init_values])
        elif reducer.ufunc is not None:
            results = (reducer.ufunc(init_values[0], self._totals(inputs, layout, reducer)[0]),)
        else:
            initial = tuple([np.broadcast_to(value, layout.result_shape) for value in init_values])
            results = reducer.combine(initial, self._totals(inputs, layout, reducer))
        return analysis.leave(results, reducer)

    def _totals(self, inputs: Arrays, layout: Layout, reducer: Reducer) -> Arrays:
        """Reduce the inputs along the dimensions by adjacent pairs, without init values."""

        def enter(values: Arrays) -> Arrays:
            return self.analysis.enter(values, self.inputs, reducer)

        if reducer.ufunc is not None and reducer.is_exact:
            (array,) = enter(inputs)
            return (reducer.ufunc.reduce(array, axis=self.dimensions, dtype=array.dtype),)
        if self.analysis.is_float_minmax:
            assert self.analysis.monoid is not None
            dtype = carrier(self.analysis.element_types[0])  # type: ignore[arg-type]
            (array,) = enter(inputs)
            result = extreme(self.analysis.monoid, array.astype(dtype, copy=False), self.dimensions)
            return (result.astype(array.dtype, copy=False),)
        reduced = reduce_adjacent(self._in_order(inputs, layout), reducer, enter)
        return tuple([array.reshape(layout.result_shape) for array in reduced])

    def _in_order(self, inputs: Arrays, layout: Layout) -> Arrays:
        """The inputs as [outer, n, inner] arrays."""
        ordered = inputs if layout.permutation is None else [x.transpose(layout.permutation) for x in inputs]
        return tuple([np.ascontiguousarray(array).reshape(layout.sizes) for array in ordered])


class Map(Op, name="stablehlo.map"):
    """Applies a computation to each position of its inputs. Source: specification, section "map"."""

    rounding = Rounding.BODY

    takes_stored_values = True

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    dimensions = Attribute(DIMENSIONS)
    computation = Region()
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_shape("result", "inputs")
    C2 = constraints.not_empty("inputs")

    @constraint
    def C3(self) -> str | None:
        """dimensions = range(rank(inputs[0]))"""
        rank = self.inputs[0].rank
        if list(self.dimensions) == list(range(rank)):
            return None
        return f"dimensions = {list(self.dimensions)}, but must be {list(range(rank))}"

    @constraint
    def C4(self) -> str | None:
        """computation has type (tensor<E0>, ..., tensor<EN-1>) -> tensor<E'>, Ei = element_type(inputs[i]),
        E' = element_type(result)"""
        inputs = [TensorType((), type.element_type) for type in self.inputs]
        return function_type_is(
            "computation", self.computation, inputs, [TensorType((), self.result.element_type)]
        )

    @functools.cached_property
    def vectorized(self) -> Any:
        """The computation, applied to whole arrays."""
        return vectorize_region(self.computation)

    def reference(self, *inputs: Array, computation: Evaluate) -> Array:
        (result,) = self.vectorized(computation, *inputs)
        return np.asarray(result)
