"""Ufunc programs, which run NumPy's inner loops over blocks of rows, on all threads.

They serve fusions until native code is compiled, and elementwise operations that have no native code. The
operations' NumPy implementations call the same loops, so the bits are equal. Intermediate values stay in the
cache, and nothing is compiled.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ....kernels.launch import ufunc_program
from ....kernels.launch.native import Launch, NativeFunction
from ....kernels.launch.threads import division
from ....program.ir import Block, tensor_type
from ....program.ir.structural_key import structural_key
from ....program.ops.elementwise.base import is_elementwise
from ....program.ops.framework.costs import NumPyWork
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.memory_limit import bytes_of
from ...cost_model import BYTES_PER_SECOND
from ...implementation import ImplementationKind, Prepared
from ...loops.block_cache import BlockCache
from ...loops.reductions.iteration_space import IterationSpace, reductions_of, shape_of
from ...loops.reductions.row_tiling import RowTilePlan, plan_row_tiling
from .ufunc_recorder import MAX_OPERANDS, UfuncProgramRecorder, UfuncValue
from .ufunc_traces import Untraceable

COLUMNS_PER_PASS: Final = 1024
"""Columns of a block in programs without reductions."""

MIN_COLUMNS: Final = 64
"""Columns below which calling a loop of NumPy takes longer than the loop."""

_PROGRAM_TIME_FRACTION = 0.3
"""The time of a program on one thread, as a fraction of the baseline's time on whole arrays."""

_ALIGNMENT = 64


def ufunc_program_of(block: Block, threads: int | None, baseline_seconds: float) -> Prepared | None:
    """The program of a fusion, or None if it has none; equal fusions have equal keys.

    Args:
        block: the body of the fusion.
        threads: maximum number of threads; None: all.
        baseline_seconds: time of the NumPy implementations on whole arrays, in seconds.
    """
    seconds = baseline_seconds * _PROGRAM_TIME_FRACTION
    return _program_cache.get_or_build(block, lambda: _prepared(block, threads, seconds), threads)


_program_cache: BlockCache[Prepared | None] = BlockCache()
"""Ufunc programs, by block and threads."""


def _prepared(block: Block, threads: int | None, seconds: float) -> Prepared | None:
    recording = recorded_program(block)
    if recording is None:
        return None
    recorder, columns_per_pass = recording
    function = _function(block, recorder, columns_per_pass, threads, seconds)
    pairs, key = recorder.overwrites(), structural_key(block)[0]
    return Prepared(function, ImplementationKind.UFUNC_PROGRAM, may_overwrite=pairs, key=key)


def _function(
    block: Block, recorder: UfuncProgramRecorder, columns_per_pass: int, threads: int | None, seconds: float
) -> NativeFunction:
    results = block.terminator.operands
    count = len(block.arguments) + len(results)
    tiling = recorder.tiling
    work_items = tiling.rows * -(-tiling.columns // columns_per_pass)
    tasks, work_items_per_task = division(work_items, seconds / work_items * BYTES_PER_SECOND)
    accesses = tuple([(number if number < count else 0, 0) for number in range(ufunc_program.ARRAYS)])
    kernel_args = _kernel_args(recorder, columns_per_pass, work_items_per_task)
    return NativeFunction(
        [bytes_of(value.type) for value in block.arguments],
        [(shape_of(value), tensor_type(value).dtype) for value in results],
        [Launch(ufunc_program.address(), tasks, accesses, kernel_args, seconds)],
        threads,
    )


def recorded_program(block: Block) -> tuple[UfuncProgramRecorder, int] | None:
    """The instructions of a fusion, with scratch memory assigned, and how many columns a block has.

    Returns:
        None if the fusion has no program.
    """
    count = len(block.arguments) + len(block.terminator.operands)
    tiling = _row_tiling(block)
    if tiling is None or tiling.columns < MIN_COLUMNS or count > ufunc_program.ARRAYS:
        return None
    try:
        recorder = UfuncProgramRecorder(block, tiling)
        columns_per_pass = tiling.columns if recorder.reduces else min(COLUMNS_PER_PASS, tiling.columns)
        _allocate_scratch(recorder, columns_per_pass)
    except Untraceable:
        return None
    return recorder, columns_per_pass


def _row_tiling(block: Block) -> RowTilePlan | None:
    """The rows and columns of a fusion's iteration space, or None if it has none."""
    # Loops of SciPy may warn and raise, which other threads cannot; and importing SciPy takes long.
    if any(declaration_of(one).cost.numpy_work is NumPyWork.SCIPY for one in block.operations):
        return None
    if reductions_of(block):
        return plan_row_tiling(block)
    shape = shape_of(block.terminator.operands[0])
    axes = IterationSpace(shape, range(len(shape)), is_elementwise).of(block)
    if axes is None or not all(shape):
        return None
    for row_rank in range(len(shape)):
        tiling = RowTilePlan(shape, row_rank, axes)
        if all(tiling.column_stride(value) is not None for value in block.arguments):
            return tiling
    return None


def _allocate_scratch(recorder: UfuncProgramRecorder, columns_per_pass: int) -> None:
    """Assign scratch memory to the values that pass between instructions; unused values free theirs.

    Raises:
        Untraceable: the scratch memory is too small.
    """
    uses = [
        dict.fromkeys((*instruction.operands, instruction.result)) for instruction in recorder.instructions
    ]
    last_use = {number: position for position, used_values in enumerate(uses) for number in used_values}
    free: defaultdict[int, list[int]] = defaultdict(list)
    allocated: set[int] = set()
    end = 0
    for position, used_values in enumerate(uses):
        scratch_values = [
            number for number in used_values if recorder.values[number].source == ufunc_program.SCRATCH
        ]
        for number in scratch_values:
            if number not in allocated:
                value = recorder.values[number]
                size = scratch_bytes(value, columns_per_pass)
                value.offset_or_bits = free[size].pop() if free[size] else end
                end = max(end, value.offset_or_bits + size)
                allocated.add(number)
        for number in scratch_values:
            if last_use[number] == position:
                value = recorder.values[number]
                free[scratch_bytes(value, columns_per_pass)].append(value.offset_or_bits)
    if end > ufunc_program.SCRATCH_BYTES or len(recorder.values) > ufunc_program.MAX_VALUES:
        raise Untraceable("takes too much memory, or too many values")


def scratch_bytes(value: UfuncValue, columns_per_pass: int) -> int:
    """The bytes of a value, rounded up to cache lines, and a cache line for the totals of a reduction
    tree.
    """
    count = columns_per_pass if value.varies_by_column else 1
    return (-(-count * value.item_bytes // _ALIGNMENT) + 1) * _ALIGNMENT


def _kernel_args(
    recorder: UfuncProgramRecorder, columns_per_pass: int, work_items_per_task: int
) -> tuple[int, ...]:
    """The program as arguments of the interpreter: see `kernels/launch/ufunc_program.h`."""
    tiling, rank = recorder.tiling, recorder.tiling.row_rank
    kernel_args = [tiling.rows, tiling.columns, columns_per_pass, work_items_per_task]
    kernel_args += [rank, len(recorder.values), len(recorder.instructions), *tiling.shape[:rank]]
    for value in recorder.values:
        kernel_args += [
            value.source, value.offset_or_bits, value.column_stride, *(value.row_strides or [0] * rank)
        ]
    for instruction in recorder.instructions:
        item_bytes = recorder.values[instruction.result].item_bytes
        padding = [0] * MAX_OPERANDS if instruction.kind == ufunc_program.APPLY else [item_bytes]
        operand_fields = [*instruction.operands, *padding]
        kernel_args += [
            instruction.kind, *instruction.loop, int(instruction.is_per_column), len(instruction.operands)
        ]
        kernel_args += [*operand_fields[:MAX_OPERANDS], instruction.result]
    return tuple(kernel_args)
