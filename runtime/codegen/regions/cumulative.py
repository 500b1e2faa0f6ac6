"""Cumulative windows of `reduce_window` with any bodies as native code: scans along one dimension.

The task `PADS` folds the init values that a window holds beside elements, for all counts of them. The task
`SCANS` scans some lines, a line being the elements along the dimension. The pointers of both are those of the
inputs, of the init values, of the values from outside, of the results, and of the folded init values.

Source: `nimblehlo.ops.reduction.cumulative`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ...ir import Value as IrValue
from ..coverage import ViewOf
from ..llvm.loops import Loop
from ..llvm.tasks import define_task
from ..llvm.values import I64, Value, stored_type
from ..reductions.iteration_space import element_type_of
from .region_function import LoopFunction, OperandArrays, RegionFunction

PADS = "pads"
SCANS = "scans"


class CumulativePlan(NamedTuple):
    """How cumulative windows lie.

    Attributes:
        outer, length, inner: the sizes before, along and behind the scanned dimension.
        is_reverse: whether the last element is the first one of the scan.
        group, block: how many values a group and a block have.
    """

    outer: int
    length: int
    inner: int
    is_reverse: bool
    group: int
    block: int


def cumulative_module(
    view: Any, passed: Sequence[IrValue], plan: CumulativePlan, view_of: ViewOf, size: int
) -> ir.Module:
    """The module with the tasks of cumulative windows.

    Args:
        size: how many lines a task scans.
    """
    module = ir.Module("region_cumulative")
    scans = _Scans(module, view, passed, plan, view_of)
    define_task(module, PADS, scans.pads(), 1, 1)
    define_task(module, SCANS, scans.line(), plan.outer * plan.inner, size)
    return module


class _Scans:
    """Generates functions `void (i64 number, pointers...)`."""

    def __init__(
        self, module: ir.Module, view: Any, passed: Sequence[IrValue], plan: CumulativePlan, view_of: ViewOf
    ) -> None:
        self.module = module
        self.plan = plan
        self.outside = passed
        self.types = [element_type_of(value) for value in view.body.block.terminator.operands]
        self.body = RegionFunction(module, view.body, passed, view_of)

    def begin(self, name: str) -> None:
        """Start a function: what its pointers point to is at hand."""
        count = len(self.types)
        self.function = LoopFunction(self.module, name, 1, 4 * count + len(self.outside))
        self.builder = self.function.builder
        pointers = iter(self.function.pointers)
        self.inputs, self.initial = self.columns(pointers), self.columns(pointers)
        self.passed = self.function.read(self.outside, [next(pointers) for _ in self.outside])
        self.results, self.folded = self.columns(pointers), self.columns(pointers)

    def columns(self, pointers: Any) -> OperandArrays:
        """The next arrays, one for each operand."""
        return OperandArrays(self.builder, self.types, [next(pointers) for _ in self.types])

    def combined(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The body's results; a scan from the last element on exchanges its operands."""
        operands = [*right, *left] if self.plan.is_reverse else [*left, *right]
        return self.body.on_scalars(self.builder, operands, self.passed)

    def pads(self) -> ir.Function:
        """Folds of the init value with itself, from the left: result number k has k + 1 of them."""
        self.begin("pad")
        builder, one = self.builder, self.initial.load(I64(0))
        self.folded.store(I64(0), one)
        if self.plan.length > 1:
            with Loop(builder, I64(1), I64(self.plan.length)) as number:
                before = self.folded.load(builder.sub(number, I64(1)))
                self.folded.store(number, self.combined(before, one))
        builder.ret_void()
        return self.function.function

    def allocate_scratch(self) -> OperandArrays:
        """Room for one value, which becomes registers."""
        scratch_buffers = [self.function.allocate_scratch(stored_type(type), 1) for type in self.types]
        return OperandArrays(self.builder, self.types, scratch_buffers)

    def line(self) -> ir.Function:
        """The scan of one line."""
        self.begin("line")
        plan, builder = self.plan, self.builder
        number = self.function.integers[0]
        outer = builder.udiv(number, I64(plan.inner))
        start = builder.mul(outer, I64(plan.length * plan.inner))
        start = builder.add(start, builder.urem(number, I64(plan.inner)))
        sizes = [size for size in (plan.group, plan.block) if size < plan.length]
        prefix = self.allocate_scratch()
        levels = [(self.allocate_scratch(), self.allocate_scratch(), self.allocate_scratch()) for _ in sizes]
        with Loop(builder, I64(0), I64(plan.length)) as index:
            along = builder.sub(I64(plan.length - 1), index) if plan.is_reverse else index
            offset = builder.add(start, builder.mul(along, I64(plan.inner)))
            self.in_group(index, self.inputs.load(offset), prefix)
            result = prefix
            for size, around, scratch_buffers in zip(sizes, [*sizes[1:], plan.length], levels, strict=False):
                self.behind(builder.urem(index, I64(around)), size, result, *scratch_buffers)
                result = scratch_buffers[0]
            pads = self.folded.load(builder.sub(I64(plan.length - 1), index))
            self.results.store(offset, self.combined(pads, result.load(I64(0))))
        builder.ret_void()
        return self.function.function

    def in_group(self, index: ir.Value, value: Sequence[Value], prefix: OperandArrays) -> None:
        """Fold a value into those of its group before it."""
        builder, zero = self.builder, I64(0)
        begins = builder.icmp_signed("==", builder.urem(index, I64(self.plan.group)), zero)
        with builder.if_else(begins) as (first, later):
            with first:
                prefix.store(zero, value)
            with later:
                prefix.store(zero, self.combined(prefix.load(zero), value))

    def behind(
        self,
        index: ir.Value,
        size: int,
        prefix: OperandArrays,
        result: OperandArrays,
        ahead: OperandArrays,
        last: OperandArrays,
    ) -> None:
        """A part's prefix combined with the totals of the parts before it.

        Args:
            index: within what the parts make up.
            size: of a part.
            prefix, result: without and with the parts before.
            ahead: the totals of the parts before, folded from the left.
            last: the prefix of the index before.
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
                        ahead.store(zero, self.combined(ahead.load(zero), last.load(zero)))
                result.store(zero, self.combined(ahead.load(zero), prefix.load(zero)))
        last.copy(zero, prefix, zero)
