"""Transcendental functions, of which LLVM's loop vectoriser makes loops of vectors.

Most are straight-line arithmetic on `double` for arguments that f32 holds, and right once their values are
rounded to f32 or a narrower type: what lies beyond the range of f32 need not be exact. They call no
library. The errors that are stated are in ulps of f64; tools/generated_functions.py measures them.
Functions of f64 are calls of `kernels/math`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from llvmlite import ir

from ..coverage import MATHEMATICS, MATHEMATICS_OF_F64, MATHEMATICS_OF_NARROW_FLOATS
from . import error_functions, exponential, gamma_functions, logarithm, narrow, roots, trigonometry
from .library import library_function
from .reals import Real

Function = Callable[..., ir.Value]


def _on_values(function: Callable[..., Real]) -> Function:
    """A function of a builder and `double` values that returns a `double` value."""
    return lambda builder, *operands: function(*[Real(builder, operand) for operand in operands]).value


def _functions(names: Mapping[str, str]) -> Mapping[str, Function]:
    """The functions of this folder's modules that have these names."""
    modules = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
    functions = {}
    for operation, path in names.items():
        module, _, name = path.partition(".")
        if module == "library":
            functions[operation] = library_function(name)
        else:
            functions[operation] = _on_values(getattr(modules[module], name))
    return MappingProxyType(functions)


_MODULES: Final = (error_functions, exponential, gamma_functions, logarithm, narrow, roots, trigonometry)

FUNCTIONS: Final = _functions(MATHEMATICS)
"""By operation name, the emitters that compute in f64."""

FUNCTIONS_OF_F64: Final = _functions(MATHEMATICS_OF_F64)
"""The emitters that give the references' bits for f64 as well, by operation name."""

NARROW_FUNCTIONS: Final = _functions(MATHEMATICS_OF_NARROW_FLOATS)
"""By operation name, the emitters that compute in `float`, for narrow floats."""
