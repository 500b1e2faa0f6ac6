"""`sort` along one dimension by recognised comparators, always stable.

A comparator is described by its keys, the most significant one first: a `Key` names an operand, a
direction, and how floating-point values are compared:

- "TOTALORDER": -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN, NaNs by their bits.
- "CANONICAL": zeros are equal, NaNs are equal and above +inf. JAX's comparators do this.
- "FLOAT": zeros are equal, and NaNs, which no such comparison can order, come last in either direction.

Integers and booleans are always compared by value. Values are encoded as unsigned integers of the same order
(`sort_encoding`), which native functions sort (`native_sort`). A single operand is sorted directly. For
several operands the positions are sorted, by 32 bits of a key at a time, and the operands are gathered from
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat
from ..launch.no_kernel import NoKernel
from ..named_tuples import NamedTuple
from ..simd.monoids import supports_element
from .native_sort import gather_rows, sort_address, sort_rows
from .sort_encoding import Key, bits_dtype, encoding_of

__all__ = ["Key", "prepare", "supports"]

MAX_POSITIONS = 1 << 32
_KEY_BITS = 32

Sorting = Callable[..., tuple[np.ndarray, ...]]
RowItems = np.ndarray
"""An operand or result with `dimension` last, as flat unsigned integers; 16 bytes are two of 8."""


def supports(dtypes: Sequence[Any], order: Sequence[Key]) -> bool:
    """Whether kernels sort operands of these element types in that order."""
    if not order or not all(np.dtype(dtype).itemsize in (1, 2, 4, 8, 16) for dtype in dtypes):
        return False
    keys = [np.dtype(dtypes[key.operand]) for key in order if 0 <= key.operand < len(dtypes)]
    if len(keys) < len(order) or not all(supports_element(dtype) and dtype.kind != "c" for dtype in keys):
        return False
    return all(sort_address(f"u{itemsize}") for itemsize in (1, 2, 4, 8))


def prepare(
    shape: Sequence[int],
    dtypes: Sequence[Any],
    dimension: int,
    order: Sequence[Key],
    *,
    returned: Sequence[int] | None = None,
    positions: Any = None,
    threads: int | None = None,
) -> Sorting:
    """Prepare a stable sort, `(*operands) -> results`.

    Args:
        shape: sizes of every operand.
        dtypes: the element type of each operand.
        dimension: the sorted dimension.
        order: the operands that are compared, the most significant first, each with its order.
        returned: indices of the operands whose sorted elements are results; None: all.
        positions: the integer type of one more result, the original positions of the sorted elements, or
            None.
        threads: maximum number of threads; None: all.

    Raises:
        NoKernel: no kernel sorts these types.

    Source: specification, section "sort".
    """
    types = [np.dtype(dtype) for dtype in dtypes]
    if not -len(shape) <= dimension < len(shape):
        raise ValueError(f"dimension {dimension} does not fit the shape {tuple(shape)}")
    if not supports(types, order) or shape[dimension] >= MAX_POSITIONS:
        raise NoKernel(f"no kernel sorts {[dtype.name for dtype in types]} by {list(order)}")
    length = shape[dimension]
    result_operands = range(len(types)) if returned is None else returned
    result_types = [types[number] for number in result_operands]
    if positions is not None:
        result_types.append(np.dtype(positions))
    if prod(shape) == 0 or length == 1:
        return lambda *operands: _copied(operands, result_operands, positions)
    if len(order) == 1 and list(result_operands) == [order[0].operand] and positions is None:
        sorter = _values(types[order[0].operand], order[0], length, threads)
    else:
        sorter = _records(types, order, list(result_operands), positions is not None, length, threads)

    def run(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        rows_last = [np.ascontiguousarray(np.moveaxis(operand, dimension, -1)) for operand in operands]
        results = [np.empty(_with_last(shape, dimension), dtype) for dtype in result_types]
        operand_bits = [
            flat(row_items, bits_dtype(dtype)) for row_items, dtype in zip(rows_last, types, strict=True)
        ]
        targets = [result.reshape(-1).view(bits_dtype(result.dtype)) for result in results]
        sorter(operand_bits, targets)
        return tuple(np.ascontiguousarray(np.moveaxis(result, -1, dimension)) for result in results)

    return run


def _with_last(shape: Sequence[int], dimension: int) -> tuple[int, ...]:
    rest = list(shape)
    size = rest.pop(dimension)
    return (*rest, size)


def _copied(
    operands: Sequence[np.ndarray], returned: Sequence[int], positions: Any
) -> tuple[np.ndarray, ...]:
    """The results of rows of a single element."""
    results = [np.array(operands[number], order="C") for number in returned]
    return (*results, *([] if positions is None else [np.zeros(operands[0].shape, positions)]))


def _values(dtype: np.dtype, key: Key, length: int, threads: int | None) -> Callable[..., None]:
    """The result is a key: sort its codes."""
    encoding = encoding_of(dtype, key).as_array

    def sorter(operands: list[RowItems], results: list[RowItems]) -> None:
        sort_rows(encoding, operands[key.operand], results[0], None, length, threads)

    return sorter


class _Pass(NamedTuple):
    """A radix pass: a sort by 32 bits of a key."""

    operand: int
    encoding: np.ndarray
    shift: int


def _records(
    types: list[np.dtype],
    order: Sequence[Key],
    returned: list[int],
    has_positions: bool,
    length: int,
    threads: int | None,
) -> Callable[..., None]:
    """Several operands or keys: sort positions, by the lowest 32 bits of the last key first."""
    passes = [
        _Pass(key.operand, encoding_of(types[key.operand], key).as_array, shift)
        for key in reversed(order)
        for shift in range(0, types[key.operand].itemsize * 8, _KEY_BITS)
    ]
    # A key of at most 32 bits is in the numbers that are sorted: it need not be read again.
    is_in_result = len(passes) == 1 and passes[0].operand in returned
    key_result = returned.index(passes[0].operand) if is_in_result else None

    def sorter(operands: list[RowItems], results: list[RowItems]) -> None:
        permutation: RowItems | None = None
        for operand, encoding, shift in passes:
            values = None if key_result is None else results[key_result]
            positions = np.empty(operands[operand].size, np.uint32)
            sort_rows(encoding, operands[operand], values, positions, length, threads, shift, permutation)
            permutation = positions
        for result_number, operand in enumerate(returned):
            if result_number != key_result:
                source, result = operands[operand], results[result_number]
                gather_rows(source, positions, result, types[operand].itemsize, length, threads)
        if has_positions:
            np.copyto(results[-1], positions, casting="unsafe")

    return sorter
