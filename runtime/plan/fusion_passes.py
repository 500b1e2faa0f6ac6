"""The fusion passes of a plan: they fuse the operations for which native code can be generated."""

from __future__ import annotations

import functools

from ..ir import Block, Function, Operation
from ..ops.control.control import While
from ..ops.framework.declaration import Op
from ..ops.internal.fusion import REDUCTION_FUSION, ROW_FUSION
from ..options import Options, Ordering
from ..specialize.fusion.elementwise import form_fusions
from ..specialize.fusion.reductions import form_reduction_fusions
from ..specialize.fusion.rematerialization import rematerialize
from ..specialize.fusion.rows import form_row_fusions
from ..specialize.fusion.scheduling import reduce_early
from ..specialize.fusion.small_steps import form_step_fusions
from ..specialize.rewrites.registry import split_scatter_indices
from .implementations.elementwise_operations import has_emitter, is_worth_compiling_alone
from .implementations.reduction_fusion import has_reduction_tiling, has_row_tiling

_HAS_TILING = {ROW_FUSION: has_row_tiling, REDUCTION_FUSION: has_reduction_tiling}
_DEFAULT_ORDERING = Ordering(scatter_schedule=None)


def fuse_operations(function: Function, options: Options) -> None:
    """Fuse the operations of a specialized function and of its callees, in place, if compilation is on."""
    if options.compile == "never":
        return
    has_default_ordering = options.ordering._replace(scatter_schedule=None) == _DEFAULT_ORDERING
    # Reductions are generated for the default tree and accumulation only.
    fuse_reductions = _fuse_reductions if has_default_ordering else lambda _: None
    stays_unfused = functools.partial(_is_native_loop, options)
    for each in (function, *function.callees):
        assert each.body is not None
        if has_default_ordering:
            split_scatter_indices(each.body, _has_few_updates)
        form_fusions(each.body, has_emitter, stays_unfused, fuse_reductions, is_worth_compiling_alone)
        rematerialize(each.body, has_emitter, _HAS_TILING, stays_unfused)
        if options.ordering == Ordering():
            form_step_fusions(each.body, is_small_step, stays_unfused)
        reduce_early(each.body, stays_unfused)


def _has_few_updates(view: Op) -> bool:
    from .implementations.region_loops import has_few_updates

    return has_few_updates(view)


def _fuse_reductions(block: Block) -> None:
    form_row_fusions(block, has_emitter, has_row_tiling)
    form_reduction_fusions(block, has_emitter, has_reduction_tiling)


def _is_native_loop(options: Options, operation: Operation) -> bool:
    if operation.name != While.name:
        return False
    from .implementations.native_loops import loop_to_compile

    view = While(operation)
    view.ordering = options.ordering
    return not isinstance(loop_to_compile(view, options.threads), str)


def is_small_step(operation: Operation) -> bool:
    """Whether native code on small arrays can be generated for an operation of a step fusion."""
    from ..codegen.arrays import check_step

    return check_step(operation) is None
