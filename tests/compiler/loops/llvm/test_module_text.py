"""The objects of a module in LLVM IR go when its text is there."""

from __future__ import annotations

import gc

import pytest
from llvmlite import ir

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
