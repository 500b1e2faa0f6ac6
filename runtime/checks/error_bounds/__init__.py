"""Bounds on the differences between a correct implementation's results and NimbleHLO's, for given inputs.

`rounding_rules` bounds the error of one operation. `monte_carlo` runs a program many times
while each operation is off by random amounts within these limits, and under other orders of reductions and
scatters. `bounds` combines the spread of the runs' results with the error against wider arithmetic.

Monte Carlo arithmetic: D. S. Parker, "Monte Carlo Arithmetic: exploiting randomness in floating-point
arithmetic", UCLA CSD-970002, 1997.
"""

from .bounds import Accuracy, BoundViolation, LostDigits, ResultBound, accuracy

# Former names, which keep working; new code uses the others.
Departure = BoundViolation

__all__ = ["Accuracy", "BoundViolation", "Departure", "LostDigits", "ResultBound", "accuracy"]
