"""Finds the first operation whose results in another backend differ from NimbleHLO's: `nimblehlo diff`.

`observation` makes intermediate results outputs, `extraction` makes programs of one operation or region, and
`search` compares values operation by operation with bounds, and goes into branches and iterations.
"""

from .search import Difference, Report, find_difference

__all__ = ["Difference", "Report", "find_difference"]
