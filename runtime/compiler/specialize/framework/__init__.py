"""What passes are built from: the rewriter, effects, constants, common subexpressions, dead code."""
