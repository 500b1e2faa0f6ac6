"""The text of a module in LLVM IR, in whose place its objects go at once.

An instruction knows its block, which lists its instructions, and so on up to the module: Python's collector
would find these circles some time later. By then the objects of several modules, 100 bytes and more for each
word of IR, are there together.
"""

from __future__ import annotations

from llvmlite import ir


def text_of(module: ir.Module) -> str:
    """The text of a module, which is empty afterwards."""
    text = str(module)
    clear(module)
    return text


def clear(module: ir.Module) -> None:
    """Remove all from a module that is not used any more."""
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if isinstance(instruction, ir.PhiInstr):
                    instruction.incomings.clear()
            block.instructions.clear()
            block.terminator = None
        function.blocks.clear()
    module.globals.clear()
