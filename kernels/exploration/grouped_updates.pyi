from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

COMBINERS: Final[tuple[str, ...]]
SCHEDULES: Final[tuple[str, ...]]
MAX_SCHEDULES: Final[int]

def supports(dtype: DTypeLike, combiner: str) -> bool: ...
def apply(
    combiner: str, elements: Array, initials: Array, bounds: Array, values: Array, schedule: str, seed: int,
    totals: Array, result: Array | None = None, threads: int | None = None, may_be_wide: bool = True,
) -> None: ...
def compare_schedules(
    combiner: str, elements: Array, initials: Array, bounds: Array, values: Array, reference: Array,
    schedules: Sequence[tuple[str, int]], differs: Array, minimum: Array, maximum: Array,
    threads: int | None = None, may_be_wide: bool = True,
) -> tuple[Array, Array, Array]: ...
