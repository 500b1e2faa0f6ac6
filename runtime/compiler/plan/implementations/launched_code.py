"""The code by which native loops compute operations that they launch."""

from __future__ import annotations

from ....program.ir import Operation
from ....program.ops.framework.declaration import Op
from ....program.ops.framework.op_registry import COMMUNICATING
from ....program.ops.intermediate.fusion import ReductionFusion, RowFusion
from ....program.ops.numerics.quantized_operation import has_quantized_types
from ...fusion.movement_index_map import is_movement_op
from ...loops.native_code import NativeCode
from ...loops.nests.nest_code import NestCode
from ...loops.nests.nest_operations import block_of, runs_as_loop_nest
from ...loops.reductions.reduction_code import ReductionCode, RowCode
from .kernels import kernel_for
from .run_time_types import has_unknown_sizes


def may_launch(operation: Operation) -> bool:
    """Whether a native loop can call code for an operation: no code that takes regions, which are plans."""
    view = Op.of(operation)
    if view.name in COMMUNICATING or has_unknown_sizes(view) or has_quantized_types(operation):
        return False
    if not operation.regions or generated_code(view, None) is not None:
        return True
    return not isinstance(kernel_for(view, None), str)


def generated_code(view: Op, threads: int | None) -> NativeCode | None:
    """The generated code of an operation whose regions capture nothing; None if there is none."""
    if isinstance(view, RowFusion):
        return RowCode(view.body.block, threads)
    if isinstance(view, ReductionFusion):
        return ReductionCode(view.body.block, threads)
    if runs_as_loop_nest(view) or is_movement_op(view.operation):
        nests = NestCode(block_of(view), threads)
        return nests if nests.has_code else None
    if not view.operation.regions:
        return None
    from ...loops.regions.region_code import region_loop_code

    code = region_loop_code(view, threads, has_kernel=not isinstance(kernel_for(view, threads), str))
    return None if isinstance(code, str) or code.check_loop() is not None else code
