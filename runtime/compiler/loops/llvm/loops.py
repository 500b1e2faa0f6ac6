"""Loops over ranges of indices in LLVM IR."""

from __future__ import annotations

import re
from typing import Any

from llvmlite import ir

from .base import I32, I64

DISTINCT_LOOP = "loop"
"""Placeholder for the reference of a loop's metadata to itself, which llvmlite cannot express.

The reference makes the metadata distinct: without it, equal loops would share one node."""

ACCESS_GROUP = "access group"
"""Placeholder for the distinct node of parallel accesses, which llvmlite cannot express either."""


def with_distinct_nodes(text: str) -> str:
    """The text of a module with `DISTINCT_LOOP` and `ACCESS_GROUP` replaced by what they stand for."""
    text = re.sub(rf'(![0-9]+) = !{{ !"{DISTINCT_LOOP}", ', r"\1 = distinct !{ \1, ", text)
    return re.sub(rf'(![0-9]+) = !{{ !"{ACCESS_GROUP}" }}', r"\1 = distinct !{}", text)


def disable_unrolling(branch: ir.Instruction) -> None:
    """Keep LLVM from unrolling the loop that a branch closes; it may still vectorize the loop."""
    module = branch.module
    short = module.add_metadata(["llvm.loop.unroll.disable"])
    branch.set_metadata("llvm.loop", module.add_metadata([DISTINCT_LOOP, short]))


def interleaved(module: ir.Module, count: int) -> ir.MDValue:
    """Metadata that makes LLVM interleave `count` vectors of a loop."""
    return module.add_metadata(["llvm.loop.interleave.count", I32(count)])


def interleave(branch: ir.Instruction, count: int) -> None:
    """Make LLVM interleave `count` vectors of the loop that a branch closes."""
    module = branch.module
    branch.set_metadata("llvm.loop", module.add_metadata([DISTINCT_LOOP, interleaved(module, count)]))


IndexRange = tuple[ir.Value, ir.Value]
"""The first index of a range, and the index after its last one, as i64."""


class GuardedLoop:
    """A loop from `start` up to `stop`, which may be empty; `builder` is positioned in its body."""

    def __init__(self, builder: ir.IRBuilder, name: str, start: ir.Value, stop: ir.Value) -> None:
        self.outside = builder
        function = builder.function
        self.body = function.append_basic_block(name)
        self.after = function.append_basic_block(f"after_{name}")
        before = self.before = builder.block
        builder.cbranch(builder.icmp_signed("<", start, stop), self.body, self.after)
        self.builder = ir.IRBuilder(self.body)
        self.index = self.builder.phi(I64, name=name)
        self.index.add_incoming(start, before)
        self.stop = stop

    def close(self) -> ir.Instruction:
        """End the body, and position the outer builder behind the loop. Returns the branch to the body."""
        builder = self.builder
        following = builder.add(self.index, I64(1), flags=("nuw", "nsw"))
        self.index.add_incoming(following, builder.block)
        branch = builder.cbranch(builder.icmp_signed("<", following, self.stop), self.body, self.after)
        self.outside.position_at_end(self.after)
        return branch


def min_index(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The lesser of two indices."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)


class Loop:
    """A loop over the nonempty range [first, last); `with` leaves the builder behind it.

    `GuardedLoop` also serves ranges that may be empty.

    Args:
        rolled: keep LLVM from unrolling the loop: unrolling the many short loops of a reduction takes as long
            as the rest of its compilation.

    Attributes:
        interleave_count: the number of vectors to compute in each iteration, to be set in the body; 0: LLVM
            decides.
    """

    def __init__(self, builder: ir.IRBuilder, first: ir.Value, last: ir.Value, rolled: bool = False) -> None:
        self.builder = builder
        self.first = first
        self.last = last
        self.rolled = rolled
        self.interleave_count = 0

    def __enter__(self) -> ir.Value:
        builder = self.builder
        before = self.before = builder.block
        self.body = builder.append_basic_block("body")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.index = builder.phi(I64)
        self.index.add_incoming(self.first, before)
        return self.index

    def __exit__(self, *_: object) -> None:
        builder = self.builder
        following = builder.add(self.index, I64(1), flags=("nsw",))
        self.index.add_incoming(following, builder.block)
        end = builder.append_basic_block("end")
        branch = builder.cbranch(builder.icmp_signed("<", following, self.last), self.body, end)
        if self.rolled:
            disable_unrolling(branch)
        if self.interleave_count:
            interleave(branch, self.interleave_count)
        builder.position_at_end(end)


class While:
    """A loop while a condition holds; `head` computes it.

    ``with While(builder) as continue_if: condition...; continue_if(condition); body...``
    """

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.head = builder.append_basic_block("head")
        self.end = builder.append_basic_block("end")

    def __enter__(self) -> Any:
        self.builder.branch(self.head)
        self.builder.position_at_end(self.head)
        return self._continue_if

    def _continue_if(self, condition: ir.Value) -> None:
        body = self.builder.append_basic_block("body")
        self.builder.cbranch(condition, body, self.end)
        self.builder.position_at_end(body)

    def __exit__(self, *_: object) -> None:
        self.builder.branch(self.head)
        self.builder.position_at_end(self.end)


def address_of(builder: ir.IRBuilder, pointer: ir.Value, index: ir.Value, stored: ir.Type) -> ir.Value:
    """The address of an element of an array."""
    return builder.gep(pointer, [index], inbounds=True, source_etype=stored)
