"""Prefetches of the rows that are read next, while rows are computed.

A row is read from memory by its first pass, at whose end the hardware prefetcher stops: where later passes
compute, nothing is read. So the pass that computes most is divided into chunks of columns, before each of
which the same columns of a later row are prefetched.
"""

from __future__ import annotations

import math
from collections import Counter

from ....kernels.launch.processor import avoids_software_prefetch
from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ....program.ir import Block, Value, plain_element_type
from ..element_costs import cost_of
from .iteration_space import shape_of
from .row_tiling import RowTilePlan, pass_count

MIN_PREFETCHED_BYTES = 1 << 20
"""Smaller operands mostly lie in the L2 cache."""
_MIN_COST = 4
"""Cost (`cost_of`) of a column for each prefetched operand: cheaper passes leave no time to prefetch. With
prefetches the gradient of softmax, which has 2, takes 1.05 times as long, RMS norm, which has 5, 0.96 times
(Sapphire Rapids)."""
_MAX_CHUNK_BYTES = 1 << 10
"""Bytes of an operand that are prefetched at once: a core waits for few more cache lines at a time."""
_MIN_CHUNK_COLUMNS = 64
"""A shorter loop ends before its vectors overlap."""
_COLUMN_MULTIPLE = 8
"""Columns of a chunk fill vectors of f32 of half the widest register."""


def prefetched_rows(block: Block, plan: RowTilePlan) -> list[Value]:
    """The arguments whose rows are prefetched: contiguous rows of large arrays."""
    if avoids_software_prefetch() or pass_count(plan, block) == 1:
        return []
    values = [value for value in block.arguments if _is_large(value) and _is_read_once(plan, value)]
    return values if sum(_costs(block, plan).values()) >= _MIN_COST * len(values) else []


def _is_large(value: Value) -> bool:
    return math.prod(shape_of(value)) * _item_bytes(value) >= MIN_PREFETCHED_BYTES


def _is_read_once(plan: RowTilePlan, value: Value) -> bool:
    """Whether each row of the iteration space has a contiguous row of the value of its own."""
    strides = plan.strides(value)
    rows = zip(plan.shape[: plan.row_rank], strides, strict=False)
    return plan.column_stride(value) == 1 and all(stride or size == 1 for size, stride in rows)


def _item_bytes(value: Value) -> int:
    return -(-plain_element_type(value).width // 8)


def _costs(block: Block, plan: RowTilePlan) -> Counter[int]:
    """The cost of a column by the number of the pass."""
    costs: Counter[int] = Counter()
    for operation in block.operations[:-1]:
        if plan.varies_along_columns(operation.results[0]):
            costs[plan.pass_of[operation.results[0]]] += cost_of(operation)
    return costs


def prefetching_pass(block: Block, plan: RowTilePlan) -> int:
    """The pass that computes most, the last of equal ones."""
    costs = _costs(block, plan)
    return max(range(pass_count(plan, block)), key=lambda number: (costs[number], number))


def columns_of_chunk(plan: RowTilePlan, values: list[Value]) -> int:
    """The columns between two prefetches: a divisor of all columns, or all of them if none is fit."""
    item_bytes = max(map(_item_bytes, values), default=0)
    columns = plan.columns
    for chunks in range(2, columns // _MIN_CHUNK_COLUMNS + 1):
        chunk, rest = divmod(columns, chunks)
        if not rest and chunk % _COLUMN_MULTIPLE == 0 and chunk * item_bytes <= _MAX_CHUNK_BYTES:
            return chunk
    return columns


def cache_lines(value: Value, columns: int) -> int:
    """The cache lines of some columns of a value's row."""
    return -(-columns * _item_bytes(value) // CACHE_LINE_BYTES)


def columns_of_cache_line(value: Value) -> int:
    """The columns of a value's row in a cache line."""
    return CACHE_LINE_BYTES // _item_bytes(value)
