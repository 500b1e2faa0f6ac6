"""Whether the processor's matrix unit may sum products of floats, in an order that nothing else has."""

from __future__ import annotations

import os

__all__ = ["ENVIRONMENT_VARIABLE", "sums_floats"]

ENVIRONMENT_VARIABLE = "NIMBLEHLO_MATRIX_UNIT"


def sums_floats() -> bool:
    """Whether NIMBLEHLO_MATRIX_UNIT=1 allows the matrix unit. The bits of results then differ from other
    processors.

    Raises:
        ValueError: the variable is neither 0 nor 1.
    """
    text = os.environ.get(ENVIRONMENT_VARIABLE) or "0"
    if text not in ("0", "1"):
        raise ValueError(f"{ENVIRONMENT_VARIABLE} is {text!r}, but must be 0 or 1")
    return text == "1"
