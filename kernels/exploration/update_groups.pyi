from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

MAX_COUNT: Final[int]

def scratch_arrays(updates: int, size: int, dtype: DTypeLike) -> tuple[tuple[int, DTypeLike], ...]: ...
def group(
    destinations: Array, size: int, values: Array, threads: int | None = None,
    scratch: Sequence[Array] | None = None,
) -> tuple[Array, Array]: ...
def combine_order_independent(
    combiner: str, starts: Array, grouped: Array, result: Array, threads: int | None = None,
    scratch: Sequence[Array] | None = None,
) -> tuple[Array, Array, Array, Array]: ...
