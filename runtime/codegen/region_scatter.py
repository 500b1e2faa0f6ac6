"""`scatter` with any update computation as native code: each destination's updates one after the other.

The task `NAME` applies the updates whose destinations lie in its part of one dimension of the inputs: tasks
share no destination. Its pointers are those of the indices, of the updates, of the values from outside, and
of the results, which hold the inputs.

Source: specification, section "scatter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from llvmlite import ir

from ..ir import Value as IrValue
from .blocks import INT64, ViewOf
from .blocks.elements import as_int64, row_major_steps
from .folding import Loop, define_task, least
from .region_function import Columns, Part, RegionFunction, element_type_of

NAME = "scatter"


class Split(NamedTuple):
    """How destinations are shared among tasks: so many indices of a dimension of the inputs for each."""

    dimension: int
    size: int
    tasks: int


def window_sizes(view: Any) -> list[int]:
    """The window's size along each dimension of the inputs."""
    sizes = [1] * view.inputs[0].rank
    for d, d_update in windowed_dims(view).items():
        sizes[d] = view.updates[0].shape[d_update]
    return sizes


def windowed_dims(view: Any) -> dict[int, int]:
    """For each dimension of the inputs along which windows lie, the one of the updates."""
    dropped = {*view.inserted_window_dims, *view.input_batching_dims}
    kept = [d for d in range(view.inputs[0].rank) if d not in dropped]
    return dict(zip(kept, view.update_window_dims, strict=True))


def order_problem(view: Any) -> str | None:
    """Why taking window after window gives a destination its updates in another order; None: it does not.

    Updates are in the row-major order of all their dimensions. Those of a destination come from one place in
    the window along each dimension that no index moves, so that these dimensions may stand anywhere.
    """
    moving = [
        d_update
        for d, d_update in windowed_dims(view).items()
        if d in view.scatter_dims_to_operand_dims and view.updates[0].shape[d_update] > 1
    ]
    scattered = [
        d for d, size in enumerate(view.updates[0].shape) if d not in view.update_window_dims and size > 1
    ]
    if any(window < other for window in moving for other in scattered):
        return "its windows move along a dimension before those of the indices"
    return None


def scatter_module(view: Any, passed: Sequence[IrValue], split: Split, view_of: ViewOf) -> ir.Module:
    """The module with the task `NAME` of a scatter that has no `order_problem`."""
    module = ir.Module("region_scatter")
    function = _Scatter(module, view, passed, split, view_of).function
    define_task(module, NAME, function, split.tasks, 1)
    return module


class _Scatter:
    """Generates `void (i64 part, pointers...)`."""

    def __init__(
        self, module: ir.Module, view: Any, passed: Sequence[IrValue], split: Split, view_of: ViewOf
    ) -> None:
        self.view = view
        self.split = split
        types = [element_type_of(value) for value in view.update_computation.block.terminator.operands]
        count = len(types)
        body = RegionFunction(module, view.update_computation, passed, view_of)
        part = Part(module, "part", 1, 1 + 2 * count + len(passed))
        self.builder = builder = part.builder
        self.indices = part.pointers[0]
        self.updates = Columns(builder, types, part.pointers[1 : 1 + count])
        self.results = Columns(builder, types, part.pointers[1 + count + len(passed) :])
        outside = part.read(passed, part.pointers[1 + count : 1 + count + len(passed)])
        self.body, self.outside = body, outside
        self.function = part.function
        self.lowest = builder.mul(part.integers[0], INT64(split.size))
        limit = INT64(view.inputs[0].shape[split.dimension])
        self.limit = least(builder, builder.add(self.lowest, INT64(split.size)), limit)
        self.generate()
        builder.ret_void()

    def generate(self) -> None:
        """The loops over index vectors, and what each does."""
        view, builder = self.view, self.builder
        shape, vector = view.scatter_indices.shape, view.index_vector_dim
        steps = row_major_steps(shape)
        update_steps = row_major_steps(view.updates[0].shape)
        scattered = [d for d in range(view.updates[0].rank) if d not in view.update_window_dims]
        dims = [d for d in range(len(shape)) if d != vector]
        at: dict[int, ir.Value] = {}
        position: ir.Value = INT64(0)
        update: ir.Value = INT64(0)
        with ExitStack() as loops:
            for d, d_update in zip(dims, scattered, strict=True):
                at[d] = loops.enter_context(Loop(builder, INT64(0), INT64(shape[d])))
                position = builder.add(position, builder.mul(at[d], INT64(steps[d])))
                update = builder.add(update, builder.mul(at[d], INT64(update_steps[d_update])))
            step = steps[vector] if vector < len(shape) else 1
            self.window(self.starts(at, position, step), update, update_steps)

    def starts(self, at: dict[int, ir.Value], position: ir.Value, step: int) -> dict[int, ir.Value]:
        """Where a window starts, along each dimension that an index or a batch decides."""
        view, builder = self.view, self.builder
        starts = {
            d: at[other]
            for d, other in zip(view.input_batching_dims, view.scatter_indices_batching_dims, strict=True)
        }
        kind = view.scatter_indices.element_type
        vectors = Columns(builder, [kind], [self.indices])
        sizes, shape = window_sizes(view), view.inputs[0].shape
        for number, d in enumerate(view.scatter_dims_to_operand_dims):
            (element,) = vectors.load(builder.add(position, INT64(number * step)))
            index = as_int64(builder, kind, element)
            # What lies further outside is as far outside, and sums cannot overflow.
            starts[d] = self.most(least(builder, index, INT64(shape[d])), INT64(-sizes[d]))
        return starts

    def most(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed(">", a, b), a, b)

    def window(self, starts: dict[int, ir.Value], update: ir.Value, update_steps: Sequence[int]) -> None:
        """Apply the part of a window that lies within this task's destinations."""
        view, builder = self.view, self.builder
        shape, sizes = view.inputs[0].shape, window_sizes(view)
        windowed = windowed_dims(view)
        ranges: dict[int, tuple[ir.Value, ir.Value]] = {}
        has_some: ir.Value = ir.IntType(1)(1)
        for d in range(len(shape)):
            start = starts.get(d, INT64(0))
            lowest, limit = INT64(0), INT64(shape[d])
            if d == self.split.dimension:
                lowest, limit = self.lowest, self.limit
            first = self.most(builder.sub(lowest, start), INT64(0))
            last = least(builder, builder.sub(limit, start), INT64(sizes[d]))
            ranges[d] = first, last
            has_some = builder.and_(has_some, builder.icmp_signed("<", first, last))
        steps = row_major_steps(shape)
        with builder.if_then(has_some), ExitStack() as loops:
            position: ir.Value = INT64(0)
            for d, start in starts.items():
                position = builder.add(position, builder.mul(start, INT64(steps[d])))
            for d, d_update in sorted(windowed.items(), key=lambda pair: pair[1]):
                offset = loops.enter_context(Loop(builder, *ranges[d]))
                position = builder.add(position, builder.mul(offset, INT64(steps[d])))
                update = builder.add(update, builder.mul(offset, INT64(update_steps[d_update])))
            values = [*self.results.load(position), *self.updates.load(update)]
            self.results.store(position, self.body.on_scalars(builder, values, self.outside))


def split_of(view: Any, wanted: int) -> Split:
    """How the destinations are shared among up to so many tasks.

    Best along a dimension of batches or windows that no index moves: other tasks then do not read its indices
    for nothing.
    """
    shape, indexed = view.inputs[0].shape, set(view.scatter_dims_to_operand_dims)
    if wanted <= 1 or not shape:
        return Split(0, max(1, math.prod(shape[:1])), 1)
    steps = row_major_steps(shape)
    fixed = [d for d in range(len(shape)) if d not in indexed and shape[d] * steps[d] >= wanted * _LEAST_RUN]
    large = [d for d in fixed if shape[d] >= wanted]
    dimension = large[0] if large else max(range(len(shape)), key=lambda d: shape[d])
    size = -(-shape[dimension] // min(wanted, shape[dimension]))
    return Split(dimension, size, -(-shape[dimension] // size))


_LEAST_RUN = 16
"""Neighbouring elements that a task has of a window at least."""
