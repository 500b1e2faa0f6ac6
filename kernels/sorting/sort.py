"""`sort` along one dimension by recognised comparators, always stable.

A comparator is described by its keys, the most significant one first: a `Key` names an operand, a
direction, and how floating-point values are compared:

- "TOTALORDER": -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN, NaNs by their bits.
- "CANONICAL": zeros are equal, NaNs are equal and above +inf. JAX's comparators do this.
- "FLOAT": zeros are equal, and NaNs, which no such comparison can order, come last in either direction.

Integers and booleans are always compared by value. Values are encoded as unsigned integers of the same order
(`sort_encoding`), which native functions sort (`native_sort`). A single operand is sorted directly. Several
operands are sorted by numbers whose upper bits are 32 bits of a key and whose lower bits are the position; as
all such numbers differ, an unstable sort gives the stable result. Long rows are split into runs (`runs`).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..launch.compilation import flat
from ..launch.threads import division
from ..simd.monoids import supports_element
from .native_sort import MIN_GROUPED_LENGTH, sort_address, sort_grouped
from .runs import Runs, cut, sorting_bytes
from .sort_encoding import Encoding, Key, bits_dtype, encoding

__all__ = ["Key", "prepare", "supports"]

_MAX_POSITIONS = 1 << 32
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
    return all(sort_address(bits_dtype(dtype)) for dtype in (*keys, np.dtype(np.uint64)))


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
        ValueError: no kernel sorts these types.

    Source: specification, section "sort".
    """
    types = [np.dtype(dtype) for dtype in dtypes]
    if not -len(shape) <= dimension < len(shape):
        raise ValueError(f"dimension {dimension} does not fit the shape {tuple(shape)}")
    if not supports(types, order) or shape[dimension] >= _MAX_POSITIONS:
        raise ValueError(f"no kernel sorts {[dtype.name for dtype in types]} by {list(order)}")
    length = shape[dimension]
    rows = prod(shape) // length if length else 0
    result_operands = range(len(types)) if returned is None else returned
    result_types = [types[number] for number in result_operands]
    if positions is not None:
        result_types.append(np.dtype(positions))
    if prod(shape) == 0 or length == 1:
        return lambda *operands: _copied(operands, result_operands, positions)
    if len(types) == len(order) == len(result_types) == 1 and positions is None:
        sorter = _values(types[0], order[0], rows, length, threads)
    else:
        sorter = _records(types, order, list(result_operands), positions is not None, rows, length, threads)

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


def _values(dtype: np.dtype, key: Key, rows: int, length: int, threads: int | None) -> Callable[..., None]:
    """One operand, which is its own key: sort its codes, in the result for rows of one run."""
    code = encoding(dtype, key).words
    bits = bits_dtype(dtype)

    def sorter(operands: list[RowItems], results: list[RowItems]) -> None:
        from . import sort_loops

        (operand,), (result,) = operands, results
        runs = cut(rows, length, threads)
        is_mixed = None
        if _uses_groups(rows, length, dtype, runs):
            is_mixed = sort_grouped(code, operand, result, None, threads)
        if is_mixed:
            sort_loops.restore(1, 1, rows, length, code, operand, result, threads=threads)
        if is_mixed is not None:
            return
        address = sort_address(bits)
        work_items = rows * runs.run_count
        numbers = result if runs.run_count == 1 else np.empty(rows * length, bits)
        mixed = np.zeros(work_items, np.uint8)
        tasks, size = division(work_items, sorting_bytes(runs.length, bits.itemsize))
        arguments = (size, work_items, *runs, length, address, code, operand, numbers, mixed)
        sort_loops.sort_values(tasks, *arguments, threads=threads)
        if runs.run_count > 1:
            run, numbers = _merged(numbers, runs.length, length, threads)
            tasks, size = division(rows * length, 2 * bits.itemsize)
            sort_loops.merge_values(tasks, size, length, run, code, numbers, result, threads=threads)
            if mixed.any():
                tasks, size = division(rows, length * bits.itemsize)
                sort_loops.restore(tasks, size, rows, length, code, operand, result, threads=threads)

    return sorter


def _uses_groups(rows: int, length: int, dtype: np.dtype, runs: Runs) -> bool:
    """Whether several threads sort a row of such keys in groups."""
    return rows == 1 and runs.run_count > 1 and dtype.itemsize >= 4 and length >= MIN_GROUPED_LENGTH


def _merged(numbers: RowItems, run: int, length: int, threads: int | None) -> tuple[int, RowItems]:
    """Merge pairs of sorted runs until each row has two; returns their length, and the items."""
    from . import runs_loops

    while 2 * run < length:
        merged = np.empty_like(numbers)
        tasks, size = division(numbers.size, 2 * numbers.itemsize)
        runs_loops.merge(tasks, size, length, run, numbers, merged, threads=threads)
        numbers, run = merged, 2 * run
    return run, numbers


class _Pass(NamedTuple):
    """A radix pass: a sort by 32 bits of a key."""

    operand: int
    code: Encoding
    shift: int


def _records(
    types: list[np.dtype],
    order: Sequence[Key],
    returned: list[int],
    has_positions: bool,
    rows: int,
    length: int,
    threads: int | None,
) -> Callable[..., None]:
    """Several operands or keys: sort positions, by the lowest 32 bits of the last key first."""
    passes = [
        _Pass(key.operand, encoding(types[key.operand], key), shift)
        for key in reversed(order)
        for shift in range(0, types[key.operand].itemsize * 8, _KEY_BITS)
    ]
    # A key of at most 32 bits is in the numbers that are sorted: it need not be read again.
    is_in_result = len(passes) == 1 and passes[0].operand in returned
    key_result = returned.index(passes[0].operand) if is_in_result else None
    gathered_results = [number for number in range(len(returned)) if number != key_result]

    def sorter(operands: list[RowItems], results: list[RowItems]) -> None:
        from . import sort_loops

        unused: RowItems = np.empty(0, np.uint32)
        permutation = unused
        for number, radix_pass in enumerate(passes):
            is_last = number == len(passes) - 1
            if is_last and has_positions:
                positions = results[-1]
            else:
                positions = np.empty(rows * length, np.uint32) if gathered_results or not is_last else unused
            bits = operands[radix_pass.operand]
            values = results[key_result] if key_result is not None else np.empty(0, bits.dtype)
            _sort_by(radix_pass, bits, permutation, positions, values, rows, length, threads)
            permutation = positions
        for result_number in gathered_results:
            item_words = max(1, types[returned[result_number]].itemsize // 8)
            tasks, size = division(rows * length, 16)
            arguments = (
                size,
                length,
                item_words,
                permutation,
                operands[returned[result_number]],
                results[result_number],
            )
            sort_loops.move(tasks, *arguments, threads=threads)

    return sorter


def _sort_by(
    radix_pass: _Pass,
    operand: RowItems,
    permutation: RowItems,
    positions: RowItems,
    values: RowItems,
    rows: int,
    length: int,
    threads: int | None,
) -> None:
    """Sort by 32 bits of a key; fills `positions` and `values`, unless empty.

    Args:
        permutation: the elements' positions before earlier passes; or empty.
    """
    from . import sort_loops

    address, runs = sort_address(np.uint64, by_upper_half=True), cut(rows, length, threads)
    work_items, code = rows * runs.run_count, radix_pass.code.words
    if _uses_groups(rows, length, operand.dtype, runs) and operand.itemsize == 4 and permutation.size == 0:
        position_target = positions if positions.size else np.empty(length, np.uint32)
        value_target = values if values.size else None
        if sort_grouped(code, operand, value_target, position_target, threads) is not None:
            return
    tasks, size = division(work_items, sorting_bytes(runs.length, 8))
    packed = np.empty(tasks * length if runs.run_count == 1 else rows * length, np.uint64)
    mixed = np.zeros(work_items, np.uint8)
    arguments = (size, work_items, *runs, length, address, code, radix_pass.shift, operand, permutation)
    sort_loops.sort_packed(tasks, *arguments, packed, mixed, positions, values, threads=threads)
    if runs.run_count > 1:
        run, packed = _merged(packed, runs.length, length, threads)
        tasks, size = division(rows * length, 16)
        merge_arguments = (
            length, run, code, bool(mixed.any()), operand, permutation, packed, positions,
            values,
        )  # fmt: skip
        sort_loops.merge_packed(tasks, size, *merge_arguments, threads=threads)
