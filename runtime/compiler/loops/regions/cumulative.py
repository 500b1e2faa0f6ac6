"""Cumulative windows of `reduce_window` with any bodies as native code: scans along one dimension.

The task `PADS` reduces 1, 2, 3, ... init values, since a window holds init values in the padding. The task
`SCANS` scans some fibers along the dimension. The pointers of both are those of the inputs, of the init
values, of the captured values, of the results, and of the reduced init values.

Source: `nimblehlo.program.ops.reduction.cumulative`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from ....program.ir import Value as IrValue
from ....program.ir import plain_element_type
from ..llvm.loops import Loop
from ..llvm.tasks import define_task
from ..llvm.values import I64, Value, stored_type
from .region_function import FunctionBuilder, OperandArrays, RegionFunction

if TYPE_CHECKING:
    from ....program.ops.reduction.cumulative import ScanLayout
    from ....program.ops.reduction.reduce_window import ReduceWindow

PADS = "pads"
SCANS = "scans"


def cumulative_module(
    view: ReduceWindow,
    captured: Sequence[IrValue],
    layout: ScanLayout,
    fibers_per_task: int,
) -> ir.Module:
    """The module with the tasks of cumulative windows.

    Args:
        layout: the layout of the view as a scan.
        fibers_per_task: the number of fibers that a task scans.
    """
    module = ir.Module("region_cumulative")
    scans = ScanFunctions(module, view, captured, layout)
    define_task(module, PADS, scans.pads(), 1, 1)
    define_task(module, SCANS, scans.fiber(), layout.outer * layout.inner, fibers_per_task)
    return module


class ScanFunctions:
    """Generates functions `void (i64 number, pointers...)`, whose pointers are those of the tasks."""

    def __init__(
        self,
        module: ir.Module,
        view: ReduceWindow,
        captured: Sequence[IrValue],
        layout: ScanLayout,
    ) -> None:
        self.module = module
        self.layout = layout
        self.captured = captured
        self.types = [plain_element_type(value) for value in view.body.block.terminator.operands]
        self.body = RegionFunction(module, view.body, captured)

    def begin(self, name: str) -> None:
        """Start a function and bind its pointers."""
        count = len(self.types)
        self.function = FunctionBuilder(self.module, name, 1, 4 * count + len(self.captured))
        self.builder = self.function.builder
        pointers = iter(self.function.pointers)
        self.inputs, self.initial = self.next_arrays(pointers), self.next_arrays(pointers)
        self.captured_bindings = self.function.read(self.captured, [next(pointers) for _ in self.captured])
        self.results, self.padding = self.next_arrays(pointers), self.next_arrays(pointers)

    def next_arrays(self, pointers: Iterator[ir.Value]) -> OperandArrays:
        """The next arrays, one for each operand."""
        return OperandArrays(self.builder, self.types, [next(pointers) for _ in self.types])

    def combine(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The body's results; a reverse scan swaps its operands."""
        operands = [*right, *left] if self.layout.is_reverse else [*left, *right]
        return self.body.on_scalars(self.builder, operands, self.captured_bindings)

    def pads(self) -> ir.Function:
        """Reduce the init value with itself from the left: result k combines k + 1 of them."""
        self.begin("pad")
        builder, init = self.builder, self.initial.load(I64(0))
        self.padding.store(I64(0), init)
        if self.layout.length > 1:
            with Loop(builder, I64(1), I64(self.layout.length)) as number:
                previous = self.padding.load(builder.sub(number, I64(1)))
                self.padding.store(number, self.combine(previous, init))
        builder.ret_void()
        return self.function.function

    def variables(self) -> OperandArrays:
        """A mutable value for each operand, in stack memory that becomes registers."""
        pointers = [self.function.allocate_scratch(stored_type(type), 1) for type in self.types]
        return OperandArrays(self.builder, self.types, pointers)

    def fiber(self) -> ir.Function:
        self.begin("fiber")
        layout, builder = self.layout, self.builder
        number = self.function.integers[0]
        outer = builder.udiv(number, I64(layout.inner))
        start = builder.mul(outer, I64(layout.length * layout.inner))
        self.start = builder.add(start, builder.urem(number, I64(layout.inner)))
        self.scan_range((layout.block, layout.group), I64(0), layout.length, ())
        builder.ret_void()
        return self.function.function

    def scan_range(
        self, sizes: Sequence[int], first: ir.Value, count: int, ahead: Sequence[OperandArrays]
    ) -> OperandArrays:
        """Scan the `count` values from index `first` on.

        Args:
            sizes: of the blocks that the range is split into, and of the blocks within these.
            ahead: the totals of the blocks before the range, those of the smallest blocks first.

        Returns:
            The total of the range.
        """
        if not sizes:
            return self.scan_group(first, count, ahead)
        size, *inner_sizes = sizes
        if count <= size:
            return self.scan_range(inner_sizes, first, count, ahead)
        builder, zero, total = self.builder, I64(0), self.variables()
        total.copy(zero, self.scan_range(inner_sizes, first, size, ahead), zero)

        def scan_next(number: ir.Value, block_size: int) -> None:
            begin = builder.add(first, builder.mul(number, I64(size)))
            block_total = self.scan_range(inner_sizes, begin, block_size, (total, *ahead))
            total.store(zero, self.combine(total.load(zero), block_total.load(zero)))

        if count >= 2 * size:
            with Loop(builder, I64(1), I64(count // size)) as number:
                scan_next(number, size)
        if count % size:
            scan_next(I64(count // size), count % size)
        return total

    def scan_group(self, first: ir.Value, count: int, ahead: Sequence[OperandArrays]) -> OperandArrays:
        """Scan the `count` values from index `first` on, which no block splits."""
        builder, zero, prefix = self.builder, I64(0), self.variables()
        with Loop(builder, zero, I64(count)) as number:
            index = builder.add(first, number)
            value = self.inputs.load(self.offset(index))
            with builder.if_else(builder.icmp_signed("==", number, zero)) as (begins, continues):
                with begins:
                    prefix.store(zero, value)
                with continues:
                    prefix.store(zero, self.combine(prefix.load(zero), value))
            values = prefix.load(zero)
            for total in ahead:
                values = self.combine(total.load(zero), values)
            pads = self.padding.load(builder.sub(I64(self.layout.length - 1), index))
            self.results.store(self.offset(index), self.combine(pads, values))
        return prefix

    def offset(self, index: ir.Value) -> ir.Value:
        """The offset of the value that the scan takes at an index."""
        builder, layout = self.builder, self.layout
        position = builder.sub(I64(layout.length - 1), index) if layout.is_reverse else index
        return builder.add(self.start, builder.mul(position, I64(layout.inner)))
