"""Transcendental functions, of which LLVM's loop vectoriser makes loops of vectors.

Most are straight-line arithmetic on `double` for arguments that f32 holds, and right once their values are
rounded to f32 or a narrower type: what lies beyond the range of f32 need not be exact. They call no
library. The errors that are stated are in ulps of f64; tools/generated_functions.py measures them.
Functions of f64 are calls of `kernels/math`. The modules of `f32` have functions in the arithmetic of f32,
whose errors may be 1 ulp.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

from llvmlite import ir

from .library import library_function
from .reals import Real

Function = Callable[..., ir.Value]


def _on_values(function: Callable[..., Real]) -> Function:
    """A function of a builder and numbers of a type that returns one."""
    return lambda builder, *operands: function(*[Real(builder, operand) for operand in operands]).value


@functools.cache
def function_of(name: str) -> Function:
    """The emitter of a function, by its module in this folder and its name, as declarations state it.

    The module is imported once its code is generated: a first call seldom waits for that.
    """
    module, _, function = name.rpartition(".")
    if module == "library":
        return library_function(function)
    return _on_values(getattr(importlib.import_module(f".{module}", __name__), function))
