"""`chlo.scan` of small slices as native code: a loop over positions that calls the body.

The only task `NAME` has the pointers of the inputs, of the initial values, of the captured values, of the
outputs, and of the final carried values, which also hold the current ones.

Source: `nimblehlo.program.ops.chlo.scan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from ....program.ir import Value as IrValue
from ....program.ir.affine import row_major_strides
from ....types import TensorType
from ..llvm.loops import Loop
from ..llvm.tasks import define_task
from ..llvm.values import I64
from ..scalars import Binding, Emitter, Storage, all_elements
from ..scalars.boxes import Side, copy, copy_all, window
from ..scalars.emitter import Registers
from .region_function import FunctionBuilder, RegionFunction

if TYPE_CHECKING:
    from ....program.ops.chlo.scan import Scan

NAME = "scan"


def scan_module(view: Scan, captured: Sequence[IrValue], length: int) -> ir.Module:
    """The module with the task `NAME`.

    Args:
        length: size of the scanned dimension.
    """
    module = ir.Module("region_scan")
    body = RegionFunction(module, view.body, captured)
    groups = (view.inputs, view.inits, _types(captured), view.outputs, view.carries)
    function = FunctionBuilder(module, "scan_slices", 1, sum(map(len, groups)))
    pointers = iter(function.pointers)
    inputs, inits, captured_storages, outputs, carries = (
        [Storage(type, next(pointers)) for type in group] for group in groups
    )
    builder = function.builder
    captured_bindings = function.read(captured, [storage.pointer for storage in captured_storages])
    emitter = Emitter(builder)
    for carry, init in zip(carries, inits, strict=True):
        copy_all(emitter, carry, init)
    with Loop(builder, I64(0), I64(length)) as number:
        position = builder.sub(I64(length - 1), number) if view.is_reverse else number
        elements: list[Binding] = []
        for storage in inputs:
            side, sizes = _slice(emitter, storage, view.dimension, position)
            target = Registers(storage.type.with_shape(sizes))
            copy(emitter, window(target, sizes), side, sizes)
            elements.append(emitter.result(target))
        carried = [all_elements(builder, storage) for storage in carries]
        results = body.call(builder, [*elements, *carried], captured_bindings)
        for storage, result in zip(outputs, results, strict=False):
            side, sizes = _slice(emitter, storage, view.dimension, position)
            copy(emitter, side, window(result, sizes), sizes)
        for carry, result in zip(carries, results[len(outputs) :], strict=True):
            copy_all(emitter, carry, result)
    builder.ret_void()
    define_task(module, NAME, function.function, 1, 1)
    return module


def _types(values: Sequence[IrValue]) -> list[TensorType]:
    return [value.type for value in values if isinstance(value.type, TensorType)]


def _slice(
    emitter: Emitter, storage: Storage, dimension: int, position: ir.Value
) -> tuple[Side, tuple[int, ...]]:
    """The elements at a position along a dimension, and their sizes."""
    shape, strides = storage.type.shape, row_major_strides(storage.type.shape)
    sizes = tuple([1 if d == dimension else size for d, size in enumerate(shape)])
    return Side(storage, emitter.offset([position], [strides[dimension]]), strides), sizes
