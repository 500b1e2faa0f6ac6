"""The programs that every suite, the plot and a test of correctness share; needs the extra `jax`."""

from . import elementwise, indexing, networks, products, reducing
from .program import PROGRAMS, SIZES, Program, RandomArrays, representatives

FAMILIES = (elementwise, indexing, networks, products, reducing)

__all__ = ["FAMILIES", "PROGRAMS", "SIZES", "Program", "RandomArrays", "representatives"]
