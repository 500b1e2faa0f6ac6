"""Internal functions of a module, and scratch memory on their stacks, in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from .values import I8, I64, POINTER


def outlined_function(module: ir.Module, name: str, integers: int, pointers: int) -> ir.Function:
    """A function of `integers` int64 and then `pointers` noalias pointers, which is not inlined."""
    function = internal_function(module, name, integers, pointers)
    function.attributes.add("noinline")
    return function


def internal_function(
    module: ir.Module, name: str, integers: int, pointers: int, returns: ir.Type | None = None
) -> ir.Function:
    """Like `outlined_function`, but LLVM may inline it, and it may return a value."""
    type = ir.FunctionType(returns or ir.VoidType(), [I64] * integers + [POINTER] * pointers)
    function = ir.Function(module, type, module.get_unique_name(name))
    function.linkage = "internal"
    for argument in function.args[integers:]:
        argument.add_attribute("noalias")
    return function


def begin_function(function: ir.Function) -> ir.IRBuilder:
    """Begin the code of a function. The entry block is separate, so that allocations can be added to it."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    start = builder.append_basic_block("start")
    builder.branch(start)
    builder.position_at_end(start)
    return builder


def aligned_scratch(builder: ir.IRBuilder, type: ir.Type, count: int) -> ir.Value:
    """Stack memory for `count` elements, aligned to a cache line."""
    memory = builder.alloca(ir.ArrayType(type, count))
    memory.align = CACHE_LINE_BYTES
    return builder.gep(memory, [I64(0), I64(0)], inbounds=True)


class Variable:
    """A value that changes: memory on the stack, which becomes a register."""

    def __init__(self, builder: ir.IRBuilder, initial: ir.Value) -> None:
        self.builder = builder
        with builder.goto_entry_block():
            self.pointer = builder.alloca(initial.type)
        self.set(initial)

    def get(self) -> ir.Value:
        return self.builder.load(self.pointer)

    def set(self, value: ir.Value) -> None:
        self.builder.store(value, self.pointer)


def outside_address(builder: ir.IRBuilder, symbol: str, constant_bytes: int = 0) -> ir.Value:
    """The address of data outside of the module, which a symbol stands for.

    Args:
        constant_bytes: the size of data that never change; 0: LLVM may assume neither.
    """
    module = builder.module
    data = module.globals.get(symbol)
    if data is None:
        data = ir.GlobalVariable(module, ir.ArrayType(I8, constant_bytes or 1), symbol)
        data.global_constant = constant_bytes > 0
    return opaque(builder.gep(data, [I64(0), I64(0)], inbounds=True))


def opaque(pointer: ir.Value) -> ir.Value:
    """The pointer without its type: vectors, or elements of other types, are read and written there too."""
    pointer.type = POINTER
    return pointer
