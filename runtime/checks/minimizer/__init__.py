"""Makes programs that show a fault smaller, and keeps them valid: `nimblehlo reduce`."""

from .minimizer import MinimizedProgram, minimize

# Former names, which keep working; new code uses the others.
Reduced, reduce = MinimizedProgram, minimize

__all__ = ["MinimizedProgram", "Reduced", "minimize", "reduce"]
