"""Makes programs that show a fault smaller, and keeps them valid: `nimblehlo reduce`."""

from .minimizer import MinimizedProgram, minimize

# The names by which users already call them.
Reduced, reduce = MinimizedProgram, minimize

__all__ = ["MinimizedProgram", "Reduced", "minimize", "reduce"]
