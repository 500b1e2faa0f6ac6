"""Generated loops for fusions with reductions: loops over rows, and reductions of computed operands."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....program.ir import Block, Value
from .block_cache import BlockCache
from .native_code import KernelLaunch, LoweredKernel, NativeCode, divide_by_seconds, seconds_of

if TYPE_CHECKING:
    from ...codegen.reductions.reduction_tiling import ReductionTilePlan

def has_row_tiling(block: Block) -> bool:
    """Whether native code can be generated for a block of operations as a loop over rows."""
    return RowCode(block, None).lowered_or_none is not None


def has_reduction_tiling(block: Block) -> bool:
    """Whether native code can be generated for a block of reductions and the operations on their operands."""
    from ...codegen.reductions.reduction_tiling import plan_reduction_tiling

    return plan_reduction_tiling(block) is not None


class _SharedCode:
    """The lowered code that fusions with equal blocks share.

    Args:
        text: describes the block; different blocks have different texts.
        lowered: the result of `FusionCode.lower`.
    """

    def __init__(self, text: str, lowered: LoweredKernel | None) -> None:
        self.text = text
        self.lowered = lowered

    @functools.cached_property
    def key(self) -> str:
        from ...codegen.llvm.machine import key_of

        assert self.lowered is not None
        return key_of(f"{self.lowered.items_per_task} in a task, {self.text}")


class FusionCode(NativeCode):
    """The native code of a fusion, which fusions with equal blocks share."""

    def lower(self) -> LoweredKernel | None:
        """The code before it is compiled; None if there is none."""
        raise NotImplementedError

    @functools.cached_property
    def _shared(self) -> _SharedCode:
        """The code shared with equal blocks; their texts are only compared if their structural keys
        differ.
        """
        return _shared_code.get_or_build(self.block, self._build_shared, type(self).__name__)

    def _build_shared(self) -> _SharedCode:
        from ...codegen.description import block_description

        text = f"{type(self).__name__}\n{block_description(self.block)}"
        return _SharedCode(text, self.lower())

    @property
    def lowered_or_none(self) -> LoweredKernel | None:
        """The result of `lower`, once for all equal blocks."""
        return self._shared.lowered

    @property
    def lowered(self) -> LoweredKernel:
        """The code before it is compiled, which must exist."""
        assert self.lowered_or_none is not None
        return self.lowered_or_none

    @property
    def key(self) -> str:
        """The key of the code: steps with equal keys share it."""
        return self._shared.key

    def seconds(self) -> float:
        """The estimated seconds of one thread."""
        operands, results = self.signature()
        work = self.cost().native_seconds_per_element * results[0].size
        return seconds_of(work, (*operands, *results))


class RowCode(FusionCode):
    """The code of a fusion that is tiled by rows."""

    label = "one loop over rows"

    def lower(self) -> LoweredKernel | None:
        from ...codegen.reductions.row_tiling import NAME, plan_row_tiling

        tiling = plan_row_tiling(self.block)
        if tiling is None:
            return None
        seconds = self.seconds()
        tasks, size = divide_by_seconds(tiling.rows, seconds)

        def module() -> Any:
            from ...codegen.reductions.rows import rows_module

            return rows_module(self.block, tiling, size)

        launches = (KernelLaunch(NAME, tasks, seconds),)
        return LoweredKernel(module, size, launches, integers=(0, size, tiling.rows))


class ReductionCode(FusionCode):
    """The code of a fusion of reductions and the operations on their operands."""

    def lower(self) -> LoweredKernel:
        from ...codegen.reductions.reduction_tiling import plan_reduction_tiling

        tiling = plan_reduction_tiling(self.block)
        assert tiling is not None
        return lower_reductions(self.block, tiling, self.seconds())


def lower_reductions(
    block: Block,
    tiling: ReductionTilePlan,
    seconds: float,
    accumulate: str = "wide",
    passed: Sequence[Value] = (),
) -> LoweredKernel:
    """The code of reductions.

    Args:
        seconds: the estimated seconds of one thread.
        accumulate: see `accumulator_types`.
        passed: the captured values that are arguments of the bodies.
    """
    from ...codegen.reductions.iteration_space import accumulator_types, reductions_of
    from ...codegen.reductions.tiled_reduction import FINISH, PARTIAL, Accumulation, reductions_module

    tasks, size = divide_by_seconds(tiling.total_blocks, seconds)
    launches, scratch = [KernelLaunch(PARTIAL, tasks, seconds)], []
    if tiling.blocks > 1:
        tasks = tiling.outer * tiling.inner_blocks
        launches.append(KernelLaunch(FINISH, tasks, seconds / tiling.block_reduced))
        shape = (tiling.outer, tiling.blocks, tiling.inner)
        types = [type for one in reductions_of(block) for type in accumulator_types(one, accumulate)]
        scratch = [(shape, type.dtype) for type in types]
    accumulation = Accumulation(accumulate, passed)
    return LoweredKernel(
        lambda: reductions_module(block, tiling, size, accumulation),
        size,
        tuple(launches),
        tuple(scratch),
    )


_shared_code: BlockCache[_SharedCode] = BlockCache()
"""Lowered code, by block and the class's name."""
