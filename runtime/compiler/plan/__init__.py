"""The plan: steps, slots, lifetimes, and the choice of what runs each operation."""

from ..implementation import Implementation, Prepared
from .choice import choose
from .lowering import Choose, lower
from .memory_use import Allocation, MemoryEstimate, MemoryTimeline, memory_timeline, memory_use
from .plan import Plan, Step, all_steps

__all__ = [
    "Allocation",
    "Choose",
    "Implementation",
    "MemoryEstimate",
    "MemoryTimeline",
    "Plan",
    "Prepared",
    "Step",
    "all_steps",
    "choose",
    "lower",
    "memory_timeline",
    "memory_use",
]
