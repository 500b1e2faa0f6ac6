"""The plan: steps, slots, lifetimes, and the choice between reference and kernel."""

from .lowering import lower
from .memory_use import Memory, memory_use
from .plan import Plan, Step, all_steps

__all__ = ["Memory", "Plan", "Step", "all_steps", "lower", "memory_use"]
