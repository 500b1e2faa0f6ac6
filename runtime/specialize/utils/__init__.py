"""What the passes share: effects, constant folding, common subexpressions, dead code."""
