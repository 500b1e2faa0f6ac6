"""The plan: steps, slots, lifetimes, and the choice between reference and kernel."""

from .choice import Choice, choose
from .lowering import Choose, lower
from .memory_use import Memory, memory_use
from .plan import Plan, Step, all_steps

__all__ = ["Choice", "Choose", "Memory", "Plan", "Step", "all_steps", "choose", "lower", "memory_use"]
