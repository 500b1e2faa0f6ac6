"""The text of a module in LLVM IR, in whose place its objects go at once.

llvmlite describes an instruction by a dozen calls, which take half of the time of making a module. Those of
the usual kinds are written here, as the same text in 0.6 of the time.

An instruction knows its block, which lists its instructions, and so on up to the module: Python's collector
would find these circles some time later. By then the objects of several modules, 100 bytes and more for each
word of IR, are there together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from llvmlite import ir
from llvmlite.ir import instructions


def text_of(module: ir.Module) -> str:
    """The text of a module, which is empty afterwards."""
    functions = [function for function in module.functions if function.blocks]
    for function in functions:
        function.blocks = [_Body(function.blocks)]
    text = str(module)
    for function in functions:
        function.blocks.clear()
    module.globals.clear()
    return text


def clear(module: ir.Module) -> None:
    """Remove all from a module that is not used any more."""
    for function in module.functions:
        for block in function.blocks:
            clear_block(block)
        function.blocks.clear()
    module.globals.clear()


def clear_block(block: ir.Block) -> None:
    """Remove all from a block that is not used any more."""
    for instruction in block.instructions:
        if isinstance(instruction, ir.PhiInstr):
            instruction.incomings.clear()
    block.instructions.clear()
    block.terminator = None


class _Body:
    """Stands for the blocks of a function, which it empties once it has described them."""

    def __init__(self, blocks: list[ir.Block]) -> None:
        self._blocks = blocks

    def descr(self, text: list[str]) -> None:
        """Append the text of the blocks, as `ir.Block.descr` does."""
        for block in self._blocks:
            written, block.instructions = block.instructions, []
            block.descr(text)
            block.instructions = written
            text += [_line(instruction) for instruction in written]
        for block in self._blocks:
            clear_block(block)


def _line(one: Any) -> str:
    """The line of an instruction."""
    write = None if one.metadata else _WRITERS.get(type(one))
    return f"  {one!s}\n" if write is None else write(one)


def _typed(values: Iterable[Any]) -> str:
    return ", ".join([f"{value.type!s} {value.get_reference()}" for value in values])


def _operation(one: Any) -> str:
    operands = ", ".join([operand.get_reference() for operand in one.operands])
    opname = " ".join([one.opname, *one.flags]) if one.flags else one.opname
    return f"  {one.get_reference()} = {opname} {one.type!s} {operands}\n"


def _element_pointer(one: Any) -> str:
    opname = "getelementptr inbounds" if one.inbounds else "getelementptr"
    return f"  {one.get_reference()} = {opname} {one.source_etype!s}, {_typed(one.operands)}\n"


def _load(one: Any) -> str:
    return f"  {one.get_reference()} = load {one.type!s}, {_typed(one.operands)}{_alignment(one)}\n"


def _store(one: Any) -> str:
    return f"  store {_typed(one.operands)}{_alignment(one)}\n"


def _alignment(one: Any) -> str:
    return "" if one.align is None else f", align {one.align}"


def _cast(one: Any) -> str:
    return f"  {one.get_reference()} = {one.opname} {_typed(one.operands)} to {one.type!s}\n"


def _comparison(one: Any) -> str:
    opname = " ".join([one.opname, *one.flags, one.op])
    left, right = one.operands
    return f"  {one.get_reference()} = {opname} {_typed([left])}, {right.get_reference()}\n"


def _selection(one: Any) -> str:
    return f"  {one.get_reference()} = select {' '.join(one.flags)} {_typed(one.operands)}\n"


def _phi(one: Any) -> str:
    pairs = [f"[{value.get_reference()}, {block.get_reference()}]" for value, block in one.incomings]
    return f"  {one.get_reference()} = phi {' '.join(one.flags)} {one.type!s} {', '.join(pairs)}\n"


def _vector_operation(one: Any) -> str:
    return f"  {one.get_reference()} = {one.opname} {_typed(one.operands)}\n"


def _branch(one: Any) -> str:
    return f"  {one.opname} {_typed(one.operands)}\n"


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    instructions.Instruction: _operation,
    instructions.GEPInstr: _element_pointer,
    instructions.LoadInstr: _load,
    instructions.StoreInstr: _store,
    instructions.CastInstr: _cast,
    instructions.ICMPInstr: _comparison,
    instructions.FCMPInstr: _comparison,
    instructions.SelectInstr: _selection,
    instructions.PhiInstr: _phi,
    instructions.ExtractElement: _vector_operation,
    instructions.InsertElement: _vector_operation,
    instructions.ShuffleVector: _vector_operation,
    instructions.Branch: _branch,
    instructions.ConditionalBranch: _branch,
}
"""Writes an instruction without metadata, by its class."""
