"""`reduce` and `map`: functions applied along dimensions.

The values of a result element, in row-major order of the reduced dimensions, are reduced by the tree of
`reduction_tree`. Where the body is one addition or multiplication of floats narrower than f32, all of this
happens in f32 and is rounded once; `Options(accumulate=...)` says otherwise.

Source: specification, sections "reduce" and "map".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import PLAIN, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ...ir import Region as IrRegion
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Attribute, Constraint, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.elements import element, index_space, inserted
from ..framework.facts import OpenOrder
from ..framework.rules import function_type_is
from ..framework.traits import Memory
from .reducer import Arrays, Body
from .reduction_tree import reduce, schedule


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

    unused_results = "reduce"
    reduces = True
    partition = "reduce"
    cost = costs.REDUCTION
    work = costs.Work.COMBINATIONS
    kernel = "body_kernels.reduce_kernel"
    region_loop = "reductions.region_reduction.ReduceCode"
    open_order = OpenOrder.REDUCTION_TREE
    rounding = Rounding.BODY
    wider = "reduce"
    loop_sharding = "reduce"
    memory = Memory.MAY_FORWARD
    copies_strided_operands = True
    block_rule = "scalars.small_reductions.REDUCE"

    takes_stored_values = True
    numpy = "reduction.reduce_numpy.bind"

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

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        return [*range(len(self.inputs))] * 2

    @functools.cached_property
    def analysis(self) -> Body:
        return Body(self.body)

    @property
    def layout(self) -> Layout:
        """The view of the inputs as [outer, n, inner]."""
        return layout(self.inputs[0].shape, self.dimensions)

    def reference(self, *operands: Array, body: Evaluate) -> Arrays:
        """``results...[j0, ..., jR-1] = reduce(input_slices_converted)``."""
        reducer = self.analysis.specified_reducer(body, self.ordering.accumulate)
        count = len(self.inputs)
        inputs_converted = self.analysis.enter(operands[:count], self.inputs, reducer)
        init_values_converted = self.analysis.enter(operands[count:], self.init_values, reducer)
        shape = operands[0].shape
        result_shape = [size for d, size in enumerate(shape) if d not in self.dimensions]
        reduced_size = math.prod([shape[d] for d in self.dimensions])
        results = [np.empty(result_shape, type.dtype) for type in self.analysis.element_types]
        for result_index in index_space(result_shape):
            at = inserted(result_index, slice(None), self.dimensions)
            input_slices = [array[(*at, ...)] for array in inputs_converted]
            steps = schedule(reduced_size, self.ordering.reduction_tree)
            reduced = reduce(input_slices, init_values_converted, reducer, steps)
            for result, value in zip(results, self.analysis.leave(reduced, reducer), strict=True):
                result[result_index] = value
        return tuple(results)


class Map(Op, name="stablehlo.map"):
    """Applies a computation to each position of its inputs. Source: specification, section "map"."""

    rounding = Rounding.BODY
    memory = Memory.MAY_FORWARD

    takes_stored_values = True
    numpy = "reduction.reduce_numpy.bind_map"

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

    def infer(self) -> list[Type]:
        return [TensorType(self.inputs[0].shape, self.result.element_type)]

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        return range(len(self.inputs))

    def reference(self, *inputs: Array, computation: Evaluate) -> Array:
        """``result[result_index] = computation(inputs...[result_index])``."""
        result = np.empty(inputs[0].shape, self.result.dtype)
        for result_index in index_space(result.shape):
            (result[result_index],) = computation(*[element(array, result_index) for array in inputs])
        return result
