from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

MOST: Final[int]

def room(updates: int, size: int, dtype: DTypeLike) -> tuple[tuple[int, DTypeLike], ...]: ...
def group(
    destinations: Array, size: int, values: Array, threads: int | None = None,
    lent: Sequence[Array] | None = None,
) -> tuple[Array, Array]: ...
def settle(
    combiner: str, starts: Array, grouped: Array, result: Array, threads: int | None = None,
    lent: Sequence[Array] | None = None,
) -> tuple[Array, Array, Array, Array]: ...
