"""`scatter` with any update computation as native code: each destination's updates in order.

The task `NAME` applies the updates whose destinations are in its range of one dimension of the inputs, so
that tasks share no destination. Its pointers are those of the index vectors or of their components, of the
updates, of the captured values, and of the results, which hold the inputs.

Source: specification, section "scatter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from llvmlite import ir

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Value as IrValue
from ....program.ir import plain_element_type
from ....program.ir.affine import row_major_strides
from ....types import ElementType
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.tasks import define_task
from ..llvm.values import BIT, I64, stored_type
from ..scalars.elements import as_int64
from ..scalars.emitter import instructions
from .region_function import FunctionBuilder, OperandArrays, RegionFunction

if TYPE_CHECKING:
    from ....program.ops.indexing.scatter_rules import ScatterRules

NAME = "scatter"


class DestinationPartition(NamedTuple):
    """Divides the destinations: each of `tasks` tasks has `size` indices of one dimension of the inputs."""

    dimension: int
    size: int
    tasks: int


def scatter_module(
    view: ScatterRules, captured: Sequence[IrValue], partition: DestinationPartition
) -> ir.Module:
    """The module with the task `NAME` of a scatter."""
    module = ir.Module("region_scatter")
    function = _Scatter(module, view, captured, partition).function
    define_task(module, NAME, function, partition.tasks, 1)
    return module


class _Scatter:
    """Generates `void (i64 task, pointers...)`."""

    def __init__(
        self,
        module: ir.Module,
        view: ScatterRules,
        captured: Sequence[IrValue],
        partition: DestinationPartition,
    ) -> None:
        self.view = view
        self.partition = partition
        types = [plain_element_type(value) for value in view.update_computation.block.terminator.operands]
        count = len(types)
        body = RegionFunction(module, view.update_computation, captured)
        index_types = [plain_element_type(value) for value in view.operation.operands[count:-count]]
        function = FunctionBuilder(module, "updates", 1, len(index_types) + 2 * count + len(captured))
        self.builder = builder = function.builder
        index_pointers = function.pointers[: len(index_types)]
        pointers = function.pointers[len(index_types) :]
        self.indices = [
            OperandArrays(builder, [type], [pointer])
            for type, pointer in zip(index_types, index_pointers, strict=True)
        ]
        self.updates = OperandArrays(builder, types, pointers[:count])
        self.results = OperandArrays(builder, types, pointers[count + len(captured) :])
        self.captured_pointers = pointers[count : count + len(captured)]
        captured_bindings = function.read(captured, self.captured_pointers)
        self.body, self.captured_bindings = body, captured_bindings
        updates_elements = max(view.window_sizes, default=1) == 1
        self.element_updates = (
            _ElementUpdates(module, function, body, captured, types)
            if updates_elements and _is_long(view)
            else None
        )
        self.function = function.function
        self.lowest = builder.mul(function.integers[0], I64(partition.size))
        limit = I64(view.inputs[0].shape[partition.dimension])
        self.limit = min_index(builder, builder.add(self.lowest, I64(partition.size)), limit)
        self.generate()
        if self.element_updates is not None:
            self.element_updates.flush(self)
        builder.ret_void()

    def generate(self) -> None:
        """Emit the loops over index vectors, or over all updates in order."""
        view, builder = self.view, self.builder
        shape, vector = view.index_type.shape, view.index_vector_dim
        strides = row_major_strides(shape)
        updates = view.updates[0].shape
        update_strides = row_major_strides(updates)
        scattered = [d for d in range(len(updates)) if d not in view.update_window_dims]
        looped = scattered if view.keeps_order else range(len(updates))
        at: dict[int, ir.Value] = {}
        position: ir.Value = I64(0)
        update: ir.Value = I64(0)
        with ExitStack() as loops:
            for d in looped:
                at[d] = loops.enter_context(Loop(builder, I64(0), I64(updates[d])))
                update = builder.add(update, builder.mul(at[d], I64(update_strides[d])))
            index_vector_dims = dict(
                zip([d for d in range(len(shape)) if d != vector], scattered, strict=True)
            )
            indices = {d: at[d_update] for d, d_update in index_vector_dims.items()}
            for d, index in indices.items():
                position = builder.add(position, builder.mul(index, I64(strides[d])))
            stride = strides[vector] if vector < len(shape) else 1
            offsets = {d: at[d_update] for d, d_update in view.windowed_dims.items() if d_update in at}
            self.window(self.starts(indices, position, stride), offsets, update, update_strides)

    def starts(self, at: dict[int, ir.Value], position: ir.Value, stride: int) -> dict[int, ir.Value]:
        """The start of a window along each dimension that an index or a batching dimension decides."""
        view, builder = self.view, self.builder
        starts = {
            d: at[indices_dim]
            for d, indices_dim in zip(
                view.input_batching_dims, view.scatter_indices_batching_dims, strict=True
            )
        }
        sizes, shape = view.window_sizes, view.inputs[0].shape
        for number, d in enumerate(view.scatter_dims_to_operand_dims):
            index = self.index(number, position, stride)
            # Clamp starts that are out of bounds, so that sums cannot overflow.
            starts[d] = self.max_index(min_index(builder, index, I64(shape[d])), I64(-sizes[d]))
        return starts

    def index(self, component: int, position: ir.Value, stride: int) -> ir.Value:
        """A component of the index vector at `position`; `stride` is that of index vectors in one array."""
        builder, index_type = self.builder, self.view.index_type.plain_element_type
        if self.view.added_to_negative is None:
            (array,), position = self.indices, builder.add(position, I64(component * stride))
            return as_int64(builder, index_type, *array.load(position))
        index = as_int64(builder, index_type, *self.indices[component].load(position))
        is_negative = builder.icmp_signed("<", index, I64(0))
        added = builder.add(index, I64(self.view.added_to_negative[component]))
        return builder.select(is_negative, added, index)

    def max_index(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed(">", a, b), a, b)

    def window(
        self,
        starts: dict[int, ir.Value],
        offsets: dict[int, ir.Value],
        update: ir.Value,
        update_strides: Sequence[int],
    ) -> None:
        """Apply the slice of a window that lies within this task's destinations.

        Args:
            offsets: coordinates in the window along the dimensions that enclosing loops iterate over.
        """
        view, builder = self.view, self.builder
        shape, sizes = view.inputs[0].shape, view.window_sizes
        windowed = view.windowed_dims
        ranges: dict[int, tuple[ir.Value, ir.Value]] = {}
        is_inside: ir.Value = BIT(1)
        for d in range(len(shape)):
            start = starts.get(d, I64(0))
            lowest, limit = I64(0), I64(shape[d])
            if d == self.partition.dimension:
                lowest, limit = self.lowest, self.limit
            first = self.max_index(builder.sub(lowest, start), I64(0))
            last = min_index(builder, builder.sub(limit, start), I64(sizes[d]))
            if d in offsets:
                first = self.max_index(first, offsets[d])
                last = min_index(builder, last, builder.add(offsets[d], I64(1)))
            ranges[d] = first, last
            is_inside = builder.and_(is_inside, builder.icmp_signed("<", first, last))
        strides = row_major_strides(shape)
        position: ir.Value = I64(0)
        for d, start in starts.items():
            position = builder.add(position, builder.mul(start, I64(strides[d])))
        if self.element_updates is not None:
            self.element_updates.add(self, is_inside, position, update)
            return
        with builder.if_then(is_inside), ExitStack() as loops:
            for d, d_update in sorted(windowed.items(), key=lambda pair: pair[1]):
                if d in offsets:
                    offset = offsets[d]
                else:
                    offset = loops.enter_context(Loop(builder, *ranges[d]))
                    update = builder.add(update, builder.mul(offset, I64(update_strides[d_update])))
                position = builder.add(position, builder.mul(offset, I64(strides[d])))
            values = [*self.results.load(position), *self.updates.load(update)]
            self.results.store(position, self.body.on_scalars(builder, values, self.captured_bindings))


class _ElementUpdates:
    """Updates of single elements by a long body, which are queued and applied in batches.

    Queueing is branch-free: whether an update belongs to the task is unpredictable. A batch with distinct
    destinations is vectorized.
    """

    def __init__(
        self,
        module: ir.Module,
        function: FunctionBuilder,
        body: RegionFunction,
        captured: Sequence[IrValue],
        types: Sequence[ElementType],
    ) -> None:
        self.function = function
        self.types = types
        self.queues = [function.allocate_scratch(I64, _BATCH) for _ in range(2)]
        for number in range(_BATCH):
            slot = address_of(function.builder, self.queues[0], I64(number), I64)
            function.builder.store(I64(-1), slot)
        self.queued = function.variable(I64(0))
        self.combine = self._combine(module, body, captured)
        self.apply = self._apply(module, body, captured)

    def add(self, scatter: _Scatter, is_valid: ir.Value, position: ir.Value, update: ir.Value) -> None:
        """Queue an update if it is valid; apply the queue when it is full."""
        builder, count = self.function.builder, self.queued.get()
        for queue, value in zip(self.queues, (position, update), strict=True):
            builder.store(value, address_of(builder, queue, count, I64))
        new_count = builder.add(count, builder.zext(is_valid, I64))
        self.queued.set(new_count)
        with builder.if_then(builder.icmp_signed("==", new_count, I64(_BATCH))):
            self.flush(scatter)

    def flush(self, scatter: _Scatter) -> None:
        """Apply the queued updates."""
        builder, count = self.function.builder, self.queued.get()
        pointers = [*self.queues, *scatter.results.pointers, *scatter.updates.pointers]
        with builder.if_then(builder.icmp_signed(">", count, I64(0))):
            builder.call(self.apply, [count, *pointers, *scatter.captured_pointers])
        self.queued.set(I64(0))

    def _combine(self, module: ir.Module, body: RegionFunction, captured: Sequence[IrValue]) -> ir.Function:
        """`void (i64 count, values..., updates...)`: combines values with updates, vectorized."""
        size = len(self.types)
        function = FunctionBuilder(module, "combine", 1, 2 * size, captured)
        values, updates = (
            OperandArrays(function.builder, self.types, function.pointers[k : k + size]) for k in (0, size)
        )
        with Loop(function.builder, I64(0), function.integers[0]) as index:
            arguments = [*values.load(index), *updates.load(index)]
            values.store(index, body.on_scalars(function.builder, arguments, function.captured_bindings))
        function.builder.ret_void()
        return function.compiled_once()

    def _apply(self, module: ir.Module, body: RegionFunction, captured: Sequence[IrValue]) -> ir.Function:
        """`void (i64 count, positions, update positions, results..., updates...)`: applies updates."""
        size = len(self.types)
        function = FunctionBuilder(module, "updates", 1, 2 + 2 * size, captured)
        builder, (count,) = function.builder, function.integers
        positions, update_positions = function.pointers[:2]
        results, updates = (
            OperandArrays(builder, self.types, function.pointers[k : k + size]) for k in (2, 2 + size)
        )

        def at(queue: ir.Value, index: ir.Value) -> ir.Value:
            return builder.load(address_of(builder, queue, index, I64), typ=I64)

        with builder.if_else(self._are_distinct(function, positions, count)) as (are_distinct, may_repeat):
            with are_distinct:
                scratch_buffers = [self._allocate_updates(function), self._allocate_updates(function)]
                with Loop(builder, I64(0), count) as index:
                    scratch_buffers[0].copy(index, results, at(positions, index))
                    scratch_buffers[1].copy(index, updates, at(update_positions, index))
                pointers = [*scratch_buffers[0].pointers, *scratch_buffers[1].pointers]
                builder.call(self.combine, [count, *pointers, *function.captured_pointers])
                with Loop(builder, I64(0), count) as index:
                    results.copy(at(positions, index), scratch_buffers[0], index)
            with may_repeat, Loop(builder, I64(0), count) as index:
                position = at(positions, index)
                arguments = [*results.load(position), *updates.load(at(update_positions, index))]
                results.store(position, body.on_scalars(builder, arguments, function.captured_bindings))
        builder.ret_void()
        return function.compiled_once()

    def _allocate_updates(self, function: FunctionBuilder) -> OperandArrays:
        """Stack memory for the values of a batch of updates."""
        scratch_buffers = [function.allocate_scratch(stored_type(type), _BATCH) for type in self.types]
        return OperandArrays(function.builder, self.types, scratch_buffers)

    def _are_distinct(self, function: FunctionBuilder, positions: ir.Value, count: ir.Value) -> ir.Value:
        """Whether no two of the first positions are equal; stale positions after them only give false
        negatives."""
        builder = function.builder
        equal = function.variable(I64(0))
        with Loop(builder, I64(0), count) as i:
            position = builder.load(address_of(builder, positions, i, I64), typ=I64)
            with Loop(builder, I64(0), I64(_BATCH)) as j:
                compared = builder.load(address_of(builder, positions, j, I64), typ=I64)
                is_equal = builder.zext(builder.icmp_signed("==", position, compared), I64)
                equal.set(builder.add(equal.get(), is_equal))
        return builder.icmp_signed("==", equal.get(), count)


def partition_destinations(view: ScatterRules, max_tasks: int) -> DestinationPartition:
    """The partition of the destinations among at most `max_tasks` tasks.

    A batching or window dimension that no index offsets is best: then no task reads indices in vain. To read
    all indices takes longer than to apply a short body to half of the updates.
    """
    shape, indexed = view.inputs[0].shape, set(view.scatter_dims_to_operand_dims)
    unsplit = DestinationPartition(0, max(1, math.prod(shape[:1])), 1)
    if max_tasks <= 1 or not shape:
        return unsplit
    strides = row_major_strides(shape)
    unindexed = [
        d for d in range(len(shape)) if d not in indexed and shape[d] * strides[d] >= max_tasks * _MIN_RUN
    ]
    large = [d for d in unindexed if shape[d] >= max_tasks]
    dimension = large[0] if large else max(range(len(shape)), key=lambda d: shape[d])
    if dimension in indexed:
        if not _is_long(view):
            return unsplit
        max_tasks = min(max_tasks, _MAX_READERS)
    size = -(-shape[dimension] // min(max_tasks, shape[dimension]))
    return DestinationPartition(dimension, size, -(-shape[dimension] // size))


def _is_long(view: ScatterRules) -> bool:
    """Whether a body takes longer than it takes to find an update's destination."""
    return instructions(view.update_computation.block) >= _LONG


_LONG = 30
"""Instructions of a long body, at least."""
_BATCH = 16
"""Updates that are queued."""
_MAX_READERS = 2
"""Tasks, at most, where each has to read all indices to find its own."""
_MIN_RUN = 16
"""Consecutive elements of a window that a task has, at least."""
