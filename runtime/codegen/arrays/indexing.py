"""Reading and updating windows of arrays at indices: slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from llvmlite import ir

from ...ir import Operation
from ...ir import Value as IrValue
from ...ir.affine import row_major_strides
from ..blocks import Bound, Storage
from ..blocks.elements import as_int64, clamped, element_pointer
from ..blocks.indexing import body_type_problem
from ..coverage import ViewOf
from ..llvm.values import I64
from ..regions.scatter import keeps_order, window_sizes, windowed_dims
from .boxes import Side, copy, copy_all, window
from .emitter import EMIT_RULES, ArrayEmitter, EmitRule, body_problem, element_type, is_single


def _no_problem(operation: Operation, view_of: ViewOf) -> str | None:
    return None


def _start(
    emitter: ArrayEmitter, shape: Sequence[int], sizes: Sequence[int], starts: Mapping[int, ir.Value]
) -> ir.Value:
    """The position of a window's first element, its start clamped so that it lies within `shape`."""
    builder, strides = emitter.builder, row_major_strides(shape)
    position: ir.Value = I64(0)
    for d, start in starts.items():
        index = clamped(builder, start, shape[d] - sizes[d])
        position = builder.add(position, builder.mul(index, I64(strides[d])))
    return position


def _emit_dynamic_slice(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    operand, *starts = operation.operands
    storage = emitter.storage(operand)
    sizes = emitter.view_of(operation).slice_sizes
    first = _start(emitter, storage.type.shape, sizes, dict(enumerate(emitter.indices(starts))))
    room = emitter.allocate_result(operation.result)
    copy(emitter, window(room, I64(0)), window(storage, first), sizes)
    return [emitter.result(room)]


def _seen_dynamic_slice(emitter: ArrayEmitter, operation: Operation) -> Storage | None:
    """The window where it lies, if its elements lie side by side in memory that nothing changes."""
    operand, *starts = operation.operands
    sizes = emitter.view_of(operation).slice_sizes
    bound, kind = emitter.bound[operand], operation.result.type
    if operand not in emitter.unchanging or not isinstance(bound, Storage) or is_single(kind):
        return None
    shape = bound.type.shape
    outer = next((d for d, size in enumerate(sizes) if size > 1), len(shape))
    if tuple(sizes[outer + 1 :]) != tuple(shape[outer + 1 :]):
        return None
    emitter.unchanging.add(operation.result)
    first = _start(emitter, shape, sizes, dict(enumerate(emitter.indices(starts))))
    return Storage(kind, element_pointer(emitter.builder, bound, first))  # type: ignore[arg-type]


def _emit_dynamic_update_slice(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    _, update, *starts = operation.operands
    kind: Any = update.type
    storage = _own(emitter, operation)
    first = _start(emitter, storage.type.shape, kind.shape, dict(enumerate(emitter.indices(starts))))
    source = emitter.storage(update)
    copy(emitter, window(storage, first), window(source, I64(0)), kind.shape)
    return [emitter.result(storage)]


def _own(emitter: ArrayEmitter, operation: Operation) -> Storage:
    """The array to be updated: in place, or a copy."""
    operand = operation.operands[0]
    bound = emitter.bound[operand]
    if emitter.is_in_place(operand.type):
        assert isinstance(bound, Storage)
        return bound
    room = emitter.allocate_result(operation.result)
    copy_all(emitter, room, bound)
    return room


def _vectors(
    emitter: ArrayEmitter, indices: IrValue, vector_dim: int, dims: Sequence[int], at: Mapping[int, ir.Value]
) -> dict[int, ir.Value]:
    """The elements of an index vector as i64, by the dimensions that they are for.

    Args:
        at: the place along each dimension of the indices but that of the vectors.
    """
    builder, kind = emitter.builder, indices.type
    shape: Sequence[int] = kind.shape  # type: ignore[union-attr]
    strides = row_major_strides(shape)
    position: ir.Value = I64(0)
    for d, index in at.items():
        position = builder.add(position, builder.mul(index, I64(strides[d])))
    stride = strides[vector_dim] if vector_dim < len(shape) else 1
    bound = emitter.bound[indices]
    return {
        d: as_int64(
            builder,
            element_type(indices),
            emitter.at(bound, builder.add(position, I64(number * stride))),
        )
        for number, d in enumerate(dims)
    }


def _emit_gather(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    operand, indices = operation.operands
    view, builder = emitter.view_of(operation), emitter.builder
    storage, room = emitter.storage(operand), emitter.allocate_result(operation.result)
    shape, result_steps = storage.type.shape, row_major_strides(room.type.shape)
    batch_dims = [d for d in range(room.type.rank) if d not in view.offset_dims]
    index_dims = [d for d in range(view.start_indices.rank) if d != view.index_vector_dim]
    dropped = {*view.collapsed_slice_dims, *view.operand_batching_dims}
    offset = [d for d in range(len(shape)) if d not in dropped]
    with ExitStack() as loops:
        at, target = {}, I64(0)
        for d, d_result in zip(index_dims, batch_dims, strict=True):
            at[d] = loops.enter_context(emitter.loop(room.type.shape[d_result]))
            target = builder.add(target, builder.mul(at[d], I64(result_steps[d_result])))
        starts = _vectors(emitter, indices, view.index_vector_dim, view.start_index_map, at)
        pairs = zip(view.operand_batching_dims, view.start_indices_batching_dims, strict=True)
        starts.update({d: at[d_index] for d, d_index in pairs})
        first = _start(emitter, shape, view.slice_sizes, starts)
        strides = row_major_strides(shape)
        source = Side(storage, first, [strides[d] for d in offset])
        to = Side(room, target, [result_steps[d] for d in view.offset_dims])
        copy(emitter, to, source, [view.slice_sizes[d] for d in offset])
    return [emitter.result(room)]


def _scatter_problem(operation: Operation, view_of: ViewOf) -> str | None:
    view = view_of(operation)
    if len(view.inputs) != 1:
        return "has several inputs"
    if view.ordering.scatter_schedule != "lexicographic" or view.combine is not None:
        return "combines in another order or type"
    if not keeps_order(view):
        return "its windows move along a dimension before those of the indices"
    return body_type_problem(view) or body_problem(view.update_computation, view_of)


def _emit_scatter(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    """Each element of each window that lies within the array is updated."""
    _, indices, update = operation.operands
    view, builder = emitter.view_of(operation), emitter.builder
    room, updates = _own(emitter, operation), emitter.bound[update]
    shape, sizes, windowed = room.type.shape, window_sizes(view), windowed_dims(view)
    strides, update_strides = row_major_strides(shape), row_major_strides(view.updates[0].shape)
    index_dims = [d for d in range(view.scatter_indices.rank) if d != view.index_vector_dim]
    scattered = [d for d in range(view.updates[0].rank) if d not in view.update_window_dims]
    with ExitStack() as loops:
        at, place = {}, I64(0)
        for d, d_update in zip(index_dims, scattered, strict=True):
            at[d] = loops.enter_context(emitter.loop(view.updates[0].shape[d_update]))
            place = builder.add(place, builder.mul(at[d], I64(update_strides[d_update])))
        destination_index = _vectors(
            emitter, indices, view.index_vector_dim, view.scatter_dims_to_operand_dims, at
        )
        pairs = zip(view.input_batching_dims, view.scatter_indices_batching_dims, strict=True)
        destination_index.update({d: at[d_index] for d, d_index in pairs})
        target: ir.Value = I64(0)
        inside: ir.Value = ir.IntType(1)(1)
        for d, d_update in sorted(windowed.items(), key=lambda pair: pair[1]):
            offset = loops.enter_context(emitter.loop(sizes[d]))
            place = builder.add(place, builder.mul(offset, I64(update_strides[d_update])))
            destination_index[d] = (
                builder.add(destination_index[d], offset) if d in destination_index else offset
            )
        for d, index in destination_index.items():
            # As unsigned, a negative index is too great.
            inside = builder.and_(inside, builder.icmp_unsigned("<", index, I64(shape[d])))
            target = builder.add(target, builder.mul(index, I64(strides[d])))
        with builder.if_then(inside):
            items = [emitter.at(room, target), emitter.at(updates, place)]
            (value,) = emitter.applied(view.update_computation.block, items)
            emitter.put(room, target, value)
    return [emitter.result(room)]


EMIT_RULES["stablehlo.dynamic_slice"] = EmitRule(_no_problem, _emit_dynamic_slice, alias=_seen_dynamic_slice)
EMIT_RULES["stablehlo.dynamic_update_slice"] = EmitRule(_no_problem, _emit_dynamic_update_slice)
EMIT_RULES["stablehlo.gather"] = EmitRule(_no_problem, _emit_gather)
EMIT_RULES["stablehlo.scatter"] = EmitRule(_scatter_problem, _emit_scatter)
