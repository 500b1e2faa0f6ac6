"""Which way each operation runs: its reference, or a kernel where one serves it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..ir import Block
from ..ir.record import Record
from ..ops.control.control import While
from ..ops.elementwise.base import Elementwise
from ..ops.framework.declaration import Op
from ..ops.internal.fusion import Fusion, ReductionFusion, RowFusion, StepFusion
from ..ops.numerics.quantized_operation import has_quantized_types, quantized_reference
from ..options import Options
from ..specialize.utils.rewriter import tensor_type
from .implementations.block_references import MIN_SECONDS, in_blocks
from .implementations.elementwise_fusion import (
    Code,
    block_of,
    is_generated,
    may_overwrite,
    names_of,
    run_one_by_one,
)
from .implementations.kernels import kernel_for
from .implementations.native_loops import NativeLoop, is_long, loop_to_compile
from .implementations.reduction_fusion import LoopCode, ReductionCode, RowCode
from .implementations.region_functions import RegionCode
from .implementations.region_kernels import region_code
from .implementations.run_time_types import RunTimeTyped, has_unknown_sizes
from .implementations.small_steps import StepCode, tiered_steps
from .tiering.cost_model import estimate, seconds_of_operations
from .tiering.tiers import Generated, NoCode, Tiered

if TYPE_CHECKING:
    from .implementations.ufunc_programs import RowProgram

MIN_PROGRAM_SECONDS: Final = 2e-4
"""What references must be expected to take for a program on rows, which takes half a millisecond to make."""


class Implementation(Record):
    """How an operation runs.

    Attributes:
        function: what the step calls.
        kind: ``"reference"``, ``"kernel"``, ``"generated"`` or ``"tiered"`` (reference first, one of the
            others once hot).
        reason: why.
        needs_regions: whether `function` takes the operation's regions.
    """

    function: Callable[..., Any]
    kind: str
    reason: str
    needs_regions: bool = True


def choose(view: Op, options: Options) -> Implementation:
    """The way for one operation under the given options."""
    if has_unknown_sizes(view) and not _takes_unknown_sizes(view):
        return Implementation(
            RunTimeTyped(view, reference_for), "reference", "sizes are known at run time only"
        )
    if options.compile == "never":
        return Implementation(reference_for(view), "reference", "compilation is off")
    if isinstance(view, While):
        return _loop(view, options)
    if isinstance(view, RowFusion):
        return _around_reductions(view, RowCode(view.body.block, options.threads), options)
    if isinstance(view, ReductionFusion):
        return _around_reductions(view, ReductionCode(view.body.block, options.threads), options)
    if isinstance(view, StepFusion):
        return _around_steps(view, StepCode(view.body.block, options.threads), options)
    if is_generated(view):
        return _generated(view, options)
    prepare, reason = kernel_for(view, options.threads)
    code, problem = region_code(view, options.threads, has_kernel=prepare is not None)
    if code is not None:
        choice = _around_regions(view, code, options)
        if prepare is None or choice.kind != "reference":
            return choice
    if prepare is None:
        return _reference(view, "; ".join(filter(None, (reason, problem))), options)
    if options.compile == "eager" or getattr(prepare, "is_compiled_ahead", False):
        return Implementation(prepare(), "kernel", reason, needs_regions=False)
    types = ", ".join([str(getattr(value.type, "element_type", "")) for value in view.operation.operands])
    function = Tiered(reference_for(view), prepare, f"{view.name}, {reason}: {types}")
    return Implementation(function, "tiered", f"{reason}, once hot")


def _takes_unknown_sizes(view: Op) -> bool:
    """Whether its reference works on sizes that are known at run time only."""
    from ..ops.shape.dynamic_shapes import RunTimeShaped

    return isinstance(view, RunTimeShaped)


def _loop(view: While, options: Options) -> Implementation:
    """Loops of scalar work and on small arrays become native; others keep their regions' plans."""
    loop = loop_to_compile(view, options.threads)
    if isinstance(loop, str):
        return Implementation(reference_for(view), "reference", f"no native loop: {loop}")
    kind = "a native loop" if loop.shard is None else f"a native loop in {loop.count} parts"
    at_once = options.compile == "eager" or is_long(view)
    function = NativeLoop(view, loop, options.threads, at_once)
    return (
        Implementation(function, "kernel", kind)
        if at_once
        else Implementation(function, "tiered", f"{kind}, once hot")
    )


def _reference(view: Op, reason: str, options: Options) -> Implementation:
    """The reference; where there is much work with elements its loops, or blocks of it, on all threads."""
    if isinstance(view, Elementwise) and not has_quantized_types(view.operation):
        block = block_of(view)
        seconds = seconds_of_operations(block) * tensor_type(view.operation.results[0]).size
        program = _program(block, seconds, options)
        if program is not None:
            return Implementation(program.function, "kernel", f"row by row; {reason}", needs_regions=False)
        if seconds > MIN_SECONDS:
            function = in_blocks(view, reference_for(view), options.threads)
            if function is not None:
                return Implementation(function, "kernel", f"block by block; {reason}", needs_regions=False)
    return Implementation(reference_for(view), "reference", reason)


def _generated(view: Op, options: Options) -> Implementation:
    """The way for an operation that a generated loop nest can serve."""
    block = block_of(view)
    reference = run_one_by_one(block, reference_for) if isinstance(view, Fusion) else reference_for(view)
    reason = f"one loop for {names_of(block)}"
    if options.compile == "eager":
        try:
            return Implementation(
                Code(block, options.threads).function(), "generated", reason, needs_regions=False
            )
        except NoCode as error:
            return Implementation(reference, "reference", str(error), needs_regions=False)
    code = functools.cache(lambda: Code(block, options.threads))
    return _once_it_pays(block, code, reference, may_overwrite(block), reason, options)


def _around_reductions(view: RowFusion | ReductionFusion, code: LoopCode, options: Options) -> Implementation:
    """A cluster with reductions: its operations' plan, and native code once that pays."""
    block = view.body.block
    kind = "one loop over rows" if isinstance(view, RowFusion) else "one loop"
    reason = f"{kind} for {names_of(block)}"
    if options.compile == "eager":
        return Implementation(code.function(), "generated", reason, needs_regions=False)
    return _once_it_pays(block, lambda: code, run_one_by_one(block, reference_for), (), reason, options)


def _once_it_pays(
    block: Block,
    code: Callable[[], Code | LoopCode],
    reference: Callable[..., Any],
    overwrites: tuple[tuple[int, int], ...],
    reason: str,
    options: Options,
) -> Implementation:
    """References one by one, or, of more work, as a program on rows; and the code once it pays."""
    expected = estimate(block)
    seconds, compiling = expected.reference_seconds, expected.compile_seconds
    program = _program(block, seconds, options)
    if program is None:
        function = Generated(reference, code, seconds, compiling, overwrites)
        return Implementation(function, "tiered", f"{reason}, once it pays", needs_regions=False)
    # Nothing is expected of it: it is quick enough to be timed first.
    function = Generated(program.function, code, 0.0, compiling, overwrites, program.kind)
    return Implementation(function, "tiered", f"row by row; {reason}, once it pays", needs_regions=False)


def _program(block: Block, seconds: float, options: Options) -> RowProgram | None:
    """A block's program on rows, if it has one, and references take so long that it pays."""
    if seconds <= MIN_PROGRAM_SECONDS:
        return None
    from .implementations.ufunc_programs import row_program

    return row_program(block, options.threads, seconds)


def _around_steps(view: StepFusion, code: StepCode, options: Options) -> Implementation:
    """A cluster of small steps: a plan of theirs, and one native function once that pays."""
    reason = f"one step for {names_of(view.body.block)}"
    if options.compile == "eager":
        return Implementation(code.function(), "generated", reason, needs_regions=False)
    return Implementation(tiered_steps(view, code), "tiered", f"{reason}, once it pays")


def _around_regions(view: Op, code: RegionCode, options: Options) -> Implementation:
    """An operation with regions: its reference, and loops around the regions once that pays."""
    reason = f"one loop around {names_of(view.operation.regions[0].block)}"
    if options.compile == "eager":
        problem = code.loop_problem()
        if problem is not None:
            return Implementation(reference_for(view), "reference", problem)
        return Implementation(
            code.step(code.function()), "generated", reason, needs_regions=bool(code.captured_operands)
        )
    expected = code.estimate()
    function = Generated(
        code.reference(reference_for(view)),
        functools.cache(code.checked),
        expected.reference_seconds,
        expected.compile_seconds,
        code.may_overwrite,
    )
    return Implementation(code.step(function), "tiered", f"{reason}, once it pays")


def reference_for(view: Op) -> Callable[..., Any]:
    """The quickest function that does what the reference does, on quantized tensors by their definition."""
    if has_quantized_types(view.operation) and not view.takes_stored_values:
        return quantized_reference(view)
    return view.bind()
