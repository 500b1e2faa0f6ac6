"""Finds results that depend on an order which the specification does not define, and explains why.

A program is run under many scatter schedules and reduction trees (`runs`), and its results are compared
(`differences`). Where some differ, the operations that differ by themselves are looked for
(`responsibility`).
"""

from .differences import Difference
from .exploration import Exploration, Failure, OperationReport, ResultReport
from .exploring import explore
from .schedules import Schedule

__all__ = ["Difference", "Exploration", "Failure", "OperationReport", "ResultReport", "Schedule", "explore"]
