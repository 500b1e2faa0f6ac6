"""Calls of the f64 functions of `kernels/math`, which references call too.

Loops of vectors call their variants for as many lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ..llvm.vector_variants import call_library


def library_function(name: str) -> Callable[..., ir.Value]:
    """The function of a builder and `double` values that calls one of `kernels/math/real_functions.pyx`."""
    return lambda builder, *operands: call_library(builder, name, operands)
