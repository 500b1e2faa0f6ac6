"""Shuffles and splats of the lanes of vectors in LLVM IR."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from llvmlite import ir

from .base import I32


def shuffle_lanes(
    builder: ir.IRBuilder, vector: ir.Value, lanes: Sequence[int], other: ir.Value | None = None
) -> ir.Value:
    """These lanes of a vector, or of its concatenation with `other`."""
    return builder.shuffle_vector(vector, vector if other is None else other, _mask(tuple(lanes)))


@functools.cache
def _mask(lanes: tuple[int, ...]) -> ir.Constant:
    """The mask of a shuffle; cached, as its text takes longer to write than most instructions."""
    return ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])


def halves(builder: ir.IRBuilder, vector: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower lanes of a vector and the upper ones."""
    count = vector.type.count
    lower, upper = range(count // 2), range(count // 2, count)
    return shuffle_lanes(builder, vector, lower), shuffle_lanes(builder, vector, upper)


def splat(builder: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """A vector with one value in all lanes; a scalar for a single lane."""
    if lanes == 1:
        return value
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    return shuffle_lanes(builder, builder.insert_element(undefined, value, I32(0)), [0] * lanes)
