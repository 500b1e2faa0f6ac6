"""Tables of 16 numbers of 64 bits: AVX-512 has an instruction that picks one for each lane.

LLVM makes no use of it by itself. Code calls `entry`, a function of a table and an index, which is only
declared while loops become loops of vectors: there LLVM calls the variant for as many lanes, which the
function's attribute names. `define` then defines them all, to be inlined.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from .values import I32, I64

ENTRIES = 16
_LANES = 8
_NAME = "entry"
_VARIANTS = {4: "entry_of_4_lanes", _LANES: "entry_of_8_lanes"}
_POINTER = ir.PointerType()
_PURE = ("nounwind", "willreturn", "memory(none)")


def entry(builder: ir.IRBuilder, table: ir.Value, index: ir.Value) -> ir.Value:
    """The entry of a constant table whose number stands in the lowest bits of an i64."""
    return builder.call(_declared(builder.module), [table, index])


def _declared(module: ir.Module) -> ir.Function:
    function = module.globals.get(_NAME)
    if function is None:
        variants = {lanes: ir.Function(module, _type(lanes), name) for lanes, name in _VARIANTS.items()}
        # The table is the same for all lanes, the index is not.
        names = ",".join(f"_ZGV_LLVM_N{lanes}uv_{_NAME}({one.name})" for lanes, one in variants.items())
        function = ir.Function(module, _type(), _NAME)
        _add(function, *_PURE, f'"vector-function-abi-variant"="{names}"')
        _keep(module, list(variants.values()))
    return function


def _type(lanes: int = 1) -> ir.FunctionType:
    number = ir.VectorType(I64, lanes) if lanes > 1 else I64
    return ir.FunctionType(number, [_POINTER, number])


def _add(function: ir.Function, *attributes: str) -> None:
    """Give a function attributes, of which llvmlite does not know all."""
    for attribute in attributes:
        set.add(function.attributes, attribute)


def _keep(module: ir.Module, functions: list[ir.Function]) -> None:
    """Let LLVM not drop functions that nothing calls yet."""
    type = ir.ArrayType(_POINTER, len(functions))
    kept = ir.GlobalVariable(module, type, "llvm.compiler.used")
    kept.linkage, kept.section = "appending", "llvm.metadata"
    kept.initializer = ir.Constant(type, functions)


def define(llvm: Any, module: Any, pass_builder: Any) -> None:
    """Define what a module calls, if it does, and inline it.

    Args:
        llvm: `llvmlite.binding`.
        module: optimised.
        pass_builder: by which it was.
    """
    names = {_NAME, *_VARIANTS.values()}
    if names.isdisjoint(function.name for function in module.functions):
        return
    module.link_in(llvm.parse_assembly(_definitions()))
    for name in names:
        module.get_function(name).linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.run(module, pass_builder)


@functools.cache
def _definitions() -> str:
    """The module that defines the function and its variants."""
    module = ir.Module()
    builder, table, index = _begun(module, _NAME, _type())
    place = builder.and_(index, I64(ENTRIES - 1))
    builder.ret(builder.load(builder.gep(table, [place], source_etype=I64), typ=I64))
    for lanes, name in _VARIANTS.items():
        builder, table, index = _begun(module, name, _type(lanes))
        builder.ret(_permuted(builder, table, index))
    return str(module)


def _begun(module: ir.Module, name: str, type: ir.FunctionType) -> tuple[ir.IRBuilder, ir.Value, ir.Value]:
    function = ir.Function(module, type, name)
    _add(function, "alwaysinline", *_PURE)
    table, index = function.args
    return ir.IRBuilder(function.append_basic_block("entry")), table, index


def _permuted(builder: ir.IRBuilder, table: ir.Value, index: ir.Value) -> ir.Value:
    """The entries for up to `_LANES` indices; the instruction takes them from two registers."""
    register = ir.VectorType(I64, _LANES)
    pick = builder.module.declare_intrinsic(
        "llvm.x86.avx512.vpermi2var.q.512", (), ir.FunctionType(register, [register] * 3)
    )
    halves = [
        builder.load(builder.gep(table, [I64(half * _LANES)], source_etype=I64), typ=register, align=64)
        for half in range(ENTRIES // _LANES)
    ]
    lanes = index.type.count
    wide = _lanes_of(builder, index, [lane % lanes for lane in range(_LANES)])
    return _lanes_of(builder, builder.call(pick, [halves[0], wide, halves[1]]), list(range(lanes)))


def _lanes_of(builder: ir.IRBuilder, vector: ir.Value, lanes: list[int]) -> ir.Value:
    order = ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])
    return builder.shuffle_vector(vector, vector, order)
