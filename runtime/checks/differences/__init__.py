"""Finds the first operation whose results in another backend differ from NimbleHLO's: `nimblehlo diff`.

`extraction` makes programs that return intermediate results, and programs of one operation or region;
`search` compares the values of each operation with their bounds, and enters branches and iterations.
"""

from .search import FaultyOperation, Report, find_faulty_operation

# Former names, which keep working; new code uses the others.
Difference, find_difference = FaultyOperation, find_faulty_operation

__all__ = ["Difference", "FaultyOperation", "Report", "find_difference", "find_faulty_operation"]
