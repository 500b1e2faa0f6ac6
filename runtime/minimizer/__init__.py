"""Makes programs that show a fault smaller, and keeps them valid: `nimblehlo reduce`."""

from .minimizer import MinimizedProgram, minimize

__all__ = ["MinimizedProgram", "minimize"]
