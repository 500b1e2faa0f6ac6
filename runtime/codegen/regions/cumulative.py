"""Cumulative windows of `reduce_window` with any bodies as native code: scans along one dimension.

The task `PADS` reduces 1, 2, 3, ... init values, since a window holds init values in the padding. The task
`SCANS` scans some fibers along the dimension. The pointers of both are those of the inputs, of the init
values, of the captured values, of the results, and of the reduced init values.

Source: `nimblehlo.ops.reduction.cumulative`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...ir import Value as IrValue
from ..coverage import ViewOf, element_type_of
from ..llvm.loops import Loop
from ..llvm.tasks import define_task
from ..llvm.values import I64, Value, stored_type
from .region_function import LoopFunction, OperandArrays, RegionFunction

PADS = "pads"
SCANS = "scans"


def cumulative_module(
    view: Any, passed: Sequence[IrValue], plan: Any, view_of: ViewOf, size: int
) -> ir.Module:
    """The module with the tasks of cumulative windows.

    Args:
        plan: the `ScanLayout` of the view.
        size: how many fibers a task scans.
    """
    module = ir.Module("region_cumulative")
    scans = _Scans(module, view, passed, plan, view_of)
    define_task(module, PADS, scans.pads(), 1, 1)
    define_task(module, SCANS, scans.fiber(), plan.outer * plan.inner, size)
    return module


class _Scans:
    """Generates functions `void (i64 number, pointers...)`."""

    def __init__(
        self, module: ir.Module, view: Any, passed: Sequence[IrValue], plan: Any, view_of: ViewOf
    ) -> None:
        self.module = module
        self.plan = plan
        self.outside = passed
        self.types = [element_type_of(value) for value in view.body.block.terminator.operands]
        self.body = RegionFunction(module, view.body, passed, view_of)

    def begin(self, name: str) -> None:
        """Start a function and bind its pointers."""
        count = len(self.types)
        self.function = LoopFunction(self.module, name, 1, 4 * count + len(self.outside))
        self.builder = self.function.builder
        pointers = iter(self.function.pointers)
        self.inputs, self.initial = self.columns(pointers), self.columns(pointers)
        self.passed = self.function.read(self.outside, [next(pointers) for _ in self.outside])
        self.results, self.padding = self.columns(pointers), self.columns(pointers)

    def columns(self, pointers: Any) -> OperandArrays:
        """The next arrays, one for each operand."""
        return OperandArrays(self.builder, self.types, [next(pointers) for _ in self.types])

    def combine(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The body's results; a reverse scan swaps its operands."""
        operands = [*right, *left] if self.plan.is_reverse else [*left, *right]
        return self.body.on_scalars(self.builder, operands, self.passed)

    def pads(self) -> ir.Function:
        """Reduce the init value with itself from the left: result k combines k + 1 of them."""
        self.begin("pad")
        builder, init = self.builder, self.initial.load(I64(0))
        self.padding.store(I64(0), init)
        if self.plan.length > 1:
            with Loop(builder, I64(1), I64(self.plan.length)) as number:
                previous = self.padding.load(builder.sub(number, I64(1)))
                self.padding.store(number, self.combine(previous, init))
        builder.ret_void()
        return self.function.function

    def allocate_scratch(self) -> OperandArrays:
        """Stack memory for one value, which becomes registers."""
        scratch_buffers = [self.function.allocate_scratch(stored_type(type), 1) for type in self.types]
        return OperandArrays(self.builder, self.types, scratch_buffers)

    def fiber(self) -> ir.Function:
        """The scan of one fiber."""
        self.begin("fiber")
        plan, builder = self.plan, self.builder
        number = self.function.integers[0]
        outer = builder.udiv(number, I64(plan.inner))
        start = builder.mul(outer, I64(plan.length * plan.inner))
        start = builder.add(start, builder.urem(number, I64(plan.inner)))
        sizes = [size for size in (plan.group, plan.block) if size < plan.length]
        prefix = self.allocate_scratch()
        levels = [(self.allocate_scratch(), self.allocate_scratch(), self.allocate_scratch()) for _ in sizes]
        with Loop(builder, I64(0), I64(plan.length)) as index:
            position = builder.sub(I64(plan.length - 1), index) if plan.is_reverse else index
            offset = builder.add(start, builder.mul(position, I64(plan.inner)))
            self.in_group(index, self.inputs.load(offset), prefix)
            result = prefix
            for size, parent_size, scratch_buffers in zip(
                sizes, [*sizes[1:], plan.length], levels, strict=False
            ):
                self.combine_blocks(builder.urem(index, I64(parent_size)), size, result, *scratch_buffers)
                result = scratch_buffers[0]
            pads = self.padding.load(builder.sub(I64(plan.length - 1), index))
            self.results.store(offset, self.combine(pads, result.load(I64(0))))
        builder.ret_void()
        return self.function.function

    def in_group(self, index: ir.Value, value: Sequence[Value], prefix: OperandArrays) -> None:
        """Combine a value with the prefix of its group."""
        builder, zero = self.builder, I64(0)
        begins = builder.icmp_signed("==", builder.urem(index, I64(self.plan.group)), zero)
        with builder.if_else(begins) as (first, later):
            with first:
                prefix.store(zero, value)
            with later:
                prefix.store(zero, self.combine(prefix.load(zero), value))

    def combine_blocks(
        self,
        index: ir.Value,
        size: int,
        prefix: OperandArrays,
        result: OperandArrays,
        ahead: OperandArrays,
        last: OperandArrays,
    ) -> None:
        """Combine a block's prefix with the totals of the earlier blocks.

        Args:
            index: position within the parent block.
            size: of a block.
            prefix, result: without and with the earlier blocks.
            ahead: the totals of the earlier blocks, reduced from the left.
            last: the prefix at the previous index.
        """
        builder, zero = self.builder, I64(0)
        with builder.if_else(builder.icmp_signed("<", index, I64(size))) as (first, later):
            with first:
                result.copy(zero, prefix, zero)
            with later:
                begins = builder.icmp_signed("==", builder.urem(index, I64(size)), zero)
                with (
                    builder.if_then(begins),
                    builder.if_else(builder.icmp_signed("==", index, I64(size))) as (second, further),
                ):
                    with second:
                        ahead.copy(zero, last, zero)
                    with further:
                        ahead.store(zero, self.combine(ahead.load(zero), last.load(zero)))
                result.store(zero, self.combine(ahead.load(zero), prefix.load(zero)))
        last.copy(zero, prefix, zero)
