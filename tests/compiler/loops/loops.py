"""One native loop over arrays, around what a test emits for one element."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from nimblehlo.compiler.loops.llvm import machine, values
from nimblehlo.types import ElementType

Array = np.ndarray[Any, Any]
Emit = Callable[..., Any]

_POINTER = ir.PointerType()


def module_of(emit: Emit, operands: Sequence[ElementType], results: Sequence[ElementType]) -> ir.Module:
    """`void loop(i64 count, ptr result..., ptr operand...)`: stores what `emit` makes of elements."""
    module = ir.Module()
    pointers = [_POINTER] * (len(results) + len(operands))
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [values.I64, *pointers]), "loop")
    for argument in function.args[1:]:
        argument.add_attribute("noalias")
    count, *targets = function.args[: 1 + len(results)]
    sources = function.args[1 + len(results) :]
    entry, body, end = (function.append_basic_block(name) for name in ("entry", "body", "end"))
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_signed(">", count, count.type(0)), body, end)
    builder.position_at_end(body)
    index = builder.phi(values.I64)
    index.add_incoming(count.type(0), entry)
    loaded = [
        values.load(builder, type, builder.gep(source, [index], source_etype=values.stored_type(type)))
        for type, source in zip(operands, sources, strict=True)
    ]
    for type, target, computed in zip(results, targets, emit(builder, *loaded), strict=True):
        place = builder.gep(target, [index], source_etype=values.stored_type(type))
        values.store(builder, type, computed, place)
    following = builder.add(index, count.type(1))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, count), body, end)
    builder.position_at_end(end)
    builder.ret_void()
    return module


def compiled(module: ir.Module) -> Any:
    """The address of the module's `loop`, made into a function of ctypes."""
    text = str(module)
    arguments = len(module.get_global("loop").args) - 1
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * arguments)
    return prototype(machine.function_address(machine.key_of(text), "loop", lambda: text))


def looped_together(
    emit: Emit, operands: Sequence[ElementType], results: Sequence[ElementType]
) -> Callable[..., list[Array]]:
    """The function on one-dimensional arrays of equal size that does `emit`, which gives several elements."""
    loop = compiled(module_of(emit, operands, results))

    def run(*arrays: Array) -> list[Array]:
        held = [np.ascontiguousarray(array) for array in arrays]
        assert [array.dtype for array in held] == [type.dtype for type in operands]
        targets = [np.empty(held[0].shape, result.dtype) for result in results]
        loop(held[0].size, *[array.ctypes.data for array in (*targets, *held)])
        return targets

    return run


def looped(emit: Emit, operands: Sequence[ElementType], result: ElementType) -> Callable[..., Array]:
    """The function on one-dimensional arrays of equal size that does `emit` for each element."""
    run = looped_together(lambda *arguments: [emit(*arguments)], operands, [result])
    return lambda *arrays: run(*arrays)[0]
