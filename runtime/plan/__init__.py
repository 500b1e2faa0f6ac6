"""The plan: steps, slots, lifetimes, and the choice between reference and kernel."""

from .lowering import lower
from .plan import Plan, Step, all_steps

__all__ = ["Plan", "Step", "all_steps", "lower"]
