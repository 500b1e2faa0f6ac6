"""Tasks: functions `void name(int64 task, ptr pointers)`, called once for each task number."""

from __future__ import annotations

from llvmlite import ir

from .loops import Loop, address_of, min_index
from .values import I64, POINTER

TASK_TYPE = ir.FunctionType(ir.VoidType(), [I64, POINTER])


def define_task(
    module: ir.Module, name: str, body: ir.Function, item_count: int, items_per_task: int
) -> None:
    """Define the task `void name(int64 task, ptr pointers)` that calls a function for each of its work items.

    Task t has the items from `t * items_per_task` on.

    Args:
        body: processes a work item; takes its number and, one by one, the pointers.
        item_count: the number of work items of all tasks.
        items_per_task: the number of work items of a task; the last one may have fewer.
    """
    builder, number, arguments = begin_task(module, name, len(body.args) - 1)
    first = builder.mul(number, I64(items_per_task))
    last = min_index(builder, builder.add(first, I64(items_per_task)), I64(item_count))
    with Loop(builder, first, last) as index:
        builder.call(body, [index, *arguments])
    builder.ret_void()


def begin_task(
    module: ir.Module, name: str, pointers: int, integers: int = 0
) -> tuple[ir.IRBuilder, ir.Value, list[ir.Value]]:
    """Begin a task `void name(int64 task, ptr closure)` of a module.

    Returns its builder, the task's number, and the closure's pointers, which its integers follow.
    """
    task = ir.Function(module, TASK_TYPE, name)
    builder = ir.IRBuilder(task.append_basic_block("entry"))
    number, closure = task.args
    types = [POINTER] * pointers + [I64] * integers
    addresses = [address_of(builder, closure, I64(k), type) for k, type in enumerate(types)]
    values = [builder.load(address, typ=type) for address, type in zip(addresses, types, strict=True)]
    return builder, number, values
