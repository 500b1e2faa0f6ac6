"""The loops of `reduce_arg`, whose text describes the body, each made for one element type."""

import functools
from typing import Any

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, load, put, store
from ..simd.block_sizes import ARGUMENT_BLOCK, ARGUMENT_CHUNK
from ..simd.searches import extreme, first_equal


@functools.cache
def keeps_left(direction: str) -> Kernel:
    """Whether the body keeps the left value: it is better, or a NaN."""
    if direction == "maximum":

        @kernel(inline=True)
        def greater(left: Any, right: Any) -> bool:
            return bool((left > right) | (left != left))

        return greater

    @kernel(inline=True)
    def less(left: Any, right: Any) -> bool:
        return bool((left < right) | (left != left))

    return less


@functools.cache
def rows(element: str, direction: str) -> Kernel:
    """The best of each block of each row, an array [outer, blocks]."""

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        blocks: int,
        length: int,
        operand: Any,
        indices: Any,
        values: Any,
        places: Any,
    ) -> None:
        for unit in range(task * size, min((task + 1) * size, outer * blocks)):
            row = unit // blocks
            start = row * length + (unit - row * blocks) * ARGUMENT_BLOCK
            end = min(start + ARGUMENT_BLOCK, (row + 1) * length)
            best = extreme(element, direction, operand, start, end - start)
            at = first_equal(element, operand, start, end, best)
            if indices.size == 0:
                put(places, unit, places.dtype.type(at - row * length))
            else:
                index = get(indices, at)
                while best == best and at < end:
                    index = min(index, get(indices, at))
                    at = first_equal(element, operand, at + 1, end, best)
                put(places, unit, index)
            if best == 0:
                for position in range(end - 1, start - 1, -1):
                    if load(element, operand, position) == 0:
                        best = load(element, operand, position)
                        break
            put(values, unit, best)

    return body


@functools.cache
def finish(element: str, direction: str) -> Kernel:
    """The initial value and the blocks' results, from the left."""
    keeps = keeps_left(direction)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        blocks: int,
        values: Any,
        places: Any,
        init_value: Any,
        init_index: Any,
        value: Any,
        index: Any,
    ) -> None:
        for row in range(task * size, min((task + 1) * size, outer)):
            best, place = load(element, init_value, 0), get(init_index, 0)
            for unit in range(row * blocks, (row + 1) * blocks):
                other, other_place = get(values, unit), get(places, unit)
                kept = keeps(best, other)
                if not (kept or (best == other and place < other_place)):
                    place = other_place
                best = best if kept else other
            store(element, value, row, best)
            put(index, row, place)

    return body


@functools.cache
def columns(element: str, direction: str, turned: bool) -> Kernel:
    """The best of each column, an array [outer, inner], of an operand [outer, length, inner]; `turned`:
    [outer, inner, length], of which some lines at a time are copied with rows and columns exchanged."""
    keeps = keeps_left(direction)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        length: int,
        inner: int,
        operand: Any,
        indices: Any,
        values: Any,
        places: Any,
        lines: Any,
        init_value: Any,
        init_index: Any,
        value: Any,
        index: Any,
    ) -> None:
        chunks = (inner + ARGUMENT_CHUNK - 1) // ARGUMENT_CHUNK
        own = task * ARGUMENT_CHUNK
        counted = indices.size == 0
        for unit in range(task * size, min((task + 1) * size, outer * chunks)):
            group = unit // chunks
            column = (unit - group * chunks) * ARGUMENT_CHUNK
            width = min(ARGUMENT_CHUNK, inner - column)
            for position in range(own, own + width):
                put(values, position, load(element, init_value, 0))
                put(places, position, get(init_index, 0))
            if turned:
                first = (group * inner + column) * length
                for position in range(width):
                    for row in range(length):
                        to = own * length + row * ARGUMENT_CHUNK + position
                        put(lines, to, load(element, operand, first + position * length + row))
            for row in range(length):
                start, step = (group * length + row) * inner + column, 1
                line = own * length + row * ARGUMENT_CHUNK
                if turned:
                    start, step = (group * inner + column) * length + row, length
                for position in range(width):
                    best, place = get(values, own + position), get(places, own + position)
                    if turned:
                        other = get(lines, line + position)
                    else:
                        other = load(element, operand, start + position)
                    other_place = places.dtype.type(row) if counted else get(indices, start + position * step)
                    kept = keeps(best, other)
                    stays = kept | ((best == other) & (place < other_place))
                    put(values, own + position, best if kept else other)
                    put(places, own + position, place if stays else other_place)
            for position in range(width):
                store(element, value, group * inner + column + position, get(values, own + position))
                put(index, group * inner + column + position, get(places, own + position))

    return body
