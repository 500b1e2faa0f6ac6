"""Cumulative windows of `reduce_window` on small arrays: the scans of `regions/cumulative.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..llvm.values import I64
from ..regions.cumulative import ScanFunctions
from ..regions.region_function import captured_arguments, check_region
from ..scalars import Binding
from ..scalars.small_reductions import check_types
from .emitter import ArrayEmitter

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce_window import ReduceWindow


def check(view: ReduceWindow) -> str | None:
    """Why the scan of cumulative windows cannot be generated; None if it can."""
    if captured_arguments([view.body]):
        return "its body captures values"
    return check_types(view) or check_region(view.body)


def emit(emitter: ArrayEmitter, view: ReduceWindow) -> Sequence[Binding]:
    """Generate the scan of cumulative windows."""
    operation, builder, layout = view.operation, emitter.builder, view.scan_layout
    assert layout is not None
    functions = ScanFunctions(builder.module, view, (), layout)
    operands = [emitter.storage(value) for value in operation.operands]
    targets = [emitter.allocate_result(result) for result in operation.results]
    padding = [emitter.allocate_scratch(type.with_shape((layout.length,))) for type in view.inputs]
    pointers = [storage.pointer for storage in (*operands, *targets, *padding)]
    builder.call(functions.pads(), [I64(0), *pointers])
    fiber = functions.fiber()
    for number in emitter.loop(layout.outer * layout.inner):
        builder.call(fiber, [number, *pointers])
    return [emitter.result(target) for target in targets]
