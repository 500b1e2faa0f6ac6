"""LLVM's scalar types, and instructions that need nothing but them.

Compiler processes load this module: it imports neither NumPy nor the types of programs.
"""

from __future__ import annotations

from typing import Final

from llvmlite import ir

from ....kernels.simd.narrow_floats import intrinsic_suffix

BIT: Final = ir.IntType(1)
I8: Final = ir.IntType(8)
I16: Final = ir.IntType(16)
I32: Final = ir.IntType(32)
I64: Final = ir.IntType(64)
F32: Final = ir.FloatType()
F64: Final = ir.DoubleType()
POINTER: Final = ir.PointerType()

_LIKELY_WEIGHT: Final = 1 << 20
"""The branch weight of a likely outcome, relative to 1; LLVM keeps a branch for weights of at least about
100."""


def call(builder: ir.IRBuilder, name: str, *operands: ir.Value) -> ir.Value:
    """Call an intrinsic whose operands and result have one type, which may be a vector's."""
    type = operands[0].type
    function_type = ir.FunctionType(type, [type] * len(operands))
    function = builder.module.declare_intrinsic(f"{name}.{intrinsic_suffix(type)}", (), function_type)
    return builder.call(function, operands)


def rarely(builder: ir.IRBuilder, condition: ir.Value, chosen: ir.Value, other: ir.Value) -> ir.Value:
    """`chosen` where a condition holds that hardly ever does, `other` elsewhere.

    In loops that are not vectorized LLVM makes it a branch: the value waits for neither the condition nor
    `chosen`.
    """
    value = builder.select(condition, chosen, other)
    value.set_metadata("prof", builder.module.add_metadata(["branch_weights", I32(1), I32(_LIKELY_WEIGHT)]))
    return value
