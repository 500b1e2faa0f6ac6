"""The environment variable `NIMBLEHLO_POISON_MEMORY`, for tests that make wrong uses of memory visible."""

import os

ENVIRONMENT_VARIABLE = "NIMBLEHLO_POISON_MEMORY"

MODES = ("0", "1", "exact")

POISON = os.environ.get(ENVIRONMENT_VARIABLE) or "0"
"""How blocks of memory are poisoned. "0": nothing. "1": they are filled with NaNs when they are handed out
and with other NaNs when they are freed, and guarded. "exact": the same without guards, and each block is
allocated with the requested size. `runtime/execution/memory.pyx` says more."""

if POISON not in MODES:
    raise ValueError(f"{ENVIRONMENT_VARIABLE} must be one of {', '.join(MODES)}, but is {POISON}")


def max_cached_bytes(size: int) -> int:
    """The bytes of scratch memory kept between calls: `size`, or 0 if memory is poisoned."""
    return size if POISON == "0" else 0
