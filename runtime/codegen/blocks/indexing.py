"""Reading and updating arrays by index: slices, gathers and scatters of one window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ...ir import Operation
from ...ir import Value as IrValue
from ...ir.affine import row_major_strides
from ..coverage import ViewOf
from ..llvm.values import I64
from . import elements as tensors
from .elements import Elements, Storage, is_plain, is_small
from .emitter import EMIT_RULES, BlockEmitter, Bound, EmitRule, all_small, block_problem


def _indexed_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Reading a small window of a tensor of any size."""
    if not is_plain(operation.operands[0].type):
        return "has elements or sizes that are not generated"
    return all_small((*operation.operands[1:], *operation.results))


def _start(
    emitter: BlockEmitter, shape: Sequence[int], sizes: Sequence[int], starts: Mapping[int, ir.Value]
) -> ir.Value:
    """The position of a window's first element, its start clamped so that it lies within `shape`.

    Args:
        starts: the start along each dimension that has one; along others it is 0.
    """
    builder = emitter.builder
    strides = row_major_strides(shape)
    position: ir.Value = I64(0)
    for d, start in starts.items():
        index = tensors.clamped(builder, start, shape[d] - sizes[d])
        position = builder.add(position, builder.mul(index, I64(strides[d])))
    return position


def _emit_dynamic_slice(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    operand, *starts = operation.operands
    view = emitter.view_of(operation)
    return [_window(emitter, operand, view.slice_sizes, dict(enumerate(map(emitter.index, starts))))]


def _window(
    emitter: BlockEmitter, operand: IrValue, sizes: Sequence[int], starts: Mapping[int, ir.Value]
) -> Elements:
    """The elements of a window of a tensor."""
    kind: Any = operand.type
    start = _start(emitter, kind.shape, sizes, starts)
    offsets = tensors.window_offsets(kind.shape, sizes)
    positions = tensors.positions_from(emitter.builder, start, offsets)
    return tensors.load_elements(emitter.builder, emitter.storage(operand), positions)


def _emit_dynamic_update_slice(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    operand, update, *starts = operation.operands
    kind: Any = operand.type
    sizes: Any = update.type
    storage = emitter.storage(operand)
    start = _start(emitter, kind.shape, sizes.shape, dict(enumerate(map(emitter.index, starts))))
    positions = tensors.positions_from(
        emitter.builder, start, tensors.window_offsets(kind.shape, sizes.shape)
    )
    tensors.store_elements(emitter.builder, storage, positions, emitter.elements(update))
    return [_as_result(emitter, operation, storage)]


def _as_result(emitter: BlockEmitter, operation: Operation, storage: Storage) -> Bound:
    """Storage that was updated in place, as what the operation's result is bound to."""
    return tensors.all_elements(emitter.builder, storage) if is_small(operation.results[0].type) else storage


def _update_problem(operation: Operation, view_of: ViewOf) -> str | None:
    if not is_plain(operation.operands[0].type):
        return "has elements or sizes that are not generated"
    return all_small(operation.operands[1:])


def _gather_problem(operation: Operation, view_of: ViewOf) -> str | None:
    view = view_of(operation)
    if len(view.start_index_map) != tensors.element_count(view.start_indices):
        return "has several index vectors"
    return _indexed_problem(operation, view_of)


def _emit_gather(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    operand, start_indices = operation.operands
    view = emitter.view_of(operation)
    starts = dict(zip(view.start_index_map, emitter.indices(start_indices), strict=True))
    return [_window(emitter, operand, view.slice_sizes, starts)]


def _scatter_problem(operation: Operation, view_of: ViewOf) -> str | None:
    view = view_of(operation)
    if len(view.inputs) != 1:
        return "has several inputs"
    if len(view.scatter_dims_to_operand_dims) != tensors.element_count(view.scatter_indices):
        return "has several index vectors"
    reason = _update_problem(operation, view_of) or body_type_problem(view)
    return reason if reason is not None else block_problem(view.update_computation.block, view_of)


def body_type_problem(view: Any) -> str | None:
    """Why a scatter of one input does not combine elements in its own type, or None where it does."""
    values = [*view.update_computation.block.arguments, *view.update_computation.block.terminator.operands]
    types = [view.updates[0], *[value.type for value in values]]
    if all(type.element_type == view.inputs[0].element_type for type in types):
        return None
    return "its body has other element types"


def _emit_scatter(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    """One index vector: each element of the window that lies within the tensor is updated."""
    operand, scatter_indices, update = operation.operands
    view, builder = emitter.view_of(operation), emitter.builder
    shape = view.inputs[0].shape
    storage = emitter.storage(operand)
    starts = dict(zip(view.scatter_dims_to_operand_dims, emitter.indices(scatter_indices), strict=True))
    dropped = {*view.inserted_window_dims, *view.input_batching_dims}
    kept = [d for d in range(len(shape)) if d not in dropped]
    sizes = [1] * len(shape)
    for d, d_update in zip(kept, view.update_window_dims, strict=True):
        sizes[d] = view.updates[0].shape[d_update]
    strides = row_major_strides(shape)
    for offsets, value in zip(np.ndindex(*sizes), emitter.elements(update).values, strict=True):
        position: ir.Value = I64(sum(o * s for o, s in zip(offsets, strides, strict=True)))
        inside: ir.Value = ir.IntType(1)(1)
        for d, start in starts.items():
            index = builder.add(start, I64(offsets[d]))
            # As unsigned, a negative index is too great.
            inside = builder.and_(inside, builder.icmp_unsigned("<", index, I64(shape[d])))
            position = builder.add(position, builder.mul(start, I64(strides[d])))
        with builder.if_then(inside):
            old = tensors.load_elements(builder, storage, [position])
            (new,) = emitter.emit_block(view.update_computation.block, [old, Elements((value,))])
            assert isinstance(new, Elements)
            tensors.store_elements(builder, storage, [position], new)
    return [_as_result(emitter, operation, storage)]


EMIT_RULES["stablehlo.dynamic_slice"] = EmitRule(_indexed_problem, _emit_dynamic_slice)
EMIT_RULES["stablehlo.dynamic_update_slice"] = EmitRule(_update_problem, _emit_dynamic_update_slice)
EMIT_RULES["stablehlo.gather"] = EmitRule(_gather_problem, _emit_gather)
EMIT_RULES["stablehlo.scatter"] = EmitRule(_scatter_problem, _emit_scatter)
