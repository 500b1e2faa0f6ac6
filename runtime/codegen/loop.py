"""A loop over a range of indices, in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from .values import I64

DISTINCT_LOOP = "loop"
"""Stands in a loop's metadata for that itself, which makes it distinct and which llvmlite cannot say."""


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
