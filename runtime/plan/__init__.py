"""The plan: steps, slots, lifetimes, and the choice between reference and kernel."""

from .lowering import lower
from .plan import Plan, Step

__all__ = ["Plan", "Step", "lower"]
