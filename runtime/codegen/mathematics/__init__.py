"""Transcendental functions as straight-line arithmetic on `double`, which LLVM's loop vectoriser takes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..elementwise_floats import reciprocal_square_root

FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType({"stablehlo.rsqrt": reciprocal_square_root})
"""For the name of each operation that is computed in f64 what computes it: from `double` values to one."""
