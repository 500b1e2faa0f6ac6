"""A run of small steps as native code: its operations in sequence, on one thread.

The only task `NAME` has the pointers of the operands and of the results.
"""

from __future__ import annotations

from llvmlite import ir

from ...program.ir import Block, Operation, Value, tensor_type
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import Movement
from .arrays import ArrayEmitter, Workspace, check_block
from .arrays.emitter import is_in_memory
from .llvm.tasks import define_task
from .regions.region_function import FunctionBuilder
from .scalars import Storage, check_interruption
from .scalars.boxes import copy_all

NAME = "steps"


def check_steps(block: Block) -> str | None:
    """Why a block of small steps cannot be generated, or None if it can."""
    return check_interruption(block.operations) or check_block(block)


def steps_module(block: Block) -> ir.Module:
    """The module with the task `NAME` of a block that `check_steps` accepts."""
    module = ir.Module(NAME)
    results = block.terminator.operands
    function = FunctionBuilder(module, "run_steps", 1, len(block.arguments) + len(results))
    workspace = Workspace(function.builder)
    emitter = ArrayEmitter(function.builder, workspace)
    storages = [
        Storage(tensor_type(value), pointer)
        for value, pointer in zip((*block.arguments, *results), function.pointers, strict=True)
    ]
    count = len(block.arguments)
    for result, storage in zip(results, storages[count:], strict=True):
        value = _source_of(result)
        if is_in_memory(value.type):
            emitter.result_storage.setdefault(value, Storage(tensor_type(value), storage.pointer))
    bounds = emitter.emit_block(block, [emitter.result(storage) for storage in storages[:count]])
    for storage, bound in zip(storages[count:], bounds, strict=True):
        copy_all(emitter, storage, bound)
    function.builder.ret_void()
    workspace.assign_offsets()
    define_task(module, NAME, function.function, 1, 1)
    return module


def _source_of(value: Value) -> Value:
    """The value that a value is a reshape of, or itself."""
    owner = value.owner
    while isinstance(owner, Operation) and declaration_of(owner).movement is Movement.RESHAPE:
        value = owner.operands[0]
        owner = value.owner
    return value
