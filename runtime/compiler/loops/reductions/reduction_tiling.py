"""Tiling of reductions fused with the elementwise operations before them and on their results.

The iteration space of such a fusion is (outer, reduced, inner); its reduced dimensions are adjacent. A block
is a subtree of the tree of adjacent pairs along the reduced dimensions: it computes a partial result for each
inner index, and a second task reduces the partial results. Operations on results of reductions are computed
where these are finished.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Block, Operation, Value
from ....program.ir.affine import row_major_strides
from ....program.ops.framework.declaration import declaration_of
from ..element_costs import cost_of
from .iteration_space import (
    IndexMap,
    IterationSpace,
    check_reduction,
    collapsed_stride,
    needs_no_constant_array,
    reduced_dimensions,
    reductions_of,
    shape_of,
    strides_of,
)

MIN_BLOCK_ELEMENTS = 1 << 14
"""Elements of a block, at least; blocks grow with the iteration space."""
MAX_BLOCK_ELEMENTS = 1 << 17
"""Elements of a block, at most. A quarter and four times as many change times by at most 3 % (Zen 4)."""
TARGET_BLOCKS = 1 << 5
"""Blocks of an iteration space, unless they would have fewer or more elements: enough to keep many threads
busy. Four times as many take up to 4 % longer on two threads (Zen 4)."""
ROW_BLOCK = 1 << 11
"""Reduced extent of a block without inner dimensions. Four times as much, which exceeds the L1 cache, takes
up to 1.3 times as long; a quarter takes as long (Zen 4)."""
MAX_INNER_BLOCK = 1 << 10
"""Inner extent of a block, at most: a quarter and four times as much take up to 6 % longer (Zen 4)."""
MIN_INNER = 16
"""A smaller inner extent does not fill a vector."""


MAX_INTERLEAVED_ROWS = 8
"""Rows whose computation is interleaved, if an element costs little."""
_MAX_INTERLEAVED_COST = 64
"""Cost (`cost_of`) of a column of all interleaved rows, at most."""


def interleaved_rows(cost: int) -> int:
    """The number of rows to interleave, a power of two, if an element has that cost (`cost_of`)."""
    max_rows = max(1, _MAX_INTERLEAVED_COST // max(cost, 1))
    return min(MAX_INTERLEAVED_ROWS, 1 << (max_rows.bit_length() - 1))


class Strides(NamedTuple):
    """The strides of a value along the three collapsed dimensions, in elements."""

    outer: int
    reduced: int
    inner: int


class Runs(NamedTuple):
    """Where the values of a reduction lie if dimensions that are kept stand between reduced ones.

    Attributes:
        outer: size and stride of each dimension that is kept, but for the last one if that is contiguous.
        reduced: size and stride of each reduced dimension. The last one may be contiguous: a run of values.
        inner: size of the last dimension if it is kept, else 1.
    """

    outer: tuple[tuple[int, int], ...]
    reduced: tuple[tuple[int, int], ...]
    inner: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes of the iteration space."""
        outer, reduced = (math.prod([size for size, _ in dims]) for dims in (self.outer, self.reduced))
        return outer, reduced, self.inner


class ReductionTilePlan(NamedTuple):
    """How a fusion with reductions is tiled.

    Attributes:
        shape: of the iteration space.
        first, last: the dimensions [first, last) are reduced.
        index_maps: of each value.
        runs: where arguments lie that have the shape of the space; None: as that shape says.
    """

    shape: tuple[int, ...]
    first: int
    last: int
    index_maps: dict[Value, IndexMap]
    runs: Runs | None = None

    @property
    def outer(self) -> int:
        return math.prod(self.shape[: self.first])

    @property
    def reduced(self) -> int:
        return math.prod(self.shape[self.first : self.last])

    @property
    def inner(self) -> int:
        return math.prod(self.shape[self.last :])

    @property
    def block_inner(self) -> int:
        """Inner extent of a block."""
        return min(self.inner, MAX_INNER_BLOCK)

    @property
    def block_reduced(self) -> int:
        """Reduced extent of a block: a power of two."""
        if self.inner == 1:
            return ROW_BLOCK
        share = math.prod(self.shape) // TARGET_BLOCKS
        elements = min(max(share, MIN_BLOCK_ELEMENTS), MAX_BLOCK_ELEMENTS)
        return 1 << ((elements // self.block_inner).bit_length() - 1)

    @property
    def blocks(self) -> int:
        """Blocks along the reduced dimensions."""
        return -(-self.reduced // self.block_reduced)

    @property
    def inner_blocks(self) -> int:
        return -(-self.inner // self.block_inner)

    @property
    def total_blocks(self) -> int:
        return self.outer * self.blocks * self.inner_blocks

    def interleaved_rows(self, block: Block) -> int:
        """The number of interleaved rows along the inner dimensions: a power of two."""
        computed = self.reduced_operations(block)
        bodies = [operation.regions[0].block.operations[:-1] for operation in reductions_of(block)]
        cost = sum(cost_of(operation) for operations in (computed, *bodies) for operation in operations)
        return min(self.block_reduced, interleaved_rows(cost))

    def reduced_operations(self, block: Block) -> list[Operation]:
        """The operations of a block that are computed along the reduced dimensions."""
        return [
            operation for operation in block.operations[:-1] if not self.is_unreduced(operation.results[0])
        ]

    def is_unreduced(self, value: Value) -> bool:
        """Whether a value has no reduced dimension, so that it is computed where reductions are finished."""
        return all(axis is None or not self.first <= axis < self.last for axis in self.index_maps[value])

    def has_runs(self, value: Value) -> bool:
        """Whether a value lies in runs."""
        return self.runs is not None and not self.is_unreduced(value)

    def strides(self, value: Value) -> Strides | None:
        """The strides of a value; None if a collapsed dimension has no single stride."""
        strides = strides_of(value, self.index_maps[value], len(self.shape))
        first, last = self.first, self.last
        outer = collapsed_stride(self.shape[:first], strides[:first])
        reduced = collapsed_stride(self.shape[first:last], strides[first:last])
        inner = collapsed_stride(self.shape[last:], strides[last:])
        if outer is None or reduced is None or inner is None:
            return None
        return Strides(outer, reduced, inner)


def plan_reduction_tiling(block: Block) -> ReductionTilePlan | None:
    """Plan the tiling of a fusion's block; None if it cannot be tiled.

    Args:
        block: elementwise operations, broadcasts, constants and reductions; it ends with its results, which
            have the shape of the reductions' operands, or are those of the reductions or computed from them.
    """
    reductions = reductions_of(block)
    space = reduced_dimensions(reductions)
    if space is None or any(check_reduction(operation) for operation in reductions):
        return None
    shape, first, last = space
    finished = _finished(block)
    if any(not finished.isdisjoint(operation.operands) for operation in reductions):
        return None
    unreduced_dims = [d for d in range(len(shape)) if not first <= d < last]
    index_maps = IterationSpace(shape, unreduced_dims).of(block)
    if index_maps is None or not all(map(needs_no_constant_array, block.operations)):
        return None
    plan = ReductionTilePlan(shape, first, last, index_maps)
    if (plan.inner != 1 and plan.inner < MIN_INNER) or not all(map(plan.is_unreduced, finished)):
        return None
    have_shape = all(value in finished or shape_of(value) == shape for value in block.terminator.operands)
    if not have_shape or any(plan.strides(argument) is None for argument in block.arguments):
        return None
    return plan


def _finished(block: Block) -> set[Value]:
    """The results of a block's reductions, and all values that are computed from them."""
    finished = set[Value]()
    for operation in block.operations[:-1]:
        if declaration_of(operation).reduces or not finished.isdisjoint(operation.operands):
            finished.update(operation.results)
    return finished


def region_reduction_tiling(
    block: Block, sizes: tuple[int, int, int], runs: Runs | None
) -> ReductionTilePlan:
    """The tiling of one reduction of arguments of shape `sizes`, [outer, reduced, inner].

    Args:
        runs: see `ReductionTilePlan`.
    """
    index_maps = IterationSpace(sizes, (0, 2)).of(block)
    assert index_maps is not None
    return ReductionTilePlan(sizes, 1, 2, index_maps, runs)


def runs_of(shape: tuple[int, ...], dimensions: Sequence[int]) -> Runs | None:
    """Where the values of an array lie whose `dimensions` are reduced, one of them behind one that is kept.

    None if the last dimension is kept and too small for vectors.
    """
    kept, reduced = list[tuple[int, int]](), list[tuple[int, int]]()
    for d, (size, stride) in enumerate(zip(shape, row_major_strides(shape), strict=True)):
        dims = reduced if d in dimensions else kept
        if dims and dims[-1][1] == size * stride:
            dims[-1] = (dims[-1][0] * size, stride)
        elif size != 1:
            dims.append((size, stride))
    inner = 1 if reduced[-1][1] == 1 else kept.pop()[0]
    return Runs(tuple(kept), tuple(reduced), inner) if inner == 1 or inner >= MIN_INNER else None
