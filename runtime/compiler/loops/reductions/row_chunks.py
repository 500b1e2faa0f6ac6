"""Chunks of the columns of rows (`row_tiling`) whose arrays come from memory.

A row is read from memory by its first pass, at whose end the hardware prefetcher stops: where later passes
compute, nothing is read. So the pass that computes most is divided into chunks of columns, before each of
which the same columns of a later row are prefetched. Results larger than the caches are written past them, a
chunk at a time.
"""

from __future__ import annotations

import math
from collections import Counter

from ....kernels.launch.processor import avoids_software_prefetch
from ....kernels.named_tuples import NamedTuple
from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ....program.ir import Block, Value, plain_element_type
from ..chunks import elements_of_chunk
from ..element_costs import cost_of
from ..nests.nontemporal_stores import MIN_COMPUTED_NONTEMPORAL_BYTES
from .iteration_space import collapsed_stride, shape_of
from .row_tiling import RowTilePlan, pass_count

MIN_PREFETCHED_BYTES = 1 << 20
"""Smaller operands mostly lie in the L2 cache."""
_MIN_COST = 4
"""Cost (`cost_of`) of a column for each prefetched operand: cheaper passes leave no time to prefetch, unless
results are written past the caches. With prefetches the gradient of softmax, which has 2, takes 1.05 times as
long, RMS norm, which has 5, 0.96 times (Sapphire Rapids)."""
_L1_GROUP_BYTES = 8 << 10
"""Bytes of a group of rows that the L1 cache holds beside the one before; larger ones go to the L2 cache."""


class RowChunks(NamedTuple):
    """How passes over rows are divided into chunks of columns.

    Attributes:
        columns: of a chunk.
        prefetched: the arguments of the block whose rows are prefetched.
        results: of the block, which are written past the caches.
        prefetching_pass: the pass in which rows are prefetched: that which computes most.
        locality: of prefetches, as `prefetch_address` has it.
    """

    columns: int
    prefetched: tuple[Value, ...]
    results: tuple[Value, ...]
    prefetching_pass: int
    locality: int


def row_chunks(plan: RowTilePlan, block: Block, group: int) -> RowChunks | None:
    """The chunks of a fusion's rows, of which each pass computes `group` before the next pass starts; None
    where rows are computed whole."""
    passes = pass_count(plan, block)
    prefetched = [value for value in block.arguments if _is_large(value) and _is_read_once(plan, value)]
    if avoids_software_prefetch() or passes == 1 or not prefetched:
        return None
    results = [value for value in dict.fromkeys(block.terminator.operands) if _may_bypass(plan, value)]
    costs = _costs(plan, block)
    if not results and sum(costs.values()) < _MIN_COST * len(prefetched):
        return None
    columns = elements_of_chunk([_itemsize(value) for value in [*prefetched, *results]])
    if plan.columns < columns:
        return None
    group_bytes = group * plan.columns * sum([_itemsize(value) for value in prefetched])
    return RowChunks(
        columns,
        tuple(prefetched),
        tuple(results),
        max(range(passes), key=lambda number: (costs[number], number)),
        3 if group_bytes <= _L1_GROUP_BYTES else 2,
    )


def _is_large(value: Value) -> bool:
    return math.prod(shape_of(value)) * _itemsize(value) >= MIN_PREFETCHED_BYTES


def _is_read_once(plan: RowTilePlan, value: Value) -> bool:
    """Whether each row of the iteration space has a contiguous row of the value of its own."""
    strides = plan.strides(value)
    rows = zip(plan.shape[: plan.row_rank], strides, strict=False)
    return plan.column_stride(value) == 1 and all(stride or size == 1 for size, stride in rows)


def _may_bypass(plan: RowTilePlan, value: Value) -> bool:
    """Whether a result is larger than the caches, has rows of whole cache lines, and is not read again."""
    if value in plan.buffered or collapsed_stride(plan.shape, plan.strides(value)) != 1:
        return False
    is_large = math.prod(plan.shape) * _itemsize(value) >= MIN_COMPUTED_NONTEMPORAL_BYTES
    return is_large and plan.columns * _itemsize(value) % CACHE_LINE_BYTES == 0


def _costs(plan: RowTilePlan, block: Block) -> Counter[int]:
    """The cost of a column by the number of the pass."""
    costs: Counter[int] = Counter()
    for operation in block.operations[:-1]:
        if plan.varies_along_columns(operation.results[0]):
            costs[plan.pass_of[operation.results[0]]] += cost_of(operation)
    return costs


def _itemsize(value: Value) -> int:
    return plain_element_type(value).dtype.itemsize
