"""Generated loops for fusions with reductions: loops over rows, and reductions of computed operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....program.ir import Block, Value
from ..native_code import FusionCode, LoweredLoop, TaskLaunch, divide_by_seconds

if TYPE_CHECKING:
    from .reduction_tiling import ReductionTilePlan


def has_row_tiling(block: Block) -> bool:
    """Whether native code can be generated for a block of operations as a loop over rows."""
    return RowCode(block, None).lowered_or_none is not None


def has_reduction_tiling(block: Block) -> bool:
    """Whether native code can be generated for a block of reductions and the operations on their operands."""
    from .reduction_tiling import plan_reduction_tiling

    return plan_reduction_tiling(block) is not None


class RowCode(FusionCode):
    """The code of a fusion that is tiled by rows."""

    label = "one loop over rows"
    has_vectors = True

    def lower(self) -> LoweredLoop | None:
        from .row_tiling import NAME, plan_row_tiling

        tiling = plan_row_tiling(self.block)
        if tiling is None:
            return None
        seconds = self.seconds()
        tasks, size = divide_by_seconds(tiling.rows, seconds)

        def module() -> Any:
            from .rows import rows_module

            return rows_module(self.block, tiling, size)

        launches = (TaskLaunch(NAME, tasks, seconds),)
        return LoweredLoop(module, size, launches, integers=(0, size, tiling.rows))


class ReductionCode(FusionCode):
    """The code of a fusion of reductions and the operations on their operands."""

    has_vectors = True

    def lower(self) -> LoweredLoop:
        from .reduction_tiling import plan_reduction_tiling

        tiling = plan_reduction_tiling(self.block)
        assert tiling is not None
        return lower_reductions(self.block, tiling, self.seconds())


def lower_reductions(
    block: Block,
    tiling: ReductionTilePlan,
    seconds: float,
    accumulate: str = "wide",
    passed: Sequence[Value] = (),
) -> LoweredLoop:
    """The code of reductions.

    Args:
        seconds: the estimated seconds of one thread.
        accumulate: see `accumulator_types`.
        passed: the captured values that are arguments of the bodies.
    """
    from .iteration_space import accumulator_types, reductions_of
    from .tiled_reduction import FINISH, PARTIAL, Accumulation, reductions_module

    tasks, size = divide_by_seconds(tiling.total_blocks, seconds)
    launches, scratch = [TaskLaunch(PARTIAL, tasks, seconds)], []
    if tiling.blocks > 1:
        tasks = tiling.outer * tiling.inner_blocks
        launches.append(TaskLaunch(FINISH, tasks, seconds / tiling.block_reduced))
        shape = (tiling.outer, tiling.blocks, tiling.inner)
        types = [type for one in reductions_of(block) for type in accumulator_types(one, accumulate)]
        scratch = [(shape, type.dtype) for type in types]
    accumulation = Accumulation(accumulate, passed)
    return LoweredLoop(
        lambda: reductions_module(block, tiling, size, accumulation),
        size,
        tuple(launches),
        tuple(scratch),
    )
