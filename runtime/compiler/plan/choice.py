"""Chooses the implementation of each operation: its reference, NumPy, a kernel, or generated code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...options import Options
from ...program.ir import Block, Operation, tensor_type
from ...program.ops.control.control import While
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.op_registry import COMMUNICATING
from ...program.ops.intermediate.fusion import Fusion, ReductionFusion, RowFusion, StepFusion
from ...program.ops.numerics.quantized_operation import has_quantized_types, on_stored_values
from ..cost_model import MIN_PROGRAM_SECONDS, seconds_of_operations
from ..fusion.movement_index_map import is_movement_op
from ..implementation import (
    UNCOMPILED,
    Implementation,
    ImplementationKind,
    NoCode,
    OverwritePairs,
    Prepared,
)
from ..loops.native_code import NativeCode, has_small_arrays
from ..loops.nests.nest_code import NestCode
from ..loops.nests.nest_operations import block_of, runs_as_loop_nest
from ..loops.reductions.reduction_code import ReductionCode, RowCode
from .implementations.block_baseline import EXACT_UFUNCS, block_baseline
from .implementations.kernel import KernelMatch
from .implementations.kernels import kernel_for
from .implementations.launched_kernel import LaunchedKernel
from .implementations.run_time_types import RunTimeTyped, has_unknown_sizes
from .tiering.tiers import Tiering

if TYPE_CHECKING:
    from ..loops.regions.region_code import RegionCode
    from .implementations.native_loops import LoopToCompile


def choose(view: Op, options: Options, native_loop: LoopToCompile | str | None = None) -> Implementation:
    """The implementation of one operation under the given options.

    Args:
        native_loop: what is compiled of a `while`, or why nothing is, if that has been decided.
    """
    if view.name in COMMUNICATING:
        from ...program.ops.collectives.base import CommunicatingOp
        from .implementations.communication import Communication

        assert isinstance(view, CommunicatingOp)
        return Communication(view)
    if has_unknown_sizes(view) and not _takes_unknown_sizes(view):
        return _run_time_typed(view, options)
    if options.reference:
        return Prepared(reference_for(view), reason="the specification's text")
    if options.compile == "never":
        return _numpy(view, "compilation is off", options)
    if isinstance(view, While):
        return _loop(view, options, native_loop)
    if isinstance(view, StepFusion):
        from ..loops.step_code import StepCode

        return _compiled(StepCode(view.body.block, options.threads), Prepared(view.reference), options)
    code, kernel = candidates(view, options.threads)
    if isinstance(code, str) or view.region_loop:
        return _kernel_or_region_loop(view, cast("RegionCode | str", code), kernel, options)
    is_fusion = isinstance(view, (Fusion, RowFusion, ReductionFusion))
    baseline = block_baseline(code.block, numpy_for) if is_fusion else _numpy(view, "", options)
    return _generated(code, baseline, options)


def candidates(view: Op, threads: int | None) -> tuple[NativeCode | str, KernelMatch]:
    """The generated code and the kernel that may run an operation, or for each why there is none.

    Where there is code, it is better than the kernel: a loop for a fusion or for an operation on elements, or
    a loop around the operation's regions (`region_loop_code`). No kernel is looked for beside the first two.

    Args:
        view: the operation; its sizes are known.
        threads: maximum number of threads; None: all.
    """
    if isinstance(view, RowFusion):
        return RowCode(view.body.block, threads), ""
    if isinstance(view, ReductionFusion):
        return ReductionCode(view.body.block, threads), ""
    if runs_as_loop_nest(view):
        return NestCode(block_of(view), threads), ""
    kernel = kernel_for(view, threads)
    has_kernel = not isinstance(kernel, str)
    if not view.operation.regions or (has_kernel and not has_small_arrays(view.operation)):
        return "", kernel
    from ..loops.regions.region_code import region_loop_code

    return region_loop_code(view, threads, has_kernel), kernel


def _kernel_or_region_loop(
    view: Op, code: RegionCode | str, kernel: KernelMatch, options: Options
) -> Implementation:
    """What runs an operation that is neither a fusion nor a loop nest, given its candidates.

    The generated loop around its regions, if there is one. Only if that turns out not to be possible when it
    is generated, and there is a kernel, the kernel. Without a loop, the kernel:

    - if its first call compiles nothing, from the start, or NumPy if it cannot be prepared;
    - with ``compile="eager"``, compiled by the first call;
    - else, once compiling it pays; until it is there, a generated loop on any number of elements.

    With neither, NumPy, or the ufunc program of an elementwise operation, with the reasons of both.
    """
    if not isinstance(code, str):
        implementation = _region_loop(view, code, options)
        if isinstance(kernel, str) or implementation.kind not in UNCOMPILED:
            return implementation
    elif isinstance(kernel, str):
        return _elementwise(view, f"{kernel}; {code}" if code else kernel, options)
    if not kernel.compiles_when_called:
        try:
            return _prepared(kernel)
        except NoCode as error:
            return _numpy(view, str(error), options)
    if options.compile == "eager":
        return _compiled(kernel, _numpy(view, "", options), options)
    types = ", ".join([str(tensor_type(value).element_type) for value in view.operation.operands])
    key = f"{view.name}, {kernel.reason}: {types}"
    return Tiering(_before_kernel(view, options), kernel, f"{kernel.reason}, after warm-up", key)


def _before_kernel(view: Op, options: Options) -> Implementation:
    """What runs until Numba has compiled a kernel, which takes seconds: a generated loop around the regions
    once that pays, which LLVM compiles in some 20 ms, or NumPy where there is none."""
    code, baseline = _code_before_kernel(view, options), _numpy(view, "", options)
    return baseline if isinstance(code, str) else _compiled(code, baseline, options)


def _code_before_kernel(view: Op, options: Options) -> RegionCode | str:
    """The generated loop that may run until Numba has compiled a kernel; or why there is none."""
    from ..loops.regions.region_code import region_loop_code

    return region_loop_code(view, options.threads, has_kernel=True, precedes_kernel=True)


def _takes_unknown_sizes(view: Op) -> bool:
    """Whether an operation's functions accept sizes that are unknown before the run."""
    from ...program.ops.shape.run_time_sizes import RunTimeShaped

    return isinstance(view, RunTimeShaped)


def _run_time_typed(view: Op, options: Options) -> Prepared:
    """The operation's function, which is bound to the sizes of the operands at each call."""
    reason = "sizes are known at run time only"
    if options.reference:
        return Prepared(RunTimeTyped(view, reference_for), reason=reason)
    bind = functools.partial(numpy_for, threads=_numpy_threads(options))
    return Prepared(RunTimeTyped(view, bind), ImplementationKind.NUMPY, reason)


def _numpy_threads(options: Options) -> int | None:
    """The maximum number of threads of NumPy implementations; None: all. Where nothing is compiled it is one,
    as for references."""
    return 1 if options.compile == "never" else options.threads


def _numpy(view: Op, reason: str, options: Options) -> Prepared:
    """The operation's NumPy implementation; its reference if it has no other."""
    function = numpy_for(view, _numpy_threads(options))
    pairs: OverwritePairs = ()
    if isinstance(function, np.ufunc):
        if function in EXACT_UFUNCS:
            pairs = tuple([(index, 0) for index in range(len(view.operation.operands))])
    elif not has_quantized_types(view.operation):
        pairs = view.may_overwrite()
    called = function.func if isinstance(function, functools.partial) else function
    kind = ImplementationKind.REFERENCE if called == view.reference else ImplementationKind.NUMPY
    return Prepared(function, kind, reason, may_overwrite=pairs)


def _prepared(code: Implementation) -> Prepared:
    """A kernel or generated code, prepared.

    Raises:
        NoCode: it cannot be prepared.
    """
    return Prepared(
        code.prepare(),
        code.kind,
        code.reason,
        code.takes_regions,
        code.may_overwrite,
        code.may_alias,
        compiles_when_called=code.compiles_when_called,
        code=code,
    )


def _loop(view: While, options: Options, loop: LoopToCompile | str | None) -> Implementation:
    """A native loop for scalars and small arrays; the executor runs the regions of other loops as plans."""
    from .implementations.native_loops import NativeLoop, is_long, loop_to_compile

    if loop is None:
        loop = loop_to_compile(view, options.threads, may_launch)
    if isinstance(loop, str):
        return _numpy(view, f"no native loop: {loop}", options)
    is_eager = options.compile == "eager"
    if is_eager:
        _compile_here()
    is_native_at_once = is_eager or is_long(view, loop)
    implementation_of = functools.partial(launched_implementation, options=options)
    return NativeLoop(view, loop, options.threads, is_native_at_once, is_eager, implementation_of)


def may_launch(operation: Operation) -> bool:
    """Whether a native loop can call code for an operation: no code that takes regions, which are plans."""
    view = Op.of(operation)
    if view.name in COMMUNICATING or has_unknown_sizes(view) or has_quantized_types(operation):
        return False
    return not operation.regions or any(not isinstance(one, str) for one in _launched(view, None))


def launched_implementation(operation: Operation, options: Options) -> Implementation:
    """The implementation that a native loop calls for an operation which it may launch.

    Generated code is called without Python, others as their steps call them.
    """
    view = Op.of(operation)
    code, kernel = _launched(view, options.threads)
    if not isinstance(code, str):
        return code
    if isinstance(kernel, str) or not operation.regions:
        return choose(view, options)
    if options.compile == "eager" or not kernel.compiles_when_called:
        return kernel
    code = _code_before_kernel(view, options)
    return kernel if isinstance(code, str) or not code.has_code else LaunchedKernel(code, kernel)


def _launched(view: Op, threads: int | None) -> tuple[NativeCode | str, KernelMatch]:
    """The candidates that a native loop can call: code that is certain to be possible.

    A move is code too, where a step may return a view.
    """
    is_move = is_movement_op(view.operation)
    code, kernel = (NestCode(block_of(view), threads), "") if is_move else candidates(view, threads)
    return code if isinstance(code, str) or code.has_code else "", kernel


def _elementwise(view: Op, reason: str, options: Options) -> Implementation:
    """NumPy, or the ufunc program of an elementwise operation on many elements."""
    if isinstance(view, Elementwise) and not has_quantized_types(view.operation):
        block = block_of(view)
        seconds = seconds_of_operations(block) * tensor_type(view.operation.results[0]).size
        program = _ufunc_program(block, seconds, f"row by row; {reason}", options)
        if program is not None:
            return program
    return _numpy(view, reason, options)


def _region_loop(view: Op, code: RegionCode, options: Options) -> Implementation:
    """A generated loop around the operation's regions, which replaces NumPy once compiling pays."""
    baseline = _numpy(view, "", options)
    if options.compile != "eager":
        function = code.baseline_on_captures(baseline.function)
        baseline = Prepared(function, baseline.kind, may_overwrite=baseline.may_overwrite)
    return code.with_captured_arguments(_compiled(code, baseline, options))


def _generated(code: NativeCode, baseline: Prepared, options: Options) -> Implementation:
    """Generated code, which replaces NumPy, or for much work a ufunc program, once compiling pays."""
    if options.compile != "eager":
        seconds = code.cost().baseline_seconds
        reason = f"row by row; {code.reason}"
        baseline = _ufunc_program(code.block, seconds, reason, options) or baseline
    return _compiled(code, baseline, options)


def _compiled(code: Implementation, baseline: Prepared, options: Options) -> Implementation:
    """Code or a kernel that replaces the baseline once compiling pays; the baseline if there is none."""
    if options.compile != "eager":
        reason = f"{baseline.reason or code.reason}, after warm-up"
        return Tiering(baseline, code, reason, baseline.key)
    _compile_here()
    try:
        return _prepared(code)
    except NoCode as error:
        baseline.reason = str(error)
        return baseline


def _compile_here() -> None:
    """Let this process compile: it waits for all code of the program, for which no other need start."""
    from ..loops.llvm.machine import compile_here

    compile_here()


def _ufunc_program(block: Block, seconds: float, reason: str, options: Options) -> Prepared | None:
    """A block's ufunc program; None if it has none, or if NumPy takes too little time."""
    if seconds <= MIN_PROGRAM_SECONDS:
        return None
    from .implementations.ufunc_programs import ufunc_program_of

    program = ufunc_program_of(block, options.threads, seconds)
    if program is None:
        return None
    return Prepared(
        program.function, program.kind, reason, False, program.may_overwrite, may_alias=False, key=program.key
    )


def numpy_for(view: Op, threads: int | None = 1) -> Callable[..., Any]:
    """An operation's NumPy implementation on at most `threads` threads (None: all); for quantized tensors,
    within the specification's rule."""
    if has_quantized_types(view.operation) and not view.takes_stored_values:
        return on_stored_values(view, lambda expressed: expressed.on_threads(threads))
    return view.on_threads(threads)


def reference_for(view: Op) -> Callable[..., Any]:
    """An operation's reference; for quantized tensors, within the specification's rule."""
    if has_quantized_types(view.operation) and not view.takes_stored_values:
        return on_stored_values(view, lambda expressed: expressed.reference)
    return view.reference
