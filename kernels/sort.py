"""`sort` along one dimension by recognised comparators, always stable.

A comparator is described by its keys, the most significant one first: a `Key` names an operand, a
direction, and how floating-point values are compared:

- "TOTALORDER": -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN, NaNs by their bits.
- "CANONICAL": zeros are equal, NaNs are equal and above +inf. JAX's comparators do this.
- "FLOAT": zeros are equal, and NaNs, which no such comparison can order, come last in either direction.

Integers and booleans are compared by value whatever is said. Values become unsigned integers of the same
order; those are sorted by `runs`, alone, or where more than one operand moves as the upper half of numbers
whose lower half is the position, 32 bits of a key at a time. All such numbers differ, so that an unstable
sort gives the stable result.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from . import runs
from .compilation import flat
from .monoids import supports_element
from .sort_encoding import Key, bits_dtype, encoding
from .threads import division

__all__ = ["Key", "prepare", "supports"]

_POSITION_BITS = 32
_MOST_POSITIONS = 1 << _POSITION_BITS

Sorting = Callable[..., tuple[np.ndarray, ...]]


def supports(dtypes: Sequence[Any], order: Sequence[Key]) -> bool:
    """Whether kernels sort operands of these element types in that order."""
    if not order or not all(np.dtype(dtype).itemsize in (1, 2, 4, 8, 16) for dtype in dtypes):
        return False
    keys = [np.dtype(dtypes[key.operand]) for key in order if 0 <= key.operand < len(dtypes)]
    return len(keys) == len(order) and all(supports_element(dtype) and dtype.kind != "c" for dtype in keys)


def prepare(
    shape: Sequence[int],
    dtypes: Sequence[Any],
    dimension: int,
    order: Sequence[Key],
    *,
    threads: int | None = None,
) -> Sorting:
    """A function `(*operands) -> results` that sorts operands of one shape along `dimension`, stably.

    Raises ValueError where no kernel serves. Source: the specification's section on sort.
    """
    types = [np.dtype(dtype) for dtype in dtypes]
    if not -len(shape) <= dimension < len(shape):
        raise ValueError(f"dimension {dimension} does not fit the shape {tuple(shape)}")
    if not supports(types, order) or shape[dimension] >= _MOST_POSITIONS:
        raise ValueError(f"no kernel sorts {[dtype.name for dtype in types]} by {list(order)}")
    length = shape[dimension]
    rows = prod(shape) // length if length else 0
    if prod(shape) == 0 or length == 1:
        return lambda *operands: tuple(np.array(operand, order="C") for operand in operands)
    alone = len(types) == 1 and len(order) == 1
    sorter = (
        _values(types[0], order[0], rows, length, threads)
        if alone
        else _records(types, order, rows, length, threads)
    )

    def run(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        lines = [np.ascontiguousarray(np.moveaxis(operand, dimension, -1)) for operand in operands]
        results = [np.empty(line.shape, dtype) for line, dtype in zip(lines, types, strict=True)]
        views = [(flat(line, bits_dtype(dtype)), dtype) for line, dtype in zip(lines, types, strict=True)]
        targets = [
            result.reshape(-1).view(bits_dtype(dtype)) for result, dtype in zip(results, types, strict=True)
        ]
        sorter([bits for bits, _ in views], targets)
        return tuple(np.ascontiguousarray(np.moveaxis(result, -1, dimension)) for result in results)

    return run


def _values(dtype: np.dtype, key: Key, rows: int, length: int, threads: int | None) -> Callable[..., None]:
    """One operand, which is its own key: only encoded values are sorted."""
    code = encoding(dtype, key)
    bits = bits_dtype(dtype)
    tasks, size = division(rows * length, 2 * dtype.itemsize)
    row_tasks, row_size = division(rows, length * dtype.itemsize)

    def sorter(operands: list[np.ndarray], results: list[np.ndarray]) -> None:
        from . import sort_loops

        (operand,), (result,) = operands, results
        encoded = np.empty(rows * length, bits)
        mixed = np.zeros(tasks, np.uint8)
        sort_loops.encode(tasks, size, *code, operand, encoded, mixed, threads=threads)
        encoded = runs.sort(encoded, rows, length, threads)
        sort_loops.decode(tasks, size, *code, 0, encoded, result, threads=threads)
        if mixed.any():
            sort_loops.restore(
                row_tasks, row_size, rows, length, *code, operand, encoded, result, threads=threads
            )

    return sorter


def _records(
    types: list[np.dtype], order: Sequence[Key], rows: int, length: int, threads: int | None
) -> Callable[..., None]:
    """Several operands or keys: positions are sorted, by the last 32 bits of the last key first."""
    passes = [
        (key.operand, encoding(types[key.operand], key), shift)
        for key in reversed(order)
        for shift in range(0, types[key.operand].itemsize * 8, 32)
    ]
    tasks, size = division(rows * length, 16)

    def sorter(operands: list[np.ndarray], results: list[np.ndarray]) -> None:
        from . import sort_loops

        packed = np.empty(rows * length, np.uint64)
        positions = np.empty(rows * length if len(passes) > 1 else 0, np.uint32)
        mixed = np.zeros(tasks, np.uint8)
        for number, (operand, code, shift) in enumerate(passes):
            work = (size, length, number == 0, shift, *code, operands[operand], positions, packed, mixed)
            sort_loops.pack(tasks, *work, threads=threads)
            packed = runs.sort(packed, rows, length, threads)
            if len(passes) > 1:
                former = positions.copy()
                sort_loops.follow(
                    tasks, size, length, number == 0, packed, former, positions, threads=threads
                )
        places = packed if len(passes) == 1 else positions
        for number, (source, result, dtype) in enumerate(zip(operands, results, types, strict=True)):
            if len(passes) == 1 and number == order[0].operand and not mixed.any():
                code, shift = encoding(dtype, order[0]), _POSITION_BITS
                sort_loops.decode(tasks, size, *code, shift, packed, result, threads=threads)
                continue
            words = max(1, dtype.itemsize // 8)
            sort_loops.move(tasks, size, length, words, places, source, result, threads=threads)

    return sorter
