"""A module in LLVM IR has the text that llvmlite makes, and its objects go when that is there."""

from __future__ import annotations

import gc

import pytest
from llvmlite import ir

from nimblehlo.compiler.loops.llvm.base import F32, I32, POINTER, call, rarely
from nimblehlo.compiler.loops.llvm.loops import Loop
from nimblehlo.compiler.loops.llvm.module_text import clear, text_of
from nimblehlo.compiler.loops.llvm.values import I64


def module_with_loops(count: int) -> ir.Module:
    """A module with nested loops, whose values and instructions refer to each other in circles."""
    module = ir.Module("loops")
    for number in range(count):
        function = ir.Function(module, ir.FunctionType(I64, [I64]), f"f{number}")
        builder = ir.IRBuilder(function.append_basic_block())
        with Loop(builder, I64(0), function.args[0]) as outer, Loop(builder, outer, I64(9)) as inner:
            builder.add(outer, inner)
        builder.ret(I64(number))
    return module


def module_with_each_instruction() -> ir.Module:
    """A module with the instructions that generated code has, in each spelling."""
    module = ir.Module("instructions")
    vector = ir.VectorType(F32, 4)
    type = ir.FunctionType(F32, [F32, I64, vector, POINTER])
    function = ir.Function(module, type, 'a "name"')
    number, index, row, array = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    cell = builder.alloca(F32)
    builder.store(builder.fneg(number), cell)
    builder.store(number, array, align=4)
    pointer = builder.gep(array, [index], inbounds=True, source_etype=F32)
    builder.load(builder.gep(cell, [I64(1)]), name='a "name"', align=16)
    total = builder.fadd(builder.load(pointer, typ=F32), number, flags=("nnan", "ninf"))
    builder.atomic_rmw("add", array, index, "seq_cst")
    is_less, is_ordered = builder.icmp_signed("<", index, I64(9)), builder.fcmp_ordered("ord", total, number)
    is_fast = builder.fcmp_ordered("<", total, number, flags=["fast"])
    both = builder.and_(is_less, builder.or_(is_ordered, is_fast))
    builder.add(builder.zext(both, I64), index, flags=("nsw",))
    rarely(builder, both, total, number)
    with builder.if_then(both, likely=True):
        builder.ret(builder.select(is_less, total, number, flags=("nsz",)))
    with Loop(builder, I64(0), index) as position:
        builder.insert_element(row, builder.extract_element(row, position), I32(0))
        builder.shuffle_vector(row, row, ir.Constant(ir.VectorType(I32, 2), [0, 5]))
    call(builder, "llvm.sqrt", number)
    builder.call(function, [number, index, row, array], tail=True, fastmath=("nnan",))
    pair = ir.LiteralStructType((F32, F32))(ir.Undefined)
    builder.extract_value(builder.insert_value(pair, total, 0), 1)
    ending = function.append_basic_block()
    builder.branch(ending)
    builder.position_at_end(ending)
    merged = builder.phi(F32, flags=("nnan",))
    merged.add_incoming(number, builder.block)
    builder.unreachable()
    return module


def test_the_text_is_that_of_llvmlite() -> None:
    assert text_of(module_with_each_instruction()) == str(module_with_each_instruction())


@pytest.mark.parametrize("release", [text_of, clear])
def test_no_objects_wait_for_the_collector(release: object) -> None:
    module = module_with_loops(3)
    text = str(module)
    assert text.count("phi") == 6
    if release is text_of:
        assert text_of(module_with_loops(3)) == text
    del module
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            module = module_with_loops(20)
            release(module)  # type: ignore[operator]
        del module
        blocks = [one for one in gc.get_objects() if isinstance(one, ir.Block)]
    finally:
        gc.enable()
    assert not blocks
