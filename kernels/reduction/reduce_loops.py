"""The loops of `reduce`, whose text describes the tree. Each function makes the kernel of one combination."""

import functools
from typing import Any

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put, store
from ..simd.block_sizes import BATCH, COLUMN_CHUNK, ROW_BLOCK, RUN_BLOCK
from ..simd.monoids import computing_dtype
from .dimension_groups import offset_of
from .vector_reduce import fold_block, fold_rows, store_row

__all__ = [
    "columns",
    "combined",
    "finish_columns",
    "finish_rows",
    "fragmented_rows",
    "rows",
    "short_rows",
]


@functools.cache
def finish_rows(element: str, monoid: str) -> Kernel:
    """The blocks' results [outer, blocks] folded by adjacent pairs; then the initial value."""
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def rows(
        task: int, size: int, count: int, blocks: int, inner: int, partial: Any, initial: Any, result: Any
    ) -> None:
        for row in range(task * size, min((task + 1) * size, count)):
            base, left = row * blocks, blocks
            while left > 1:
                values, left = left, (left + ROW_BLOCK - 1) // ROW_BLOCK
                for block in range(left):
                    first = block * ROW_BLOCK
                    taken = min(ROW_BLOCK, values - first)
                    put(partial, base + block, fold_block(computed, monoid, partial, base + first, taken))
            value = combine(element, monoid, load(element, initial, 0), get(partial, base))
            store(element, result, row, value)

    return rows


@functools.cache
def finish_columns(element: str, monoid: str) -> Kernel:
    """The same of [outer, blocks, inner], by units of up to COLUMN_CHUNK columns."""
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def units(
        task: int, size: int, count: int, blocks: int, inner: int, partial: Any, initial: Any, result: Any
    ) -> None:
        chunks = (inner + COLUMN_CHUNK - 1) // COLUMN_CHUNK
        for unit in range(task * size, min((task + 1) * size, count)):
            kept = unit // chunks
            column = (unit - kept * chunks) * COLUMN_CHUNK
            width = min(COLUMN_CHUNK, inner - column)
            base = kept * blocks * inner + column
            step = 1
            while step < blocks:
                for block in range(0, blocks - step, 2 * step):
                    low = base + block * inner
                    fold_rows(computed, monoid, 2, partial, low, step * inner, width, partial, low)
                step *= 2
            store_row(element, monoid, initial, partial, base, width, result, kept * inner + column)

    return units


@functools.cache
def rows(element: str, monoid: str) -> Kernel:
    """The blocks of all rows whose values are contiguous."""

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        count: int,
        blocks: int,
        length: int,
        kept_sizes: Any,
        kept_strides: Any,
        operand: Any,
        initial: Any,
        partial: Any,
        result: Any,
    ) -> None:
        for unit in range(task * size, min((task + 1) * size, count * blocks)):
            row = unit // blocks
            first = (unit - row * blocks) * ROW_BLOCK
            start = offset_of(row, kept_sizes, kept_strides) + first
            value = fold_block(element, monoid, operand, start, min(ROW_BLOCK, length - first))
            if blocks > 1:
                put(partial, unit, value)
            else:
                store(element, result, row, combine(element, monoid, load(element, initial, 0), value))

    return body


@kernel
def collect(
    block: Any,
    at: int,
    count: int,
    first: int,
    run_length: int,
    base: int,
    run_sizes: Any,
    run_strides: Any,
    operand: Any,
) -> None:
    """Copy the values from number `first` on of a row that lies in runs."""
    run = first // run_length
    place = first - run * run_length
    done = 0
    while done < count:
        start = base + offset_of(run, run_sizes, run_strides) + place
        taken = min(run_length - place, count - done)
        for position in range(taken):
            put(block, at + done + position, get(operand, start + position))
        done += taken
        run += 1
        place = 0


@functools.cache
def fragmented_rows(element: str, monoid: str) -> Kernel:
    """The blocks of all rows whose values lie in several runs of `run_length`."""

    @kernel(parallel=True)
    def body(
        task: int,
        run_length: int,
        run_sizes: Any,
        run_strides: Any,
        block: Any,
        size: int,
        count: int,
        blocks: int,
        length: int,
        kept_sizes: Any,
        kept_strides: Any,
        operand: Any,
        initial: Any,
        partial: Any,
        result: Any,
    ) -> None:
        at = task * min(length, RUN_BLOCK)
        for unit in range(task * size, min((task + 1) * size, count * blocks)):
            row = unit // blocks
            first = (unit - row * blocks) * RUN_BLOCK
            values = min(RUN_BLOCK, length - first)
            base = offset_of(row, kept_sizes, kept_strides)
            collect(block, at, values, first, run_length, base, run_sizes, run_strides, operand)
            value = fold_block(element, monoid, block, at, values)
            if blocks > 1:
                put(partial, unit, value)
            else:
                store(element, result, row, combine(element, monoid, load(element, initial, 0), value))

    return body


@functools.cache
def short_rows(element: str, monoid: str) -> Kernel:
    """Rows of fewer than SHORT_ROW contiguous values: BATCH of them, turned on their side, are folded at
    once."""
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        count: int,
        length: int,
        kept_sizes: Any,
        kept_strides: Any,
        block: Any,
        operand: Any,
        initial: Any,
        result: Any,
    ) -> None:
        at = task * BATCH * length
        end = min((task + 1) * size, count)
        for first in range(task * size, end, BATCH):
            width = min(BATCH, end - first)
            for row in range(width):
                base = offset_of(first + row, kept_sizes, kept_strides)
                for position in range(length):
                    put(block, at + position * BATCH + row, load(element, operand, base + position))
            step = 1
            while step < length:
                for place in range(0, length - step, 2 * step):
                    low = at + place * BATCH
                    fold_rows(computed, monoid, 2, block, low, step * BATCH, width, block, low)
                step *= 2
            store_row(element, monoid, initial, block, at, width, result, first)

    return body


@functools.cache
def column_totals(element: str, monoid: str) -> Kernel:
    """A block of `count` rows from number `first` on, `width` wide, folded by adjacent pairs into
    `sums[at:]`.

    `sums` holds a stack of rows. Up to eight rows of the operand at a time, an aligned block that lies at one
    stride, are folded into a new row on top; the two on top are folded into one whenever they stand for
    equally many.
    """
    computed = computing_dtype(element).name

    @kernel
    def totals(
        operand: Any,
        base: int,
        first: int,
        count: int,
        width: int,
        sizes: Any,
        strides: Any,
        sums: Any,
        at: int,
    ) -> None:
        run, stride = sizes[-1], strides[-1]
        top, done = at, 0
        in_run = run - first % run
        while done < count:
            start = base + offset_of(first + done, sizes, strides)
            together = min(in_run, count - done)
            if done % 8 == 0 and together >= 8:
                fold_rows(element, monoid, 8, operand, start, stride, width, sums, top)
                taken = 8
            elif done % 4 == 0 and together >= 4:
                fold_rows(element, monoid, 4, operand, start, stride, width, sums, top)
                taken = 4
            elif done % 2 == 0 and together >= 2:
                fold_rows(element, monoid, 2, operand, start, stride, width, sums, top)
                taken = 2
            else:
                fold_rows(element, monoid, 1, operand, start, stride, width, sums, top)
                taken = 1
            done += taken
            in_run = in_run - taken if in_run > taken else run
            while done & taken == 0:
                top -= width
                fold_rows(computed, monoid, 2, sums, top, width, width, sums, top)
                taken *= 2
            top += width
        top -= width
        while top > at:
            top -= width
            fold_rows(computed, monoid, 2, sums, top, width, width, sums, top)

    return totals


@functools.cache
def columns(element: str, monoid: str) -> Kernel:
    """The blocks of up to `most` rows of all columns, `inner` of which lie side by side. A task has `room` of
    `sums` for itself."""
    totals = column_totals(element, monoid)
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        most: int,
        blocks: int,
        length: int,
        inner: int,
        room: int,
        kept_sizes: Any,
        kept_strides: Any,
        reduced_sizes: Any,
        reduced_strides: Any,
        sums: Any,
        operand: Any,
        initial: Any,
        partial: Any,
        result: Any,
    ) -> None:
        chunks = (inner + COLUMN_CHUNK - 1) // COLUMN_CHUNK
        own = task * room
        for unit in range(task * size, min((task + 1) * size, outer * blocks * chunks)):
            group = unit // chunks
            column = (unit - group * chunks) * COLUMN_CHUNK
            width = min(COLUMN_CHUNK, inner - column)
            kept = group // blocks
            first = (group - kept * blocks) * most
            base = offset_of(kept, kept_sizes, kept_strides) + column
            count = min(most, length - first)
            totals(operand, base, first, count, width, reduced_sizes, reduced_strides, sums, own)
            if blocks > 1:
                fold_rows(computed, monoid, 1, sums, own, width, width, partial, group * inner + column)
                continue
            store_row(element, monoid, initial, sums, own, width, result, kept * inner + column)

    return body


@functools.cache
def combined(element: str, monoid: str) -> Kernel:
    """The initial value combined with each element."""

    @kernel(parallel=True)
    def body(task: int, size: int, operand: Any, initial: Any, result: Any) -> None:
        start = load(element, initial, 0)
        for position in range(task * size, min((task + 1) * size, operand.size)):
            store(
                element, result, position, combine(element, monoid, start, load(element, operand, position))
            )

    return body
