"""Cumulative windows of `reduce_window` on small arrays: the scans of `regions/cumulative.py`."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Operation
from ..blocks import Binding, Mode
from ..blocks.emitter import EMIT_RULES, EmitRule
from ..blocks.small_reductions import check_order
from ..coverage import ViewOf
from ..llvm.values import I64
from ..regions.cumulative import ScanFunctions
from ..regions.region_function import captured_arguments, check_region
from .emitter import ArrayEmitter


def _check(operation: Operation, view_of: ViewOf, mode: Mode) -> str | None:
    view = view_of(operation)
    if view.scan_layout is None:
        return "is not generated"
    if captured_arguments([view.body]):
        return "its body captures values"
    return check_order(view) or check_region(view.body, view_of)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view, builder = emitter.view_of(operation), emitter.builder
    layout = view.scan_layout
    functions = ScanFunctions(builder.module, view, (), layout, emitter.view_of)
    operands = [emitter.storage(value) for value in operation.operands]
    targets = [emitter.allocate_result(result) for result in operation.results]
    padding = [emitter.allocate_scratch(type.with_shape((layout.length,))) for type in view.inputs]
    pointers = [storage.pointer for storage in (*operands, *targets, *padding)]
    builder.call(functions.pads(), [I64(0), *pointers])
    fiber = functions.fiber()
    for number in emitter.loop(layout.outer * layout.inner):
        builder.call(fiber, [number, *pointers])
    return [emitter.result(target) for target in targets]


EMIT_RULES["stablehlo.reduce_window"] = EmitRule(_check, _emit)
