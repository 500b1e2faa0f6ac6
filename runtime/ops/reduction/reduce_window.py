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
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...ir import Operation
from ...types import COMPLEX, ELEMENT_TYPES, PLAIN, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ..framework import constraints
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
from ..framework.facts import OpenOrder
from ..framework.rules import function_type_is
from .bodies import vectorize_region
from .cumulative import ScanLayout, combine_broadcast, is_idempotent, scan
from .reduce import same_positive_counts
from .reducer import Arrays, Body, Reducer
from .window_geometry import Window, cumulative_axis, padding_shape, window_positions
from .window_reduce import reduce_elements, reduce_groups, reduce_into, reduce_windows, reduce_windows_by_tree

MAX_WINDOW_POSITIONS: Final = 1 << 26
"""Maximum number of elements of a window that is not cumulative, which are visited one by one."""


class _Windows(Op):
    """Base of operations with windows: absent attributes have the dialect's default values."""

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

    kernel = "body_kernels.reduce_window_kernel"
    region_loop = "window_loops.window_code"
    open_order = OpenOrder.REDUCTION_TREE
    rounding = Rounding.BODY
    wider = "sum"

    takes_stored_values = True

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    init_values = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0, variadic=True)
    window_dimensions = Attribute(DIMENSIONS)
    window_strides: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    base_dilations: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    window_dilations: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    padding: Attribute[Padding] = Attribute(PADDING, DERIVED)
    body = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

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
        reducer = self.analysis.reducer(body, self.accumulate)
        count = len(operands) // 2
        inputs = self.analysis.enter(operands[:count], self.inputs, reducer)
        init_values = self.analysis.enter(operands[count:], self.init_values, reducer)
        return self.analysis.leave(self._reduce_windows(inputs, init_values, reducer), reducer)

    def _reduce_windows(self, inputs: Arrays, init_values: Arrays, reducer: Reducer) -> Arrays:
        """Reduce the windows in the body's types."""
        tree = self.ordering.reduction_tree
        if tree != "blocked":
            return reduce_windows_by_tree(inputs, init_values, self.windows, reducer, tree)
        shape = inputs[0].shape
        axis = cumulative_axis(self.windows, shape)
        if axis is not None and inputs[0].size:
            return self._scan(inputs, init_values, reducer, axis)
        # Combining a monoid's total with an idempotent init value again changes nothing, except complex -0.
        is_absorbed = self.analysis.monoid is not None and self.analysis.element_types[0].category != COMPLEX
        if not is_absorbed or not is_idempotent(init_values, reducer):
            return reduce_windows(inputs, init_values, self.windows, reducer)
        (array,), (init_value,) = inputs, init_values
        if not reducer.is_exact:
            return (reduce_elements(array, init_value, self.windows, reducer),)
        for axis, window in enumerate(self.windows):
            window_along_axis = [window if other == axis else Window(1) for other in range(array.ndim)]
            if not window.is_trivial:
                array = reduce_elements(array, init_value, window_along_axis, reducer)
        return combine_broadcast((init_value,), (array,), reducer)

    @property
    def scan_layout(self) -> ScanLayout | None:
        """The scan that computes cumulative windows; None for other windows."""
        shape = self.inputs[0].shape
        axis = cumulative_axis(self.windows, shape)
        if axis is None:
            return None
        before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        return ScanLayout(before, shape[axis], after, not self.windows[axis].low)

    def _scan(self, inputs: Arrays, init_values: Arrays, reducer: Reducer, axis: int) -> Arrays:
        """Cumulative windows along `axis`."""
        shape = inputs[0].shape
        merged = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
        values = [array.reshape(merged) for array in inputs]
        if self.windows[axis].low:
            scanned = scan(tuple(values), init_values, reducer)
        else:
            reverse = scan(tuple([array[:, ::-1] for array in values]), init_values, reducer.swapped())
            scanned = tuple([array[:, ::-1] for array in reverse])
        return tuple([array.reshape(shape) for array in scanned])


class SelectAndScatter(_Windows, name="stablehlo.select_and_scatter"):
    """Scatters `source` to the elements that `select` finds in the operand's windows.

    Source: specification, section "select_and_scatter".
    """

    kernel = "body_kernels.select_and_scatter_kernel"
    region_loop = "window_loops.window_code"
    open_order = OpenOrder.REDUCTION_TREE
    rounding = Rounding.BODY
    terms_depend_on_data = True

    takes_stored_values = True

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    source = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    init_value = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0)
    window_dimensions: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    window_strides: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    padding: Attribute[Padding] = Attribute(PADDING, DERIVED)
    select = Region()
    scatter = Region()
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

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

    @functools.cached_property
    def selection(self) -> Callable[..., Any]:
        """The vectorized `select`."""
        return vectorize_region(self.select)

    def reference(
        self, operand: Array, source: Array, init_value: Array, *, select: Evaluate, scatter: Evaluate
    ) -> Array:
        destinations = self._selected(operand, source.shape, select).ravel()
        reducer = self.analysis.reducer(scatter, self.ordering.accumulate)
        types = [self.source]
        (values,) = self.analysis.enter([source.ravel()], types, reducer)
        (initial,) = self.analysis.enter([np.asarray(init_value)], types, reducer)
        reduced = np.full(operand.size, initial, initial.dtype)
        if (destinations < 0).any():
            values, destinations = values[destinations >= 0], destinations[destinations >= 0]
        if self.ordering.reduction_tree != "blocked":
            reduce_groups(reduced, destinations, values, initial, reducer, self.ordering.reduction_tree)
        elif reducer.ufunc is not None:
            reducer.ufunc.at(reduced, destinations, values)
        else:
            reduce_into(reduced, destinations, values, reducer)
        return self.analysis.leave([reduced.reshape(operand.shape)], reducer)[0]

    def _selected(self, operand: Array, shape: tuple[int, ...], select: Evaluate) -> Array:
        """The row-major position of the selected element of each window, -1 for windows without elements."""
        positions = np.arange(operand.size).reshape(operand.shape)
        selected = np.full(shape, -1)
        values = np.zeros(shape, operand.dtype)
        for spans in window_positions(self.windows, operand.shape, shape):
            if spans is None:
                continue
            windows: tuple[Any, ...] = (*spans[0], ...)
            elements: tuple[Any, ...] = (*spans[1], ...)
            (prefers,) = self.selection(select, values[windows], operand[elements])
            replaced = ~prefers | (selected[windows] < 0)
            np.copyto(values[windows], operand[elements], where=replaced)
            np.copyto(selected[windows], positions[elements], where=replaced)
        return selected
