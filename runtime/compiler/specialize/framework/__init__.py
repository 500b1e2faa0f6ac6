"""Utilities of the passes: effects, constant folding, common subexpressions, dead code."""
