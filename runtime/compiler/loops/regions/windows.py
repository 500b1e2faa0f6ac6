"""`reduce_window` and `select_and_scatter` with any bodies as native code.

The task `WINDOWS` reduces the windows of some rows, a row being the windows along the last dimension: one
position of the window for a tile of windows, then the next position. Its pointers are those of the inputs, of
the init values, of the captured values, and of the results.

The task `SELECTIONS` scatters the values of some slices along the leading dimensions whose windows are
single elements. Its pointers are those of the operand, of the source, of the init value, of the captured
values, and of the result.

Source: `nimblehlo.program.ops.reduction.reduce_window`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from llvmlite import ir

from ....program.ir import Value as IrValue
from ....program.ir import plain_element_type
from ....program.ir.affine import row_major_strides
from ..llvm.loops import Loop, min_index
from ..llvm.tasks import define_task
from ..llvm.values import BIT, I64, stored_type
from .region_function import FunctionBuilder, OperandArrays, RegionFunction

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce_window import ReduceWindow, SelectAndScatter
    from ....program.ops.reduction.window_geometry import Window

WINDOWS = "windows"
SELECTIONS = "selections"

_TILE = 256
"""Windows that are reduced together."""
_TRUE = BIT(1)


def window_module(view: ReduceWindow, captured: Sequence[IrValue], rows_per_task: int) -> ir.Module:
    """The module with the task `WINDOWS` of a `reduce_window`.

    Args:
        rows_per_task: the number of rows of windows that a task reduces.
    """
    module = ir.Module("region_windows")
    function = _Windows(module, view, captured).function
    define_task(module, WINDOWS, function, window_rows(view), rows_per_task)
    return module


def window_rows(view: ReduceWindow) -> int:
    return math.prod(view.num_windows()[:-1])


def selection_module(view: SelectAndScatter, captured: Sequence[IrValue], slices_per_task: int) -> ir.Module:
    """The module with the task `SELECTIONS` of a `select_and_scatter`.

    Args:
        slices_per_task: the number of slices that a task scatters.
    """
    module = ir.Module("region_selections")
    function = SelectionFunction(module, view, captured).function
    define_task(module, SELECTIONS, function, slices_of(view), slices_per_task)
    return module


def slices_of(view: SelectAndScatter) -> int:
    """The number of slices that share no window."""
    return math.prod(view.operand.shape[: _leading(view)])


def _leading(view: SelectAndScatter) -> int:
    """The number of leading dimensions along which windows have one element."""
    return next((d for d, window in enumerate(view.windows) if not window.is_trivial), len(view.windows))


def _operand_index(
    builder: ir.IRBuilder, window: Window, size: int, index: ir.Value, position: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The operand index of a window's position along a dimension, and whether there is an element."""
    start = builder.sub(builder.mul(index, I64(window.stride)), I64(window.low))
    offset = builder.add(start, builder.mul(position, I64(window.window_dilation)))
    is_element = _TRUE
    if window.base_dilation > 1:
        dilation = I64(window.base_dilation)
        is_positive = builder.icmp_signed(">=", offset, I64(0))
        is_element = builder.icmp_signed("==", builder.srem(offset, dilation), I64(0))
        is_element = builder.and_(is_element, is_positive)
        offset = builder.sdiv(offset, dilation)
    # Compared as unsigned, a negative index is out of bounds.
    return offset, builder.and_(is_element, builder.icmp_unsigned("<", offset, I64(size)))


class _Windows:
    """Generates `void (i64 row, pointers...)`."""

    def __init__(self, module: ir.Module, view: ReduceWindow, captured: Sequence[IrValue]) -> None:
        self.view = view
        self.module = module
        self.captured = captured
        self.types = [plain_element_type(value) for value in view.body.block.terminator.operands]
        self.count = len(self.types)
        self.body = RegionFunction(module, view.body, captured)
        self.shape = view.inputs[0].shape
        self.pad = self.combine_function("pad", I64(0))
        stride = self.view.windows[-1].stride
        self.add = self.combine_function("add", I64(stride))
        self.function = self.generate()

    def combine_function(self, name: str, stride: ir.Value) -> ir.Function:
        """Define `void (i64 count, values..., accumulators...)`, which combines accumulators with values.

        Args:
            name: a prefix of its name.
            stride: between values, in elements.
        """
        function = FunctionBuilder(self.module, name, 1, 2 * self.count, self.captured)
        builder = function.builder
        values, accumulators = function.arrays(self.types, 0), function.arrays(self.types, self.count)
        (count,) = function.integers
        is_some = builder.icmp_signed(">", count, I64(0))
        with builder.if_then(is_some), Loop(builder, I64(0), count) as index:
            arguments = [*accumulators.load(index), *values.load(builder.mul(index, stride))]
            accumulators.store(index, self.body.on_scalars(builder, arguments, function.captured_bindings))
        builder.ret_void()
        return function.compiled_once()

    def generate(self) -> ir.Function:
        count = self.count
        function = FunctionBuilder(self.module, "row", 1, 3 * count + len(self.captured))
        builder = function.builder
        *outer_counts, last_count = self.view.num_windows()
        outer_index = function.integers[0]
        indices: list[ir.Value] = []
        for size in reversed(outer_counts):
            indices.insert(0, builder.urem(outer_index, I64(size)))
            outer_index = builder.udiv(outer_index, I64(size))
        results = function.arrays(self.types, 2 * count + len(self.captured))
        results = results.from_index(builder.mul(function.integers[0], I64(last_count)))
        tile = min(_TILE, last_count)
        scratch_buffers = [function.allocate_scratch(stored_type(type), tile) for type in self.types]
        accumulators, initial = (
            OperandArrays(builder, self.types, scratch_buffers),
            function.arrays(self.types, count),
        )
        with Loop(builder, I64(0), I64(-(-last_count // tile))) as number:
            first = builder.mul(number, I64(tile))
            width = min_index(builder, I64(tile), builder.sub(I64(last_count), first))
            with Loop(builder, I64(0), width) as index:
                accumulators.copy(index, initial, I64(0))
            self.combine_positions(function, indices, first, width, accumulators)
            with Loop(builder, I64(0), width) as index:
                results.copy(builder.add(first, index), accumulators, index)
        builder.ret_void()
        return function.function

    def combine_positions(
        self,
        function: FunctionBuilder,
        indices: Sequence[ir.Value],
        first: ir.Value,
        width: ir.Value,
        accumulators: OperandArrays,
    ) -> None:
        """Combine with each position of the windows, in row-major order."""
        builder, windows = function.builder, self.view.windows
        strides = row_major_strides(self.shape)
        with ExitStack() as loops:
            position, inside = I64(0), _TRUE
            for window, size, stride, index in zip(windows, self.shape, strides, indices, strict=False):
                window_position = loops.enter_context(Loop(builder, I64(0), I64(window.size)))
                offset, is_element = _operand_index(builder, window, size, index, window_position)
                inside = builder.and_(inside, is_element)
                position = builder.add(position, builder.mul(offset, I64(stride)))
            values = function.arrays(self.types, 0).from_index(builder.select(inside, position, I64(0)))
            window_position = loops.enter_context(Loop(builder, I64(0), I64(windows[-1].size)))
            with builder.if_else(inside) as (elements, padding):
                with elements:
                    if windows[-1].base_dilation == 1:
                        self.combine_contiguous_windows(
                            function, values, window_position, first, width, accumulators
                        )
                    else:
                        self.combine_dilated_windows(
                            function, values, window_position, first, width, accumulators
                        )
                with padding:
                    self.call(
                        function, self.pad, width, function.arrays(self.types, self.count), accumulators
                    )

    def call(
        self,
        function: FunctionBuilder,
        combine: ir.Function,
        count: ir.Value,
        values: OperandArrays,
        accumulators: OperandArrays,
    ) -> None:
        first = 2 * self.count
        captured_pointers = function.pointers[first : first + len(self.captured)]
        function.builder.call(combine, [count, *values.pointers, *accumulators.pointers, *captured_pointers])

    def combine_contiguous_windows(
        self,
        function: FunctionBuilder,
        values: OperandArrays,
        window_position: ir.Value,
        first: ir.Value,
        width: ir.Value,
        accumulators: OperandArrays,
    ) -> None:
        """Combine the windows of a row without base dilation with one position of each.

        The position is in the padding before the operand for the first windows, in the operand for those that
        follow, and in the padding after it for the last ones.
        """
        builder, window, size = function.builder, self.view.windows[-1], self.shape[-1]
        initial = function.arrays(self.types, self.count)
        offset, _ = _operand_index(builder, window, size, first, window_position)
        begin = self.reached(builder, builder.sub(I64(0), offset), width)
        end = self.reached(builder, builder.sub(I64(size), offset), width)
        self.call(function, self.pad, begin, initial, accumulators)
        start = builder.add(offset, builder.mul(begin, I64(window.stride)))
        # Without such windows, nothing is read.
        source = values.from_index(builder.select(builder.icmp_signed("<", begin, end), start, I64(0)))
        self.call(function, self.add, builder.sub(end, begin), source, accumulators.from_index(begin))
        self.call(function, self.pad, builder.sub(width, end), initial, accumulators.from_index(end))

    def reached(self, builder: ir.IRBuilder, distance: ir.Value, width: ir.Value) -> ir.Value:
        """The first of `width` windows that begins at least `distance` after the first one."""
        stride = self.view.windows[-1].stride
        is_behind = builder.icmp_signed(">", distance, I64(0))
        windows = builder.udiv(builder.add(distance, I64(stride - 1)), I64(stride))
        return min_index(builder, builder.select(is_behind, windows, I64(0)), width)

    def combine_dilated_windows(
        self,
        function: FunctionBuilder,
        values: OperandArrays,
        window_position: ir.Value,
        first: ir.Value,
        width: ir.Value,
        accumulators: OperandArrays,
    ) -> None:
        """Combine the windows of a row with base dilation with one position of each, one window at a time."""
        builder, initial = function.builder, function.arrays(self.types, self.count)
        with Loop(builder, I64(0), width) as index:
            offset, inside = _operand_index(
                builder, self.view.windows[-1], self.shape[-1], builder.add(first, index), window_position
            )
            accumulator = accumulators.from_index(index)
            with builder.if_else(inside) as (element, hole):
                with element:
                    self.call(function, self.add, I64(1), values.from_index(offset), accumulator)
                with hole:
                    self.call(function, self.pad, I64(1), initial, accumulator)


class SelectionFunction:
    """Generates `void (i64 slice, pointers...)`."""

    def __init__(self, module: ir.Module, view: SelectAndScatter, captured: Sequence[IrValue]) -> None:
        self.view = view
        operand_types = [plain_element_type(view.select.block.arguments[0])]
        result_types = [plain_element_type(view.scatter.block.arguments[0])]
        self.select = RegionFunction(module, view.select, captured)
        self.scatter = RegionFunction(module, view.scatter, captured)
        loop_function = FunctionBuilder(module, "slice", 1, 4 + len(captured))
        self.builder = builder = loop_function.builder
        operand, source, initial, *captured_pointers, result = loop_function.pointers
        self.captured_bindings = loop_function.read(captured, captured_pointers)
        self.operand, self.source = (
            OperandArrays(builder, operand_types, [operand]),
            OperandArrays(builder, result_types, [source]),
        )
        self.result = OperandArrays(builder, result_types, [result])
        self.selected = loop_function.variable(I64(-1))
        first = _leading(view)
        size = math.prod(view.operand.shape[first:])
        number = loop_function.integers[0]
        start = builder.mul(number, I64(size))
        with Loop(builder, start, builder.add(start, I64(size))) as index:
            self.result.copy(index, OperandArrays(builder, result_types, [initial]), I64(0))
        self.generate(first, start, builder.mul(number, I64(math.prod(view.source.shape[first:]))))
        builder.ret_void()
        self.function = loop_function.function

    def generate(self, first: int, start: ir.Value, position: ir.Value) -> None:
        """Scatter the values of a slice that begins at `start` in the operand and at `position` in the
        source."""
        builder, source = self.builder, self.view.source.shape
        strides = row_major_strides(source)
        with ExitStack() as loops:
            indices = []
            for d in range(first, len(source)):
                indices.append(loops.enter_context(Loop(builder, I64(0), I64(source[d]))))
                position = builder.add(position, builder.mul(indices[-1], I64(strides[d])))
            self.selected.set(I64(-1))
            self.find(first, start, indices)
            target = self.selected.get()
            with builder.if_then(builder.icmp_signed(">=", target, I64(0))):
                values = [*self.result.load(target), *self.source.load(position)]
                self.result.store(target, self.scatter.on_scalars(builder, values, self.captured_bindings))

    def find(self, first: int, start: ir.Value, indices: Sequence[ir.Value]) -> None:
        """Find the element that a window selects, from the left in row-major order."""
        builder, shape = self.builder, self.view.operand.shape
        strides = row_major_strides(shape)
        with ExitStack() as loops:
            offset, inside = start, _TRUE
            for d, index in enumerate(indices, first):
                window = self.view.windows[d]
                window_position = loops.enter_context(Loop(builder, I64(0), I64(window.size)))
                coordinate, is_element = _operand_index(builder, window, shape[d], index, window_position)
                inside = builder.and_(inside, is_element)
                offset = builder.add(offset, builder.mul(coordinate, I64(strides[d])))
            with builder.if_then(inside):
                selected = self.selected.get()
                is_first = builder.icmp_signed("<", selected, I64(0))
                candidate = builder.select(is_first, offset, selected)
                values = [*self.operand.load(candidate), *self.operand.load(offset)]
                ((prefers,),) = self.select.on_scalars(builder, values, self.captured_bindings)
                keeps_selected = builder.and_(prefers, builder.not_(is_first))
                self.selected.set(builder.select(keeps_selected, candidate, offset))
