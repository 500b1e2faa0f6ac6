"""Finds results that depend on an order which the specification does not define, and explains why.

A program is run under many scatter schedules and reduction trees (`runs`), and its results are compared
(`comparison`). Where some differ, the operations that differ by themselves are looked for
(`responsibility`).
"""

from .comparison import ElementDifference
from .driver import explore
from .report import Exploration, Failure, OperationReport, ResultReport
from .schedules import Schedule

# Former names, which keep working; new code uses the others.
Difference = ElementDifference

__all__ = [
    "Difference",
    "ElementDifference",
    "Exploration",
    "Failure",
    "OperationReport",
    "ResultReport",
    "Schedule",
    "explore",
]
