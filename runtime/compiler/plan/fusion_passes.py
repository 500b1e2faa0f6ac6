"""The fusion passes of a plan: they fuse the operations for which native code can be generated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...options import Options, Ordering
from ...program.ir import Block, Function, Operation
from ...program.ops.control.control import While
from ...program.ops.elementwise.base import is_elementwise
from ...program.ops.framework.declaration import Op
from ...program.ops.intermediate.fusion import REDUCTION_FUSION, ROW_FUSION
from .. import passes
from ..fusion import rematerialization, scheduling
from ..fusion.elementwise import MIN_SMALL_OPERATIONS, form_fusions, fusible_blocks
from ..fusion.operation_kinds import OperationKinds
from ..fusion.reductions import form_reduction_fusions, note_unfused_reductions
from ..fusion.rows import form_row_fusions
from ..fusion.small_steps import form_step_fusions
from ..loops.native_code import has_small_arrays
from ..loops.nests.nest_operations import has_emitter, is_worth_compiling_alone
from ..loops.reductions.reduction_code import has_reduction_tiling, has_row_tiling
from ..specialize.framework.cleanup import remove_dead_code
from ..specialize.framework.operation_classes import is_control_flow
from ..specialize.rewrites import registry
from .choice import may_launch
from .implementations.run_time_types import has_unknown_sizes

if TYPE_CHECKING:
    from ..fusion.refusals import Refusals
    from .implementations.native_loops import DecidedLoop

_HAS_TILING = {ROW_FUSION: has_row_tiling, REDUCTION_FUSION: has_reduction_tiling}
_DEFAULT_ORDERING = Ordering(scatter_schedule=None)

_MIN_EXPECTING_OPERATIONS = 100
"""Minimum operations of a function for which other processes start before it is lowered, unless it repeats
some. Lowering so many takes as long as such a process takes to start, 0.1 s. The first call of a shorter one
needs no code, and takes a tenth of its time to start a process (Zen 4, programs of `benchmarks`)."""


class Fusing:
    """What the fusion passes share.

    Attributes:
        function: the specialized function, whose operations and those of its callees are fused in place.
        options: those of the program.
        refusals: where passes note why operations are not fused; None: nobody asks.
        kinds: those of the function's operations.
        has_emitter: whether native code can be generated for an elementwise operation.
        native_loops: the loops that become native code and keep their regions as they are, and what is
            compiled of each.
    """

    def __init__(self, function: Function, options: Options, refusals: Refusals | None = None) -> None:
        self.function = function
        self.options = options
        self.refusals = refusals
        self.kinds = OperationKinds()
        self.has_emitter = self.kinds.by_kind(has_emitter)
        self.native_loops: dict[Operation, DecidedLoop] = {}
        self._stay_unfused: dict[Operation, bool] = {}

    @property
    def has_default_ordering(self) -> bool:
        """Whether reductions are evaluated by the default tree: code for no other is generated."""
        return self.options.ordering._replace(scatter_schedule=None) == _DEFAULT_ORDERING

    @functools.cached_property
    def blocks(self) -> list[Block]:
        """The blocks that have enough work for fusions, before the first one is formed."""
        blocks = [
            block
            for body in self.function.bodies
            for block in fusible_blocks(body, self.stays_unfused, is_worth_compiling_alone)
        ]
        if blocks and not self._is_short:
            _expect_code(self.options)
        return blocks

    @property
    def _is_short(self) -> bool:
        """Whether the function has few operations, each of which a call runs once."""
        body = self.function.body
        assert body is not None
        operations = body.block.operations
        runs_once = not self.function.callees and not any(map(is_control_flow, operations))
        return runs_once and len(operations) < _MIN_EXPECTING_OPERATIONS

    def remove_dead_code(self) -> None:
        """Remove what fusions compute now, in place."""
        for body in self.function.bodies:
            remove_dead_code(body)

    def stays_unfused(self, operation: Operation) -> bool:
        """Whether a control flow operation keeps its regions as they are, for a native loop.

        The first answer holds for all passes.
        """
        cached = self._stay_unfused.get(operation)
        if cached is None:
            cached = self._stay_unfused[operation] = self._decide_native_loop(operation, None)
        return cached

    def becomes_native_loop(self, operation: Operation) -> bool:
        """Whether a control flow operation becomes a native loop, which may launch fused operations.

        From then on that is decided.
        """
        return operation in self.native_loops or self._decide_native_loop(operation, may_launch)

    def _decide_native_loop(
        self, operation: Operation, launches: Callable[[Operation], bool] | None
    ) -> bool:
        """Note what is compiled of a loop if it becomes a native one; returns whether it does.

        Args:
            operation: a control flow operation.
            launches: which operations the loop launches; None: none.
        """
        if operation.name != While.name:
            return False
        from .implementations.native_loops import DecidedLoop, loop_to_compile

        view = While(operation)
        view.ordering = self.options.ordering
        loop = loop_to_compile(view, self.options.threads, launches)
        if isinstance(loop, str):
            return False
        self.native_loops[operation] = DecidedLoop(operation, loop)
        _expect_code(self.options)
        return True


def _expect_code(options: Options) -> None:
    """Prepare for code to be compiled: calls will soon wait for that, unless all is compiled before them."""
    if options.compile == "auto":
        from ..loops.llvm.expected_code import expect_code

        expect_code()


def fuses(options: Options) -> bool:
    """Whether operations are fused: fusions run faster only as compiled code."""
    return options.compile != "never"


def fuse_operations(
    function: Function,
    options: Options,
    observe: passes.Observe | None = None,
    refusals: Refusals | None = None,
) -> Mapping[Operation, DecidedLoop]:
    """Fuse the operations of a specialized function and of its callees, in place, if compilation is on.

    Args:
        observe: is told each pass that has run.
        refusals: where it is noted why operations are not fused.

    Returns:
        The loops that become native code, as far as a pass has decided, and what is compiled of each.
    """
    state = Fusing(function, options, refusals)
    if fuses(options):
        passes.run("fuse", state, options.last_pass, observe)
    return state.native_loops


def with_all_loops(
    function: Function, native_loops: Mapping[Operation, DecidedLoop], options: Options
) -> Mapping[Operation, DecidedLoop]:
    """What is compiled of all loops: what passes have decided, and what lowering would decide on the others.

    Args:
        function: the fused function.
        native_loops: what `fuse_operations` returned for it.
        options: those of the program.
    """
    loops = [each for body in function.bodies for each in body.walk() if each.name == While.name]
    if not loops or not fuses(options):
        return native_loops
    from .implementations.native_loops import DecidedLoop, RefusedLoop, loop_to_compile

    decided = dict(native_loops)
    for operation in loops:
        view = While(operation)
        view.ordering = options.ordering
        earlier = decided.get(operation)
        if has_unknown_sizes(view) or (earlier is not None and earlier.loop_of(operation) is not None):
            continue
        loop = loop_to_compile(view, options.threads, may_launch)
        decided[operation] = DecidedLoop(operation, RefusedLoop(loop) if isinstance(loop, str) else loop)
    return decided


def update_late(state: Fusing) -> None:
    """Move updates of arrays to where nothing else reads the arrays as they were."""
    for body in state.function.bodies:
        scheduling.update_late(body)


def split_scatter_indices(state: Fusing) -> None:
    """Make scatters read the components of their index vectors."""
    if state.has_default_ordering:
        for body in state.function.bodies:
            registry.split_scatter_indices(body, _is_small_scatter)


def combine_pairs(state: Fusing) -> None:
    """Combine pairs along the last dimensions before reductions over others; a few of them elementwise."""
    if state.has_default_ordering:
        for body in state.function.bodies:
            registry.combine_pairs_first(body)


def fuse_rows(state: Fusing) -> None:
    """Form the fusions of reductions of rows and the operations on these.

    Calls that are not to stay are inlined before the other passes, which fuse over their boundaries.
    """
    if state.has_default_ordering:
        for block in state.blocks:
            form_row_fusions(block, state.has_emitter, has_row_tiling, state.refusals, state.kinds)
        state.remove_dead_code()
    if state.function.callees:
        from ..specialize.outlining.fused_calls import inline_fused_calls

        inlined = inline_fused_calls(state.function)
        state.blocks = [block for block in state.blocks if block not in inlined]


def fuse_reductions(state: Fusing) -> None:
    """Form the fusions of other reductions and the operations on their operands."""
    if state.has_default_ordering:
        for block in state.blocks:
            form_reduction_fusions(block, state.has_emitter, has_reduction_tiling, state.refusals)
    if state.refusals is not None:
        _, tree, accumulate = state.options.ordering
        ordering = f"reduction_tree={tree!r}, accumulate={accumulate!r}"
        reason = "" if state.has_default_ordering else f"no fused loop reduces with {ordering}"
        for block in state.blocks:
            note_unfused_reductions(block, state.refusals, reason)
    if state.has_default_ordering:
        state.remove_dead_code()


def fuse_elementwise(state: Fusing) -> None:
    """Form the fusions of elementwise operations, moves and gathers."""
    if state.refusals is not None:
        _note_little_work(state, state.refusals)
    for block in state.blocks:
        form_fusions(block, state.has_emitter, is_worth_compiling_alone, state.refusals, state.kinds)
    state.remove_dead_code()


def _note_little_work(state: Fusing, refusals: Refusals) -> None:
    """Note for the blocks that have too little work for any fusion that this is so."""
    from ..fusion.refusals import Gate, Refusal

    reason = f"the block has at most {MIN_SMALL_OPERATIONS} operations, all on few elements"
    for body in state.function.bodies:
        for block in fusible_blocks(body, state.stays_unfused, lambda _: True):
            if block not in state.blocks:
                computing = filter(is_elementwise, block.operations)
                refusals.note_around(block, computing, Refusal(Gate.WORK, reason))


def rematerialize(state: Fusing) -> None:
    """Compute cheap values again where keeping them raises the peak of memory."""
    for body in state.function.bodies:
        rematerialization.rematerialize(body, has_emitter, _HAS_TILING, state.stays_unfused)
    state.kinds.forget()


def fuse_small_steps(state: Fusing) -> None:
    """Form the fusions of operations on few elements."""
    if state.options.ordering == Ordering():
        for body in state.function.bodies:
            form_step_fusions(body, is_small_step, state.becomes_native_loop, state.refusals, state.kinds)


def reduce_early(state: Fusing) -> None:
    """Move reductions to where their operands have been computed."""
    for body in state.function.bodies:
        scheduling.reduce_early(body, state.stays_unfused)


def _is_small_scatter(view: Op) -> bool:
    if not has_small_arrays(view.operation):
        return False
    from ..loops.regions.scatter_code import is_small_scatter

    return is_small_scatter(view)


def is_small_step(operation: Operation) -> bool:
    """Whether native code on small arrays can be generated for an operation of a step fusion."""
    from ..loops.arrays import check_step

    return check_step(operation) is None
