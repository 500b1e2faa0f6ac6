"""`reduce_window` and `select_and_scatter`: bodies applied to windows.

The specification does not define the order in which `reduce_window` reduces. Here it reduces from left to
right: `init_value`, then the window's values in row-major order; padding and holes have the value
`init_value`. Cumulative windows (size n, stride 1, padding n - 1 on one side) are scans, in the order of
`cumulative`. Sums and products of floats narrower than f32 are computed in f32 and rounded once, except in
scans, which round each step because their intermediate totals are results. With another tree than "blocked",
each window is reduced by that tree (`reduction_tree`).

`select_and_scatter` selects from the left in row-major order of the window, among positions within the
operand, and scatters in row-major order of `source`, starting with `init_value`. With another tree than
"blocked", the values of a destination are reduced by that tree. A window without elements of the operand
scatters nothing.

Source: specification, sections "reduce_window" and "select_and_scatter".
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....types import ELEMENT_TYPES, PLAIN, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ...ir import Operation
from ...ir import Region as IrRegion
from ..framework import constraints, costs
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, PADDING, Padding
from ..framework.declaration import (
    DERIVED,
    Attribute,
    Constraint,
    Evaluate,
    Op,
    Operand,
    Region,
    Result,
    constraint,
)
from ..framework.elements import Index, element, in_bounds, index_space
from ..framework.facts import OpenOrder
from ..framework.rules import function_type_is
from ..shape.slicing import pad
from .cumulative import ScanLayout, scan_schedule
from .reduce import same_positive_counts
from .reducer import Arrays, Body, Reducer
from .reduction_tree import execute, reduce, schedule
from .window_geometry import Window, cumulative_axis, padding_shape

MAX_WINDOW_POSITIONS: Final = 1 << 26
"""Maximum number of elements of a window that is not cumulative, which are visited one by one."""


class _Windows(Op):
    """Base of operations with windows: absent attributes have the dialect's default values."""

    copies_strided_operands = True

    window_dimensions: Attribute[tuple[int, ...]]
    window_strides: Attribute[tuple[int, ...]]
    padding: Attribute[Padding]
    windows: Any

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        rank = self.windowed_type.rank
        for name, default in (
            ("window_strides", 1),
            ("base_dilations", 1),
            ("window_dilations", 1),
            ("window_dimensions", 1),
            ("padding", (0, 0)),
        ):
            if self.__dict__.get(name, ()) is None:
                self.__dict__[name] = (default,) * rank

    @property
    def windowed_type(self) -> TensorType:
        """The type of the tensor over which windows slide."""
        raise NotImplementedError

    def verify(self) -> None:
        super().verify()
        size = math.prod(self.window_dimensions)
        if size > MAX_WINDOW_POSITIONS and cumulative_axis(self.windows, self.windowed_type.shape) is None:
            raise self.unsupported(
                f"a window of {size} elements is not supported; the maximum is {MAX_WINDOW_POSITIONS}"
            )

    def scratch_elements(self) -> int:
        return math.prod(max(window.size, window.stride) for window in self.windows)

    def padding_shape(self) -> str | None:
        """shape(padding) = [N, 2], where N is the rank of the operand"""
        return padding_shape(self.padding, self.windowed_type.rank, "the rank of the operand")

    def num_windows(self) -> tuple[int, ...]:
        """The number of windows along each dimension."""
        sizes = zip(self.windows, self.windowed_type.shape, strict=True)
        return tuple([window.count(size) for window, size in sizes])


class ReduceWindowRules(Op):
    """The constraints of `reduce_window` that do not combine sizes of the operand and of windows.

    Sizes of windows are attributes, or operands where an operation takes them so.
    """

    inputs: Any
    init_values: Any
    body: Any
    results: Any

    C1 = Constraint(same_positive_counts)
    C2 = constraints.same_shape("inputs")
    C3 = constraints.same_element_type_each("init_values", "inputs")
    C4 = constraints.size_is_rank("window_dimensions", of="inputs[0]")
    C5 = constraints.positive("window_dimensions")
    C6 = constraints.size_is_rank("window_strides", of="inputs[0]")
    C7 = constraints.positive("window_strides")
    C8 = constraints.size_is_rank("base_dilations", of="inputs[0]")
    C9 = constraints.positive("base_dilations")
    C10 = constraints.size_is_rank("window_dilations", of="inputs[0]")
    C11 = constraints.positive("window_dilations")
    C14 = constraints.same_shape("results")


class ReduceWindow(ReduceWindowRules, _Windows, name="stablehlo.reduce_window"):
    """Reduces windows of its inputs by a body. Source: specification, section "reduce_window"."""

    unused_results = "reduce"
    kernel = "body_kernels.reduce_window_kernel"
    region_loop = "regions.window_code.reduce_window_code"
    open_order = OpenOrder.REDUCTION_TREE
    rounding = Rounding.BODY
    wider = "sum"
    block_rule = "arrays.windows.REDUCE_WINDOW"
    cost = costs.REDUCTION
    work = costs.Work.ELEMENTS

    takes_stored_values = True
    numpy = "reduction.reduce_window_numpy.bind"

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    init_values = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0, variadic=True)
    window_dimensions = Attribute(DIMENSIONS)
    window_strides: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    base_dilations: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    window_dilations: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    padding: Attribute[Padding] = Attribute(PADDING, DERIVED)
    body = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        return [*range(len(self.inputs))] * 2

    @property
    def windowed_type(self) -> TensorType:
        return self.inputs[0] if self.inputs else TensorType((), ELEMENT_TYPES["i1"])

    C12 = Constraint(_Windows.padding_shape)
    C13 = constraints.combines("body", "inputs", "results")
    C15 = constraints.shape_is("results[0]", "num_windows", "num_windows")
    C16 = constraints.results_of("body", "inputs", "results")

    @functools.cached_property
    def windows(self) -> tuple[Window, ...]:
        """The geometry of the windows along each dimension."""
        low_and_high = zip(*self.padding, strict=True) if self.padding else ((), ())
        fields = zip(
            self.window_dimensions,
            self.window_strides,
            *low_and_high,
            self.base_dilations,
            self.window_dilations,
            strict=True,
        )
        return tuple([Window(*window_fields) for window_fields in fields])

    def infer(self) -> list[Type]:
        shape = self.num_windows()
        return [TensorType(shape, result.element_type) for result in self.results]

    @functools.cached_property
    def analysis(self) -> Body:
        return Body(self.body)

    @property
    def accumulate(self) -> str:
        """The accumulator of sums and products: scans round each step, other reductions need not."""
        accumulate = self.ordering.accumulate
        if accumulate == "wide" and cumulative_axis(self.windows, self.windowed_type.shape) is not None:
            return "declared"
        return accumulate

    def reference(self, *operands: Array, body: Evaluate) -> Arrays:
        """``results...[result_index] = reduce(windows, init_values, axes(inputs...), body)``."""
        reducer = self.analysis.specified_reducer(body, self.accumulate)
        count = len(self.inputs)
        inputs = self.analysis.enter(operands[:count], self.inputs, reducer)
        init_values = self.analysis.enter(operands[count:], self.init_values, reducer)
        shape = operands[0].shape
        result_shape = [window.count(size) for window, size in zip(self.windows, shape, strict=True)]
        results = [np.empty(result_shape, type.dtype) for type in self.analysis.element_types]
        if 0 in result_shape:
            return tuple(results)
        low, high = ([pair[side] for pair in self.padding] for side in (0, 1))
        interior = [dilation - 1 for dilation in self.base_dilations]
        padded_inputs = [
            pad(array, value, low, high, interior) for array, value in zip(inputs, init_values, strict=True)
        ]
        for result_index in index_space(result_shape):
            window_start = list(map(operator.mul, result_index, self.window_strides))
            window_end = [
                start + (size - 1) * dilation + 1
                for start, size, dilation in zip(
                    window_start, self.window_dimensions, self.window_dilations, strict=True
                )
            ]
            window: tuple[Any, ...] = (*map(slice, window_start, window_end, self.window_dilations), ...)
            windows = [array[window] for array in padded_inputs]
            reduced = self._reduce_window(windows, init_values, reducer, shape, result_index)
            for result, value in zip(results, self.analysis.leave(reduced, reducer), strict=True):
                result[result_index] = value
        return tuple(results)

    def _reduce_window(
        self,
        windows: Sequence[Array],
        init_values: Arrays,
        reducer: Reducer,
        shape: Sequence[int],
        result_index: Index,
    ) -> Arrays:
        """Reduce the window of a result element, for inputs of `shape`: from the left, as a scan, or by the
        tree of `Options(reduction_tree=...)`.
        """
        tree = self.ordering.reduction_tree
        if tree != "blocked":
            return reduce(windows, init_values, reducer, schedule(windows[0].size, tree))
        axis = cumulative_axis(self.windows, shape)
        if axis is None:
            return reduce(windows, init_values, reducer, schedule(windows[0].size, "left"))
        position, size = result_index[axis], shape[axis]
        if not self.windows[axis].low:
            windows = [array.reshape(-1)[::-1] for array in windows]
            position, reducer = size - 1 - position, reducer.swapped()
        return reduce(windows, init_values, reducer, scan_schedule(size, position))

    @property
    def scan_layout(self) -> ScanLayout | None:
        """The scan that computes cumulative windows; None for other windows."""
        shape = self.inputs[0].shape
        axis = cumulative_axis(self.windows, shape)
        if axis is None:
            return None
        before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        return ScanLayout(before, shape[axis], after, not self.windows[axis].low)


class SelectAndScatter(_Windows, name="stablehlo.select_and_scatter"):
    """Scatters `source` to the elements that `select` finds in the operand's windows.

    Source: specification, section "select_and_scatter".
    """

    kernel = "body_kernels.select_and_scatter_kernel"
    region_loop = "regions.window_code.SelectAndScatterCode"
    block_rule = "arrays.windows.SELECT_AND_SCATTER"
    open_order = OpenOrder.REDUCTION_TREE
    rounding = Rounding.BODY
    terms_depend_on_data = True
    source_constraints = ("C10",)  # the operation converts its operand to the element type of the body

    takes_stored_values = True
    numpy = "reduction.select_and_scatter_numpy.bind"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    source = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    init_value = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0)
    window_dimensions: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    window_strides: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    padding: Attribute[Padding] = Attribute(PADDING, DERIVED)
    select = Region()
    scatter = Region()
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        return [0, 0] if region is self.select else [1, 1]

    @property
    def windowed_type(self) -> TensorType:
        operand: TensorType = self.operand
        return operand

    C1 = constraints.same_element_type("operand", "source")
    C3 = constraints.same_element_type("operand", "init_value")
    C4 = constraints.size_is_rank("window_dimensions", of="operand")
    C5 = constraints.positive("window_dimensions")
    C6 = constraints.size_is_rank("window_strides", of="operand")
    C7 = constraints.positive("window_strides")
    C8 = Constraint(_Windows.padding_shape)
    C2 = constraints.shape_is("source", "num_windows", "num_windows")

    @constraint
    def C9(self) -> str | None:
        """select has type (tensor<E>, tensor<E>) -> tensor<i1>, where E = element_type(operand)"""
        element = TensorType((), self.operand.element_type)
        return function_type_is(
            "select", self.select, [element, element], [TensorType((), ELEMENT_TYPES["i1"])]
        )

    C10 = constraints.combines("scatter", "operand", "result")
    C11 = constraints.same_shape("operand", "result")
    C12 = constraints.results_of("scatter", "operand", "result")

    def infer(self) -> list[Type]:
        return [TensorType(self.operand.shape, self.result.element_type)]

    @functools.cached_property
    def windows(self) -> tuple[Window, ...]:
        """The geometry of the windows along each dimension."""
        fields = zip(self.window_dimensions, self.window_strides, self.padding, strict=True)
        return tuple([Window(size, stride, *padding) for size, stride, padding in fields])

    @functools.cached_property
    def analysis(self) -> Body:
        """The analyzed region `scatter`."""
        return Body(self.scatter)

    def reference(
        self, operand: Array, source: Array, init_value: Array, *, select: Evaluate, scatter: Evaluate
    ) -> Array:
        """``result[result_index] = reduce([source_values], [init_value], [0], scatter)``."""
        reducer = self.analysis.specified_reducer(scatter, self.ordering.accumulate)
        source_indices: dict[Index, list[Index]] = {}
        for source_index in index_space(source.shape):
            selected_index = self._selected_index(operand, source_index, select)
            if selected_index is not None:
                source_indices.setdefault(selected_index, []).append(source_index)
        tree = self.ordering.reduction_tree
        types = [self.source]
        init_values = self.analysis.enter([np.asarray(init_value)], types, reducer)
        result = np.empty(operand.shape, self.analysis.element_types[0].dtype)
        for result_index in index_space(operand.shape):
            source_values = [element(source, index) for index in source_indices.get(result_index, [])]
            leaves = [self.analysis.enter([value], types, reducer) for value in source_values]
            steps = schedule(len(leaves), "left" if tree == "blocked" else tree)
            reduced = execute(steps, leaves, init_values, reducer)
            (result[result_index],) = self.analysis.leave(reduced, reducer)
        return result

    def _selected_index(self, operand: Array, source_index: Index, select: Evaluate) -> Index | None:
        """The index of the operand's element that `select` keeps in a window, from the left in row-major
        order; None if the window has no element of the operand.
        """
        selected_index: Index | None = None
        for window_index in index_space(self.window_dimensions):
            operand_index = tuple(
                [
                    start * window.stride - window.low + offset
                    for start, window, offset in zip(source_index, self.windows, window_index, strict=True)
                ]
            )
            if not in_bounds(operand_index, operand.shape):
                continue
            if selected_index is not None:
                (is_kept,) = select(element(operand, selected_index), element(operand, operand_index))
                if is_kept:
                    continue
            selected_index = operand_index
        return selected_index
