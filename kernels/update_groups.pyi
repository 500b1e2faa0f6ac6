from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

MOST: Final[int]

def group(
    destinations: Array, size: int, values: Array, threads: int | None = None
) -> tuple[Array, Array]: ...
def settle(
    combiner: str, starts: Array, grouped: Array, result: Array, threads: int | None = None
) -> tuple[Array, Array, Array, Array]: ...
