"""Verifies loop nests: they read and write within their arrays, and write each element of each result once.

A nest is data (`nimblehlo.compiler.loops.nests.nest`): its accesses are affine in the indices of its loops,
so that the bytes that it touches follow from it before any code is generated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from ...compiler.implementation import NoCode
from ...compiler.loops.nests.nest import Access, Gather, Load, Nest
from ...compiler.loops.nests.nest_code import NestCode, may_overwrite
from ...compiler.loops.nests.nest_operations import block_of, runs_as_loop_nest
from ...options import Options
from ...program.ir import Block, Function
from ...program.ir.affine import AffineExpr, index_range
from ...program.ops.framework.declaration import Op
from .plans import InvalidPlan

MAX_BYTES: Final = 1 << 18
"""Of larger results that are not written in contiguous ranges, the number of written bytes is checked."""


def verify_generated_nests(function: Function, options: Options) -> None:
    """Verify the nests of all operations of a specialized function, and of those that it calls, that become
    nests.

    Raises:
        InvalidPlan: a nest does not write each element of its results once, or leaves its arrays.
    """
    for one in (function, *function.callees):
        assert one.body is not None
        for operation in one.body.walk():
            view = Op.of(operation)
            if runs_as_loop_nest(view):
                block = block_of(view)
                try:
                    nests = NestCode(block, options.threads).nests.scheduled
                except NoCode:
                    continue
                verify_nests(block, nests, f"{operation.name} at {operation.location}")


def verify_nests(block: Block, nests: Sequence[Nest], where: str) -> None:
    """Verify the nests that together compute what a block returns.

    Raises:
        InvalidPlan: see `verify_generated_nests`.
    """
    types: list[Any] = [value.type for value in (*block.arguments, *block.terminator.operands)]
    sizes = [type.size * type.dtype.itemsize for type in types]
    count = len(block.arguments)
    for nest in nests:
        _verify_bounds(nest, sizes, where)
    for number, size in enumerate(sizes[count:], count):
        _verify_written_once(nests, number, size, where)
    for nest in nests:
        _verify_overwrites(nest, may_overwrite(block), count, where)


def _verify_bounds(nest: Nest, sizes: Sequence[int], where: str) -> None:
    reach, widths = [0] * len(nest.accesses), [1] * len(nest.accesses)
    widths[len(nest.accesses) - len(nest.stores) :] = [nest.slice_length] * len(nest.stores)
    for number, node in enumerate(nest.nodes):
        if isinstance(node, Gather):
            starts = [nest.start_indices[moving.start_index] for moving in node.indices]
            reach[node.access] = sum(start.max_index * start.stride for start in starts)
        if isinstance(node, (Load, Gather)) and number in nest.stores:
            # Lines are copied; the indices that choose them are single elements.
            widths[node.access] = nest.slice_length
    for access, more, width in zip(nest.accesses, reach, widths, strict=True):
        item = access.element_type.dtype.itemsize
        first, last = index_range(access.index_map, [(0, size) for size in nest.sizes])
        first, last = first + min(0, more), last + max(0, more)
        if first < 0 or (last + width) * item > sizes[access.array]:
            message = f"bytes {first * item} to {(last + width) * item} of the {sizes[access.array]} of array"
            raise InvalidPlan(f"{where}: a loop nest uses {message} {access.array}")


def _verify_overwrites(nest: Nest, pairs: Sequence[tuple[int, int]], count: int, where: str) -> None:
    """An operand that may be overwritten is read only where the result is written in the same iteration."""
    read = [nest.accesses[node.access] for node in nest.nodes if isinstance(node, (Load, Gather))]
    for operand, result in pairs:
        written = [_bytes_at(access) for access in nest.results if access.array == count + result]
        for access in read:
            if access.array == operand and _bytes_at(access) not in written:
                raise InvalidPlan(
                    f"{where}: operand {operand} is read elsewhere than result {result} overwrites it"
                )


def _bytes_at(access: Access) -> AffineExpr:
    return access.index_map.scaled(access.element_type.dtype.itemsize)


def _verify_written_once(nests: Sequence[Nest], array: int, size: int, where: str) -> None:
    writes = [(nest, access) for nest in nests for access in nest.results if access.array == array]
    total = sum(math.prod(nest.sizes) * _width(nest, access) for nest, access in writes)
    if total != size or not (_tile(writes) or size > MAX_BYTES or _are_distinct(writes, size)):
        raise InvalidPlan(
            f"{where}: {total} bytes are written of the {size} of array {array}, or some more than once"
        )


def _width(nest: Nest, access: Access) -> int:
    """The bytes that a result's access writes at each index of the loops."""
    return nest.slice_length * access.element_type.dtype.itemsize


def _tile(writes: Sequence[tuple[Nest, Access]]) -> bool:
    """Whether each access writes a contiguous range once, and these ranges follow one another."""
    ranges: list[tuple[int, int]] = []
    for nest, access in writes:
        offset, strides = _bytes_at(access)
        written = _width(nest, access)
        for stride, count in sorted(zip(strides, nest.sizes, strict=True)):
            if count > 1 and stride != written:
                return False
            written *= count
        ranges.append((offset, offset + written))
    ranges.sort()
    return all(last == first for (_, last), (first, _) in pairwise(ranges))


def _are_distinct(writes: Sequence[tuple[Nest, Access]], size: int) -> bool:
    """Whether no byte of an array is written twice, found by marking each of them."""
    maps = [_bytes_at(access) for _, access in writes]
    widths = [_width(nest, access) for nest, access in writes]
    # All writes begin and end at multiples of `unit`.
    unit = math.gcd(size, *widths, *(number for offset, strides in maps for number in (offset, *strides)))
    is_written = np.zeros(size // unit, np.bool_)
    for (nest, _), index_map, width in zip(writes, maps, widths, strict=True):
        first = index_map.values(nest.sizes).reshape(-1, 1) // unit
        is_written[first + np.arange(width // unit)] = True
    return bool(is_written.all())
