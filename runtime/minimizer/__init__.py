"""Makes programs that show a fault smaller, and keeps them valid: `nimblehlo reduce`."""

from .reduction import Reduced, reduce

__all__ = ["Reduced", "reduce"]
