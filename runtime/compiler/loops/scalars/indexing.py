"""Reading and updating windows of tensors at indices: slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from llvmlite import ir

from ....options import Ordering
from ....program.ir import Operation, plain_element_type, tensor_type
from ....program.ir import Value as IrValue
from ....program.ir.affine import row_major_strides
from ....program.ops.framework.declaration import Op
from ....types import TensorType
from ..llvm.values import BIT, I64
from .boxes import Side, copy, window
from .control import check_body
from .elements import Storage, as_int64, clamped, element_count, element_pointer
from .emitter import Binding, EmitRule, Emitter, Index, Mode, as_value, check_nothing

if TYPE_CHECKING:
    from ....program.ops.indexing.dynamic_slice import DynamicSlice
    from ....program.ops.indexing.gather import Gather
    from ....program.ops.indexing.scatter import Scatter
    from ....program.ops.indexing.scatter_rules import ScatterRules
    from ....program.ops.intermediate.component_scatter import ComponentScatter


def _window_start(
    emitter: Emitter, shape: Sequence[int], sizes: Sequence[int], starts: Mapping[int, ir.Value]
) -> Index:
    """The offset of a window's first element, its start clamped so that it lies within `shape`.

    Args:
        starts: the start along each dimension that has one; along others it is 0.
    """
    strides = row_major_strides(shape)
    indices = [clamped(emitter.builder, start, shape[d] - sizes[d]) for d, start in starts.items()]
    return emitter.offset(indices, [strides[d] for d in starts])


def _emit_dynamic_slice(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    operand, *starts = operation.operands
    storage, target = emitter.storage(operand), emitter.allocate_result(operation.result)
    shape, sizes = storage.type.shape, cast("DynamicSlice", Op.of(operation)).slice_sizes
    first = _window_start(emitter, shape, sizes, dict(enumerate(emitter.indices(starts))))
    copy(emitter, window(target, sizes), window(storage, shape, first), sizes)
    return [emitter.result(target)]


def _window_in_place(emitter: Any, operation: Operation) -> Storage | None:
    """The window where it lies, if its elements lie side by side in memory that nothing changes."""
    operand, *starts = operation.operands
    sizes = cast("DynamicSlice", Op.of(operation)).slice_sizes
    binding, result_type = emitter.bindings[operand], tensor_type(operation.result)
    if (
        operand not in emitter.read_only_values
        or not isinstance(binding, Storage)
        or emitter.mode.holds(result_type)
    ):
        return None
    shape = binding.type.shape
    outer = next((d for d, size in enumerate(sizes) if size > 1), len(shape))
    if tuple(sizes[outer + 1 :]) != tuple(shape[outer + 1 :]):
        return None
    emitter.read_only_values.add(operation.result)
    first = _window_start(emitter, shape, sizes, dict(enumerate(emitter.indices(starts))))
    return Storage(result_type, element_pointer(emitter.builder, binding, as_value(first)))


def _emit_dynamic_update_slice(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    _, update, *starts = operation.operands
    sizes = tensor_type(update).shape
    storage = emitter.updated(operation)
    shape = storage.type.shape
    first = _window_start(emitter, shape, sizes, dict(enumerate(emitter.indices(starts))))
    copy(emitter, window(storage, shape, first), window(emitter.bindings[update], sizes), sizes)
    return [emitter.result(storage)]


def _index_vector(
    emitter: Emitter, indices: IrValue, vector_dim: int, dims: Sequence[int], at: Mapping[int, Index]
) -> dict[int, ir.Value]:
    """The elements of an index vector as i64, by the dimensions that they are for.

    Args:
        at: the index along each dimension of the indices but that of the vectors.
    """
    shape = tensor_type(indices).shape
    strides = row_major_strides(shape)
    first = emitter.offset(list(at.values()), [strides[d] for d in at])
    stride = strides[vector_dim] if vector_dim < len(shape) else 1
    binding, type = emitter.bindings[indices], plain_element_type(indices)
    return {
        d: as_int64(emitter.builder, type, emitter.at(binding, emitter.add(first, number * stride)))
        for number, d in enumerate(dims)
    }


def _check_single_index_vector(indices: TensorType, components: Sequence[int], mode: Mode) -> str | None:
    is_one = len(components) == element_count(indices)
    return None if is_one or mode is Mode.ARRAYS else "has several index vectors"


def _check_gather(operation: Operation, mode: Mode) -> str | None:
    view = cast("Gather", Op.of(operation))
    return _check_single_index_vector(view.start_indices, view.start_index_map, mode)


def _emit_gather(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    operand, indices = operation.operands
    view = cast("Gather", Op.of(operation))
    storage, target = emitter.storage(operand), emitter.allocate_result(operation.result)
    shape, strides = storage.type.shape, row_major_strides(storage.type.shape)
    result_shape, result_strides = view.result.shape, row_major_strides(view.result.shape)
    index_dims = [d for d in range(view.start_indices.rank) if d != view.index_vector_dim]
    for batch in emitter.box([result_shape[d] for d in view.batch_dims]):
        at = dict(zip(index_dims, batch, strict=True))
        starts = _index_vector(emitter, indices, view.index_vector_dim, view.start_index_map, at)
        pairs = zip(view.operand_batching_dims, view.start_indices_batching_dims, strict=True)
        starts.update({d: as_value(at[d_index]) for d, d_index in pairs})
        source = _window_start(emitter, shape, view.slice_sizes, starts)
        first = emitter.offset(batch, [result_strides[d] for d in view.batch_dims])
        copy(
            emitter,
            Side(target, first, [result_strides[d] for d in view.windowed_dims.values()]),
            Side(storage, source, [strides[d] for d in view.windowed_dims]),
            [view.slice_sizes[d] for d in view.windowed_dims],
        )
    return [emitter.result(target)]


def _check_scatter(operation: Operation, mode: Mode) -> str | None:
    view = cast("Scatter", Op.of(operation))
    return _check_single_index_vector(
        view.scatter_indices, view.scatter_dims_to_operand_dims, mode
    ) or _check_scatter_rules(view, mode)


def _check_component_scatter(operation: Operation, mode: Mode) -> str | None:
    view = cast("ComponentScatter", Op.of(operation))
    return _check_single_index_vector(view.index_components[0], [0], mode) or _check_scatter_rules(view, mode)


def _check_scatter_rules(view: ScatterRules, mode: Mode) -> str | None:
    """Why a scatter cannot be generated, whatever form its indices have; None if it can."""
    if len(view.inputs) != 1:
        return "has several inputs"
    if not view.keeps_order:
        return "its windows move along a dimension before those of the indices"
    return _check_body_type(view) or check_body(view.update_computation, mode)


def _check_scatter_ordering(operation: Operation, ordering: Ordering) -> str | None:
    view = cast("ScatterRules", Op.of(operation))
    view.ordering = ordering
    if ordering.scatter_schedule != "lexicographic" or view.combine is not None:
        return "combines in another order or type"
    return None


def _check_body_type(view: ScatterRules) -> str | None:
    """Why a scatter of one input does not combine elements in its own type, or None if it does."""
    values = [*view.update_computation.block.arguments, *view.update_computation.block.terminator.operands]
    types = [view.updates[0], *[tensor_type(value) for value in values]]
    if all(type.element_type == view.inputs[0].element_type for type in types):
        return None
    return "its body has other element types"


def _emit_scatter(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    view, indices = cast("Scatter", Op.of(operation)), operation.operands[1]
    vector_dim, dims = view.index_vector_dim, view.scatter_dims_to_operand_dims
    return _emit_updates(
        emitter, operation, lambda at: _index_vector(emitter, indices, vector_dim, dims, at)
    )


def _emit_component_scatter(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    view, builder = cast("ComponentScatter", Op.of(operation)), emitter.builder
    strides = row_major_strides(view.index_components[0].shape)

    def index_vector(at: Mapping[int, Index]) -> dict[int, ir.Value]:
        offset = emitter.offset(list(at.values()), [strides[d] for d in at])
        vector = {}
        triples = zip(
            view.scatter_dims_to_operand_dims, operation.operands[1:-1], view.added_to_negative, strict=True
        )
        for d, component, added in triples:
            element = emitter.at(emitter.bindings[component], offset)
            index = as_int64(builder, plain_element_type(component), element)
            if added:
                is_negative = builder.icmp_signed("<", index, I64(0))
                index = builder.select(is_negative, builder.add(index, I64(added)), index)
            vector[d] = index
        return vector

    return _emit_updates(emitter, operation, index_vector)


def _emit_updates(
    emitter: Emitter, operation: Operation, index_vector: Callable[[Mapping[int, Index]], dict[int, ir.Value]]
) -> Sequence[Binding]:
    """Update each element of each window that lies within the tensor.

    Args:
        index_vector: emits the elements of an index vector, by the dimensions that they are for; its argument
            is the index along each dimension of the indices but that of the vectors.
    """
    view, builder = cast("ScatterRules", Op.of(operation)), emitter.builder
    storage, updates = emitter.updated(operation), emitter.bindings[operation.operands[-1]]
    shape, update_shape = storage.type.shape, view.updates[0].shape
    strides, update_strides = row_major_strides(shape), row_major_strides(update_shape)
    index_dims = [d for d in range(len(view.indices_shape)) if d != view.index_vector_dim]
    scattered = [d for d in range(len(update_shape)) if d not in view.update_window_dims]
    windowed = sorted(view.windowed_dims.items(), key=lambda pair: pair[1])
    body = view.update_computation.block
    for batch in emitter.box([update_shape[d] for d in scattered]):
        at = dict(zip(index_dims, batch, strict=True))
        starts: dict[int, Index] = {**index_vector(at)}
        pairs = zip(view.input_batching_dims, view.scatter_indices_batching_dims, strict=True)
        starts.update({d: at[d_index] for d, d_index in pairs})
        first = emitter.offset(batch, [update_strides[d] for d in scattered])
        for offsets in emitter.box([update_shape[d] for _, d in windowed]):
            update_offset = emitter.offset(offsets, [update_strides[d] for _, d in windowed], first)
            destination = dict(starts)
            for (d, _), offset in zip(windowed, offsets, strict=True):
                destination[d] = emitter.add(destination.get(d, 0), offset)
            inside: ir.Value = BIT(1)
            for d, index in destination.items():
                # Compared as unsigned, a negative index is too large.
                is_within = builder.icmp_unsigned("<", as_value(index), I64(shape[d]))
                inside = builder.and_(inside, is_within)
            target = emitter.offset(list(destination.values()), [strides[d] for d in destination])
            with builder.if_then(inside):
                items = [emitter.at(storage, target), emitter.at(updates, update_offset)]
                (value,) = emitter.apply_scalar_body(body, items)
                emitter.put(storage, target, value)
    return [emitter.result(storage)]


def _window_values(operation: Operation) -> Sequence[IrValue]:
    """The small values of an operation that reads a window of a tensor of any size."""
    return (*operation.operands[1:], *operation.results)


def _update_values(operation: Operation) -> Sequence[IrValue]:
    """The small values of an operation that updates a tensor of any size."""
    return operation.operands[1:]


DYNAMIC_SLICE: Final = EmitRule(
    check_nothing, _emit_dynamic_slice, _window_values, alias=_window_in_place
)
DYNAMIC_UPDATE_SLICE: Final = EmitRule(
    check_nothing, _emit_dynamic_update_slice, _update_values
)
GATHER: Final = EmitRule(_check_gather, _emit_gather, _window_values)
SCATTER: Final = EmitRule(
    _check_scatter, _emit_scatter, _update_values, check_ordering=_check_scatter_ordering
)
COMPONENT_SCATTER: Final = EmitRule(
    _check_component_scatter, _emit_component_scatter, _update_values, check_ordering=_check_scatter_ordering
)
