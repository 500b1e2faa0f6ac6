"""Tasks: functions `void name(int64 task, ptr pointers)` of which each thread calls some."""

from __future__ import annotations

from llvmlite import ir

from .loops import Loop, address_of, min_index
from .values import I64, POINTER

TASK_TYPE = ir.FunctionType(ir.VoidType(), [I64, POINTER])


def define_task(module: ir.Module, name: str, body: ir.Function, total: int, size: int) -> None:
    """Define the task `void name(int64 task, ptr pointers)` that calls a function for some numbers.

    Args:
        body: takes a number and, one by one, the pointers.
        total: how many numbers there are.
        size: how many of them a task has.
    """
    builder, number, arguments = begin_task(module, name, len(body.args) - 1)
    first = builder.mul(number, I64(size))
    last = min_index(builder, builder.add(first, I64(size)), I64(total))
    with Loop(builder, first, last) as index:
        builder.call(body, [index, *arguments])
    builder.ret_void()


def begin_task(module: ir.Module, name: str, count: int) -> tuple[ir.IRBuilder, ir.Value, list[ir.Value]]:
    """Begin a task `void name(int64 task, ptr pointers)` of a module: the builder, the task's number, and the
    first `count` pointers.
    """
    task = ir.Function(module, TASK_TYPE, name)
    builder = ir.IRBuilder(task.append_basic_block("entry"))
    number, pointers = task.args
    addresses = [address_of(builder, pointers, I64(k), POINTER) for k in range(count)]
    return builder, number, [builder.load(address, typ=POINTER) for address in addresses]
