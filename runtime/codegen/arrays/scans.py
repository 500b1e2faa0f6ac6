"""Cumulative windows of `reduce_window` on small arrays, in the order of their references.

Source: `nimblehlo.ops.reduction.cumulative`, which defines groups and blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...ir import Operation
from ..blocks import Bound, Mode
from ..blocks.control import body_problem
from ..blocks.emitter import EMIT_RULES, EmitRule, Variable
from ..coverage import ViewOf
from ..llvm.values import I64, Value
from .emitter import ArrayEmitter


def _problem(operation: Operation, view_of: ViewOf, mode: Mode) -> str | None:
    view = view_of(operation)
    layout = view.scan_layout
    if layout is None or layout.length > layout.block:
        return "is not generated"
    if view.ordering.reduction_tree != "blocked":
        return f"reduces by the tree {view.ordering.reduction_tree!r}"
    types = [type.element_type for type in view.inputs]
    if types != list(view.analysis.element_types) or types != [type.element_type for type in view.results]:
        return "its body has other element types"
    return body_problem(view.body, view_of, mode)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    view = emitter.view_of(operation)
    scan = _Scan(emitter, operation, view)
    outer, length, inner = view.scan_layout[:3]
    for row in emitter.loop(outer):
        for column in emitter.loop(inner):
            scan.emit(emitter.offset([row, column], [length * inner, 1]))
    return [emitter.result(target) for target in scan.targets]


class _Scan:
    """Scans fibers of arrays beside each other."""

    def __init__(self, emitter: ArrayEmitter, operation: Operation, view: Any) -> None:
        self.emitter = emitter
        self.layout = view.scan_layout
        self.body = view.body.block
        count = len(view.inputs)
        self.inputs = [emitter.bound[value] for value in operation.operands[:count]]
        initial = [emitter.element(value) for value in operation.operands[count:]]
        length = self.layout.length
        self.padding = [emitter.allocate_scratch(type.with_shape((length,))) for type in view.inputs]
        self.targets = [emitter.allocate_result(result) for result in operation.results]
        self.pad(initial)

    def pad(self, initial: Sequence[Value]) -> None:
        """Init values reduced with themselves: element k of the padding reduces k + 1 of them."""
        emitter = self.emitter
        total = [Variable(emitter, value) for value in initial]
        for number in emitter.loop(self.layout.length):
            values = [one.get() for one in total]
            for padding, value in zip(self.padding, values, strict=True):
                emitter.put(padding, number, value)
            self.set(total, self.combined(values, initial))

    def emit(self, start: ir.Value) -> None:
        """Scan the fiber that begins at an offset, group by group."""
        emitter, layout = self.emitter, self.layout
        zero = [emitter.at(padding, 0) for padding in self.padding]
        prefix, ahead = [[Variable(emitter, value) for value in zero] for _ in range(2)]
        for first in range(0, layout.length, layout.group):
            if first == layout.group:
                self.set(ahead, [one.get() for one in prefix])
            elif first:
                self.set(ahead, self.combined([one.get() for one in ahead], [one.get() for one in prefix]))
            values, offset = self.read(start, I64(first))
            self.set(prefix, values)
            self.write(offset, I64(first), values, ahead if first else None)
            last = min(first + layout.group, layout.length)
            for index in emitter.loop(last, first + 1) if last > first + 1 else ():
                values, offset = self.read(start, index)
                values = self.combined([one.get() for one in prefix], values)
                self.set(prefix, values)
                self.write(offset, index, values, ahead if first else None)

    def read(self, start: ir.Value, index: ir.Value) -> tuple[list[Value], ir.Value]:
        """The values at an index of the scan, and their offset."""
        emitter, layout = self.emitter, self.layout
        builder = emitter.builder
        position = builder.sub(I64(layout.length - 1), index) if layout.is_reverse else index
        offset = builder.add(start, builder.mul(position, I64(layout.inner)))
        return [emitter.at(bound, offset) for bound in self.inputs], offset

    def write(
        self, offset: ir.Value, index: ir.Value, values: Sequence[Value], ahead: Sequence[Variable] | None
    ) -> None:
        """Combine the padding, the groups ahead and a prefix of a group to the result at an index."""
        emitter = self.emitter
        if ahead is not None:
            values = self.combined([one.get() for one in ahead], values)
        number = emitter.builder.sub(I64(self.layout.length - 1), index)
        values = self.combined([emitter.at(padding, number) for padding in self.padding], values)
        for target, value in zip(self.targets, values, strict=True):
            emitter.put(target, offset, value)

    def combined(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The body's results; a reverse scan exchanges its operands."""
        items = [*right, *left] if self.layout.is_reverse else [*left, *right]
        return self.emitter.applied(self.body, items)

    def set(self, variables: Sequence[Variable], values: Sequence[Value]) -> None:
        for variable, value in zip(variables, values, strict=True):
            variable.set(value)


EMIT_RULES["stablehlo.reduce_window"] = EmitRule(_problem, _emit)
