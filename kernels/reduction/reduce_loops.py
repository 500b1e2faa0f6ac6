"""The kernels of `reduce`, which documents the tree. Each function makes the kernel of one combination."""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put, store
from ..simd.block_sizes import BATCH, COLUMN_CHUNK, ROW_BLOCK
from ..simd.monoids import computing_dtype
from .dimension_groups import offset_at
from .vector_reduce import reduce_block, reduce_rows, store_row

__all__ = [
    "columns",
    "combined",
    "finish_columns",
    "finish_rows",
    "rows",
    "short_rows",
]


@functools.cache
def finish_rows(element: str, monoid: str) -> Kernel:
    """Reduce the blocks' results [outer, blocks] by adjacent pairs; then combine the initial value."""
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def rows(
        task: int, size: int, count: int, blocks: int, inner: int, partial: np.ndarray, initial: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        for row in range(task * size, min((task + 1) * size, count)):
            base, remaining = row * blocks, blocks
            while remaining > 1:
                value_count, remaining = remaining, (remaining + ROW_BLOCK - 1) // ROW_BLOCK
                for block in range(remaining):
                    first = block * ROW_BLOCK
                    count_in_block = min(ROW_BLOCK, value_count - first)
                    put(
                        partial, base + block,
                        reduce_block(computed, monoid, partial, base + first, count_in_block),
                    )  # fmt: skip
            value = combine(element, monoid, load(element, initial, 0), get(partial, base))
            store(element, result, row, value)

    return rows


@functools.cache
def finish_columns(element: str, monoid: str) -> Kernel:
    """`finish_rows` for [outer, blocks, inner], up to COLUMN_CHUNK columns a work item."""
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def column_chunks(
        task: int, size: int, count: int, blocks: int, inner: int, partial: np.ndarray, initial: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        chunks = (inner + COLUMN_CHUNK - 1) // COLUMN_CHUNK
        for work_item in range(task * size, min((task + 1) * size, count)):
            outer_index = work_item // chunks
            column = (work_item - outer_index * chunks) * COLUMN_CHUNK
            width = min(COLUMN_CHUNK, inner - column)
            base = outer_index * blocks * inner + column
            distance = 1
            while distance < blocks:
                for block in range(0, blocks - distance, 2 * distance):
                    low = base + block * inner
                    reduce_rows(computed, monoid, 2, partial, low, distance * inner, width, partial, low)
                distance *= 2
            store_row(element, monoid, initial, partial, base, width, result, outer_index * inner + column)

    return column_chunks


@kernel
def collect(
    block: Any,
    at: int,
    count: int,
    first: int,
    run_length: int,
    base: int,
    run_sizes: np.ndarray,
    run_strides: np.ndarray,
    operand: np.ndarray,
) -> None:
    """Gather the values from number `first` on of a row that consists of runs."""
    run = first // run_length
    position_in_run = first - run * run_length
    done = 0
    while done < count:
        start = base + offset_at(run, run_sizes, run_strides) + position_in_run
        count_in_run = min(run_length - position_in_run, count - done)
        for position in range(count_in_run):
            put(block, at + done + position, get(operand, start + position))
        done += count_in_run
        run += 1
        position_in_run = 0


@functools.cache
def rows(element: str, monoid: str, is_contiguous: bool) -> Kernel:
    """Reduce the blocks of rows, of at most `max_values` values. A row consists of runs of `run_length`
    values, which are collected in `block` first, unless it is contiguous."""

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, blocks: int, length: int, max_values: int, kept_sizes: np.ndarray,
        kept_strides: np.ndarray, run_length: int, run_sizes: np.ndarray, run_strides: np.ndarray,
        operand: np.ndarray, initial: np.ndarray, partial: np.ndarray, result: np.ndarray, block: Any,
    ) -> None:  # fmt: skip
        at = task * min(length, max_values)
        for work_item in range(task * size, min((task + 1) * size, count * blocks)):
            row = work_item // blocks
            first = (work_item - row * blocks) * max_values
            value_count = min(max_values, length - first)
            base = offset_at(row, kept_sizes, kept_strides)
            if is_contiguous:
                value = reduce_block(element, monoid, operand, base + first, value_count)
            else:
                collect(block, at, value_count, first, run_length, base, run_sizes, run_strides, operand)
                value = reduce_block(element, monoid, block, at, value_count)
            if blocks > 1:
                put(partial, work_item, value)
            else:
                store(element, result, row, combine(element, monoid, load(element, initial, 0), value))

    return body


@functools.cache
def short_rows(element: str, monoid: str) -> Kernel:
    """Reduce rows of fewer than SHORT_ROW contiguous values: BATCH rows are transposed and reduced across."""
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        count: int,
        length: int,
        kept_sizes: np.ndarray,
        kept_strides: np.ndarray,
        block: Any,
        operand: np.ndarray,
        initial: np.ndarray,
        result: np.ndarray,
    ) -> None:
        at = task * BATCH * length
        end = min((task + 1) * size, count)
        for first in range(task * size, end, BATCH):
            width = min(BATCH, end - first)
            for row in range(width):
                base = offset_at(first + row, kept_sizes, kept_strides)
                for position in range(length):
                    put(block, at + position * BATCH + row, load(element, operand, base + position))
            distance = 1
            while distance < length:
                for pair in range(0, length - distance, 2 * distance):
                    low = at + pair * BATCH
                    reduce_rows(computed, monoid, 2, block, low, distance * BATCH, width, block, low)
                distance *= 2
            store_row(element, monoid, initial, block, at, width, result, first)

    return body


@functools.cache
def column_totals(element: str, monoid: str) -> Kernel:
    """Reduce a block of `count` rows from number `first` on, `width` wide, by adjacent pairs into
    `sums[at:]`.

    `sums` is a stack of rows. Up to eight rows of the operand at a time, an aligned block with one stride,
    are reduced into a new row on top; the two topmost rows are combined when they stand for equally many.
    """
    computed = computing_dtype(element).name

    @kernel
    def totals(
        operand: np.ndarray,
        base: int,
        first: int,
        count: int,
        width: int,
        sizes: Any,
        strides: Any,
        sums: np.ndarray,
        at: int,
    ) -> None:
        run, stride = sizes[-1], strides[-1]
        top, done = at, 0
        remaining_in_run = run - first % run
        while done < count:
            start = base + offset_at(first + done, sizes, strides)
            rows_in_run = min(remaining_in_run, count - done)
            if done % 8 == 0 and rows_in_run >= 8:
                reduce_rows(element, monoid, 8, operand, start, stride, width, sums, top)
                row_count = 8
            elif done % 4 == 0 and rows_in_run >= 4:
                reduce_rows(element, monoid, 4, operand, start, stride, width, sums, top)
                row_count = 4
            elif done % 2 == 0 and rows_in_run >= 2:
                reduce_rows(element, monoid, 2, operand, start, stride, width, sums, top)
                row_count = 2
            else:
                reduce_rows(element, monoid, 1, operand, start, stride, width, sums, top)
                row_count = 1
            done += row_count
            remaining_in_run = remaining_in_run - row_count if remaining_in_run > row_count else run
            while done & row_count == 0:
                top -= width
                reduce_rows(computed, monoid, 2, sums, top, width, width, sums, top)
                row_count *= 2
            top += width
        top -= width
        while top > at:
            top -= width
            reduce_rows(computed, monoid, 2, sums, top, width, width, sums, top)

    return totals


@functools.cache
def columns(element: str, monoid: str) -> Kernel:
    """Reduce the blocks of up to `max_rows` rows of all columns; `inner` columns are contiguous. A task has
    `scratch_size` items of `sums`."""
    totals = column_totals(element, monoid)
    computed = computing_dtype(element).name

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        max_rows: int,
        blocks: int,
        length: int,
        inner: int,
        scratch_size: int,
        kept_sizes: np.ndarray,
        kept_strides: np.ndarray,
        reduced_sizes: Any,
        reduced_strides: Any,
        sums: np.ndarray,
        operand: np.ndarray,
        initial: np.ndarray,
        partial: np.ndarray,
        result: np.ndarray,
    ) -> None:
        chunks = (inner + COLUMN_CHUNK - 1) // COLUMN_CHUNK
        scratch_start = task * scratch_size
        for work_item in range(task * size, min((task + 1) * size, outer * blocks * chunks)):
            group = work_item // chunks
            column = (work_item - group * chunks) * COLUMN_CHUNK
            width = min(COLUMN_CHUNK, inner - column)
            outer_index = group // blocks
            first = (group - outer_index * blocks) * max_rows
            base = offset_at(outer_index, kept_sizes, kept_strides) + column
            count = min(max_rows, length - first)
            totals(operand, base, first, count, width, reduced_sizes, reduced_strides, sums, scratch_start)
            if blocks > 1:
                reduce_rows(
                    computed, monoid, 1, sums, scratch_start, width, width, partial, group * inner + column
                )
                continue
            store_row(
                element, monoid, initial, sums, scratch_start, width, result, outer_index * inner + column
            )

    return body


@functools.cache
def combined(element: str, monoid: str) -> Kernel:
    """Combine the initial value with each element."""

    @kernel(parallel=True)
    def body(task: int, size: int, operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        start = load(element, initial, 0)
        for position in range(task * size, min((task + 1) * size, operand.size)):
            store(
                element, result, position, combine(element, monoid, start, load(element, operand, position))
            )

    return body
