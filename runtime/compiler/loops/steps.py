"""A run of small steps as native code: its operations in sequence, on one thread.

The only task `NAME` has the pointers of the operands, of the results, and of a workspace if the arrays of the
block need more memory than the stack has for them (`has_workspace`). `int64 workspace_bytes()` then returns
the size of the workspace.
"""

from __future__ import annotations

from llvmlite import ir

from ...program.ir import Block, Operation, Value, tensor_type
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import Movement
from .arrays import ArrayEmitter, Workspace, define_workspace_bytes
from .arrays.emitter import MAX_BLOCK_STACK_BYTES, array_bytes, is_in_memory
from .llvm.module_text import clear
from .llvm.tasks import define_task
from .regions.region_function import FunctionBuilder
from .scalars import Storage
from .scalars.boxes import copy_all

NAME = "steps"


def steps_module(block: Block) -> ir.Module:
    """The module with the task `NAME` of a block of operations that `check_step` accepts."""
    return _generated(block)[0]


def steps_workspace_bytes(block: Block) -> int:
    """The bytes of the workspace, from code that is generated but not compiled; 0 if it is on the stack."""
    if not has_workspace(block):
        return 0
    module, workspace_bytes = _generated(block)
    clear(module)
    return workspace_bytes


def _generated(block: Block) -> tuple[ir.Module, int]:
    """The module with the task `NAME`, and the bytes of its workspace."""
    module = ir.Module(NAME)
    results = block.terminator.operands
    has_argument = has_workspace(block)
    function = FunctionBuilder(module, "run_steps", 1, len(block.arguments) + len(results) + has_argument)
    workspace = Workspace(function.builder, function.pointers[-1] if has_argument else None)
    emitter = ArrayEmitter(function.builder, workspace)
    storages = [
        Storage(tensor_type(value), pointer)
        for value, pointer in zip((*block.arguments, *results), function.pointers, strict=not has_argument)
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
    workspace_bytes = max(workspace.assign_offsets(), 1)
    if has_argument:
        define_workspace_bytes(module, workspace_bytes)
    define_task(module, NAME, function.function, 1, 1)
    return module, workspace_bytes


def has_workspace(block: Block) -> bool:
    """Whether the last pointer is that of a workspace, as the stack has no memory for the arrays."""
    return array_bytes(block) > MAX_BLOCK_STACK_BYTES


def _source_of(value: Value) -> Value:
    """The value that a value is a reshape of, or itself."""
    owner = value.owner
    while isinstance(owner, Operation) and declaration_of(owner).movement is Movement.RESHAPE:
        value = owner.operands[0]
        owner = value.owner
    return value
