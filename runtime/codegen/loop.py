"""A loop over a range of indices, in LLVM IR."""

from __future__ import annotations

import re

from llvmlite import ir

from .values import I64

DISTINCT_LOOP = "loop"
"""Stands in a loop's metadata for that itself, which makes it distinct and which llvmlite cannot say."""


def with_distinct_loops(text: str) -> str:
    """The text of a module, in which `DISTINCT_LOOP` has become what it stands for."""
    return re.sub(rf'(![0-9]+) = !{{ !"{DISTINCT_LOOP}", ', r"\1 = distinct !{ \1, ", text)


def keep_rolled(branch: ir.Instruction) -> None:
    """Let LLVM not unroll the loop that a branch closes, beyond what vectors do."""
    module = branch.module
    short = module.add_metadata(["llvm.loop.unroll.disable"])
    branch.set_metadata("llvm.loop", module.add_metadata([DISTINCT_LOOP, short]))


def interleaved(module: ir.Module, count: int) -> ir.MDValue:
    """Says in a loop's metadata that it is to compute so many vectors side by side."""
    return module.add_metadata(["llvm.loop.interleave.count", ir.Constant(ir.IntType(32), count)])


def interleave(branch: ir.Instruction, count: int) -> None:
    """Let LLVM compute so many vectors side by side in the loop that a branch closes."""
    module = branch.module
    branch.set_metadata("llvm.loop", module.add_metadata([DISTINCT_LOOP, interleaved(module, count)]))


class Loop:
    """A loop from `start` up to `stop`, which may be empty; `builder` stands in its body."""

    def __init__(self, builder: ir.IRBuilder, name: str, start: ir.Value, stop: ir.Value) -> None:
        self.outside = builder
        function = builder.function
        self.body = function.append_basic_block(name)
        self.after = function.append_basic_block(f"after_{name}")
        before = builder.block
        builder.cbranch(builder.icmp_signed("<", start, stop), self.body, self.after)
        self.builder = ir.IRBuilder(self.body)
        self.index = self.builder.phi(I64, name=name)
        self.index.add_incoming(start, before)
        self.stop = stop

    def close(self) -> ir.Instruction:
        """End the body; the builder outside stands behind the loop then. Returns the branch back."""
        builder = self.builder
        following = builder.add(self.index, ir.Constant(I64, 1), flags=("nuw", "nsw"))
        self.index.add_incoming(following, builder.block)
        branch = builder.cbranch(builder.icmp_signed("<", following, self.stop), self.body, self.after)
        self.outside.position_at_end(self.after)
        return branch
