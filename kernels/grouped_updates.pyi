from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

COMBINERS: Final[tuple[str, ...]]
SCHEDULES: Final[tuple[str, ...]]
MOST: Final[int]

def supports(dtype: DTypeLike, combiner: str) -> bool: ...
def group(destinations: Array, size: int, values: Array) -> tuple[Array, Array]: ...
def settle(
    combiner: str, starts: Array, grouped: Array, result: Array
) -> tuple[Array, Array, Array, Array]: ...
def apply(
    combiner: str, elements: Array, initials: Array, bounds: Array, values: Array, schedule: str, seed: int,
    totals: Array, result: Array | None = None,
) -> None: ...
