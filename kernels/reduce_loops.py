"""The loops of `reduce`, whose text describes the tree. Each function makes the kernel of one combination."""

import functools
from typing import Any

from .arithmetic import combine, fold_block, get, load, put, store
from .compilation import Kernel, kernel
from .groups import offset_of
from .reduce import BATCH, CHUNK, COLUMN_BLOCK, ROW_BLOCK

__all__ = ["columns", "combined", "finish", "fragmented_rows", "rows", "short_rows"]


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
        at = task * min(length, ROW_BLOCK)
        for unit in range(task * size, min((task + 1) * size, count * blocks)):
            row = unit // blocks
            first = (unit - row * blocks) * ROW_BLOCK
            values = min(ROW_BLOCK, length - first)
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
    """Rows of fewer than LANES contiguous values: BATCH rows, turned on their side, are folded as vectors."""

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
        start = load(element, initial, 0)
        for first in range(task * size, end, BATCH):
            width = min(BATCH, end - first)
            for row in range(width):
                base = offset_of(first + row, kept_sizes, kept_strides)
                for position in range(length):
                    put(block, at + position * BATCH + row, load(element, operand, base + position))
            left = length
            while left > 1:
                half = (left + 1) // 2
                for lane in range(left - half):
                    low, high = at + lane * BATCH, at + (lane + half) * BATCH
                    for row in range(width):
                        put(
                            block,
                            low + row,
                            combine(element, monoid, get(block, low + row), get(block, high + row)),
                        )
                left = half
            for row in range(width):
                store(element, result, first + row, combine(element, monoid, start, get(block, at + row)))

    return body


@functools.cache
def column_totals(element: str, monoid: str) -> Kernel:
    """A block of `count` rows from number `first` on, `width` wide, folded from the left into `sums`."""

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
        start = base + offset_of(first, sizes, strides)
        for column in range(width):
            put(sums, at + column, load(element, operand, start + column))
        row = first + 1
        while row + 4 <= first + count:
            a = base + offset_of(row, sizes, strides)
            b = base + offset_of(row + 1, sizes, strides)
            c = base + offset_of(row + 2, sizes, strides)
            d = base + offset_of(row + 3, sizes, strides)
            for column in range(width):
                value = combine(element, monoid, get(sums, at + column), load(element, operand, a + column))
                value = combine(element, monoid, value, load(element, operand, b + column))
                value = combine(element, monoid, value, load(element, operand, c + column))
                put(sums, at + column, combine(element, monoid, value, load(element, operand, d + column)))
            row += 4
        while row < first + count:
            start = base + offset_of(row, sizes, strides)
            for column in range(width):
                value = load(element, operand, start + column)
                put(sums, at + column, combine(element, monoid, get(sums, at + column), value))
            row += 1

    return totals


@functools.cache
def columns(element: str, monoid: str) -> Kernel:
    """The blocks of all columns; `inner` columns lie side by side."""
    totals = column_totals(element, monoid)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        blocks: int,
        length: int,
        inner: int,
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
        chunks = (inner + CHUNK - 1) // CHUNK
        own = task * min(inner, CHUNK)
        for unit in range(task * size, min((task + 1) * size, outer * blocks * chunks)):
            group = unit // chunks
            column = (unit - group * chunks) * CHUNK
            width = min(CHUNK, inner - column)
            kept = group // blocks
            first = (group - kept * blocks) * COLUMN_BLOCK
            base = offset_of(kept, kept_sizes, kept_strides) + column
            count = min(COLUMN_BLOCK, length - first)
            target, at = (partial, group * inner + column) if blocks > 1 else (sums, own)
            totals(operand, base, first, count, width, reduced_sizes, reduced_strides, target, at)
            if blocks > 1:
                continue
            start = load(element, initial, 0)
            for position in range(width):
                value = combine(element, monoid, start, get(sums, own + position))
                store(element, result, kept * inner + column + position, value)

    return body


@functools.cache
def finish(element: str, monoid: str) -> Kernel:
    """The blocks' results [outer, blocks, inner] folded by adjacent pairs; then the initial value."""

    @kernel(parallel=True)
    def body(
        task: int, size: int, outer: int, blocks: int, inner: int, partial: Any, initial: Any, result: Any
    ) -> None:
        chunks = (inner + CHUNK - 1) // CHUNK
        start = load(element, initial, 0)
        for unit in range(task * size, min((task + 1) * size, outer * chunks)):
            kept = unit // chunks
            column = (unit - kept * chunks) * CHUNK
            width = min(CHUNK, inner - column)
            base = kept * blocks * inner + column
            left = blocks
            while left > 1:
                for pair in range(left // 2):
                    target, source = base + pair * inner, base + 2 * pair * inner
                    for position in range(width):
                        left_value = get(partial, source + position)
                        value = combine(element, monoid, left_value, get(partial, source + inner + position))
                        put(partial, target + position, value)
                if left % 2:
                    target, source = base + left // 2 * inner, base + (left - 1) * inner
                    for position in range(width):
                        put(partial, target + position, get(partial, source + position))
                left = (left + 1) // 2
            for position in range(width):
                value = combine(element, monoid, start, get(partial, base + position))
                store(element, result, kept * inner + column + position, value)

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
