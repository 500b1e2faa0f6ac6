"""Whole programs into other programs of the same results."""

from .batching_dims import decompose_batching_dims

__all__ = ["decompose_batching_dims"]
