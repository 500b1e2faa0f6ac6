"""A `while` of scalar work, or of work on small arrays, as one native function.

The function is `int64 loop(int8 **state, int8 **captured, int64 max_iterations)`. `state` points to the
memory of each carried value, where the function reads it and leaves its last value. `captured` points to the
values that the regions capture, then to the workspace, which begins at a cache line, and then to a
monitor (`scalars.Interruption`). The function runs at most `max_iterations` iterations, so that its caller
can stop the loop between two calls, and returns 1 while `cond` still holds, otherwise 0; or `STOPPED` where
its caller stopped an inner loop, or a launch raised an exception. `int64 workspace_bytes()` returns the size
of the workspace.

Source: specification, section "while".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...program.ir import Operation
from ...program.ir import Value as IrValue
from ...types import TensorType
from ...types import Type as IrType
from .arrays import (
    MAX_BLOCK_OPS,
    ArrayEmitter,
    Workspace,
    check_while,
    computed_bytes,
    define_workspace_bytes,
    launched_operations,
    launched_work,
    max_allocated,
    multiplication_count,
    updated_in_place,
)
from .llvm.functions import begin_function
from .llvm.module_text import clear
from .llvm.values import I64, POINTER
from .scalars import (
    Elements,
    Emitter,
    Interruption,
    Storage,
    check_in_place_updates,
    check_interruption,
    check_loop,
    emit_while,
    is_plain,
    store_elements,
)

FUNCTION_TYPE = ir.FunctionType(I64, [POINTER, POINTER, I64])
NAME = "loop"


def check_while_function(
    operation: Operation,
    captured: Sequence[IrValue],
    max_multiplications: int | None = None,
    has_launches: bool = False,
) -> str | None:
    """Why a `while` does not become a native loop; None if it does.

    Args:
        captured: the values that its regions capture.
        max_multiplications: maximum multiplications of an iteration; None: so few that one thread computes
            them as fast as several.
        has_launches: whether what threads could share is launched.
    """
    for value in captured:
        if not is_plain(value.type):
            return f"uses {value.type}"
    reason = _check_scalar_loop(operation)
    return reason if reason is None else check_while(operation, max_multiplications, has_launches)


def _check_scalar_loop(operation: Operation) -> str | None:
    """Why a `while` is not a loop of scalar work, whose small tensors stay in registers."""
    reason = check_loop(operation)
    if reason is not None:
        return reason
    cond, body = (region.block for region in operation.regions)
    return check_in_place_updates(cond, ()) or check_in_place_updates(body, body.arguments)


def operations_within(operation: Operation) -> int:
    """The number of operations in the regions of a `while`."""
    return sum(1 for _ in operation.walk()) - 1


def runs_uninterrupted(operation: Operation) -> bool:
    """Whether an iteration of a `while` is always short, so that it needs no check for interruption."""
    return check_interruption(_blocks_operations(operation)) is None


def _blocks_operations(operation: Operation) -> list[Operation]:
    return [inner for region in operation.regions for inner in region.block.operations]


def is_plain_loop(operation: Operation) -> bool:
    """Whether a `while` has at most MAX_BLOCK_OPS operations, all on static unquantized tensors."""
    operations = list(operation.walk())
    values = [value for inner in operations for value in (*inner.operands, *inner.results)]
    return len(operations) <= MAX_BLOCK_OPS and all(is_plain(value.type) for value in values)


def updates_in_place_type(operation: Operation, type: IrType) -> bool:
    """Whether a native loop updates carried tensors of a type in place."""
    return bool(updated_in_place(operation)(type))


def iteration_work(operation: Operation, includes_large: bool = False) -> tuple[int, int]:
    """The approximate bytes of arrays that an iteration of a `while` computes, and its multiplications.

    Args:
        includes_large: whether arrays count that are so large that native code does not compute them.
    """
    if _check_scalar_loop(operation) is None:
        return 0, 0
    multiplications = multiplication_count(operation.regions[1].block)
    return computed_bytes(operation, includes_large), multiplications + launched_work(operation)


def while_module(operation: Operation, captured: Sequence[IrValue]) -> ir.Module:
    """The module with the native functions of a `while` that `check_while_function` accepts."""
    module, workspace_bytes = _generated(operation, captured)
    define_workspace_bytes(module, workspace_bytes)
    return module


def workspace_bytes(operation: Operation, captured: Sequence[IrValue]) -> int:
    """The bytes of a native loop's workspace, from code that is generated but not compiled."""
    module, bytes = _generated(operation, captured)
    clear(module)
    return bytes


def _generated(operation: Operation, captured: Sequence[IrValue]) -> tuple[ir.Module, int]:
    """The module with the native function `NAME`, and the bytes of its workspace."""
    module = ir.Module(NAME)
    function = ir.Function(module, FUNCTION_TYPE, NAME)
    builder = begin_function(function)
    state, captured_pointers, max_iterations = function.args
    homes = [_storage(builder, state, k, operand) for k, operand in enumerate(operation.operands)]
    captured_storages = [_storage(builder, captured_pointers, k, value) for k, value in enumerate(captured)]
    workspace = None
    if _check_scalar_loop(operation) is None:
        emitter = Emitter(builder)
    else:
        with builder.goto_entry_block():
            address = _pointer(builder, captured_pointers, len(captured))
        workspace = Workspace(builder, address)
        emitter = ArrayEmitter(builder, workspace, updated_in_place(operation), max_allocated(operation))
        emitter.read_only_values.update(captured)
    emitter.bindings.update(zip(captured, map(emitter.result, captured_storages), strict=True))
    if not runs_uninterrupted(operation) or launched_operations([operation]):
        monitor = _pointer(builder, captured_pointers, len(captured) + 1)
        emitter.interruption = Interruption(builder, monitor)
    initial = [emitter.result(home) for home in homes]
    results, continues = emit_while(emitter, operation, initial, max_iterations)
    body = operation.regions[1].block
    handed_on = zip(body.terminator.operands, body.arguments, strict=True)
    for home, result, (value, argument) in zip(homes, results, handed_on, strict=True):
        if isinstance(result, Elements) and value is not argument:
            store_elements(builder, home, result)
    builder.ret(builder.zext(continues, I64))
    return module, 0 if workspace is None else workspace.assign_offsets()


def _storage(builder: ir.IRBuilder, pointers: ir.Value, number: int, value: IrValue) -> Storage:
    """The tensor whose memory an element of an array of pointers points to."""
    assert isinstance(value.type, TensorType)
    return Storage(value.type, _pointer(builder, pointers, number))


def _pointer(builder: ir.IRBuilder, pointers: ir.Value, number: int) -> ir.Value:
    """An element of an array of pointers."""
    address = builder.gep(pointers, [I64(number)], inbounds=True, source_etype=POINTER)
    return builder.load(address, typ=POINTER)
