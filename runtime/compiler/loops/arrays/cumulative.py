"""Cumulative windows of `reduce_window` on small arrays: the scans of `regions/cumulative.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from ....program.ir import Operation
from ....program.ops.framework.declaration import Op
from ..llvm.values import I64
from ..regions.cumulative import ScanFunctions
from ..regions.region_function import captured_arguments, check_region
from ..scalars import Binding, Mode
from ..scalars.emitter import EmitRule
from ..scalars.small_reductions import check_tree, check_types
from .emitter import ArrayEmitter

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce_window import ReduceWindow


def _check(operation: Operation, mode: Mode) -> str | None:
    view = cast("ReduceWindow", Op.of(operation))
    if view.scan_layout is None:
        return "is not generated"
    if captured_arguments([view.body]):
        return "its body captures values"
    return check_types(view) or check_region(view.body)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view, builder = cast("ReduceWindow", Op.of(operation)), emitter.builder
    layout = view.scan_layout
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


REDUCE_WINDOW: Final = EmitRule(
    _check, _emit, check_ordering=lambda operation, ordering: check_tree(ordering)
)
