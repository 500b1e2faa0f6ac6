"""Transforms programs into other programs with the same results."""

from .batching_dims import decompose_batching_dims
from .refinement import Refinability, is_refinable, refine

__all__ = ["Refinability", "decompose_batching_dims", "is_refinable", "refine"]
