"""Functions of real numbers that `kernels/math/real_functions.pyx` has, imported where a program needs it."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from ....types import FLOAT, Array, ElementType


class MathFunction:
    """A function on arrays of numbers of 64 bits a component, by a ufunc of `kernels/math`.

    Args:
        name: its name in the module of `kernels/math`.

    Class attributes:
        module: that module.
    """

    module: ClassVar[str]

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *operands: Array) -> Any:
        return self.ufunc(*operands)

    @functools.cached_property
    def ufunc(self) -> np.ufunc:
        """The function itself."""
        function: np.ufunc = getattr(import_module(f"....kernels.math.{self.module}", __package__), self.name)
        return function


class RealFunction(MathFunction):
    """A function on arrays of f64 or f32.

    For f32 the result of f64 is rounded once; functions of the kind SINGLE of
    `kernels/math/real_functions.h` compute the same bits by a shorter algorithm.
    """

    module = "real_functions"

    @staticmethod
    def rounds_to(element_type: ElementType) -> bool:
        """Whether rounding through f32 gives the same values of this type as rounding from f64."""
        return element_type.category == FLOAT and element_type.width <= 32 and element_type.name != "f16"

    @functools.cached_property
    def fast(self) -> RealFunction:
        """The function in the arithmetic of f32, whose errors are at most 1 ulp, if there is one."""
        return RealFunction(f"fast_{self.name}")


erf = RealFunction("erf")
erfc = RealFunction("erfc")
erf_inv = RealFunction("erf_inv")
exponential = RealFunction("exponential")
logistic = RealFunction("logistic")
sine = RealFunction("sine")
cosine = RealFunction("cosine")
tanh = RealFunction("tanh")
cbrt = RealFunction("cbrt")
logarithm = RealFunction("logarithm")
log_plus_one = RealFunction("log_plus_one")
exponential_minus_one = RealFunction("exponential_minus_one")
tangent = RealFunction("tangent")
sinh = RealFunction("sinh")
cosh = RealFunction("cosh")
asin = RealFunction("asin")
acos = RealFunction("acos")
atan = RealFunction("atan")
asinh = RealFunction("asinh")
acosh = RealFunction("acosh")
atanh = RealFunction("atanh")
power = RealFunction("power")
atan2 = RealFunction("atan2")
