from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

COMBINERS: Final[tuple[str, ...]]
SCHEDULES: Final[tuple[str, ...]]

def supports(dtype: DTypeLike, combiner: str) -> bool: ...
def apply(
    combiner: str, elements: Array, initials: Array, bounds: Array, values: Array, schedule: str, seed: int,
    totals: Array, result: Array | None = None, may_be_wide: bool = True,
) -> None: ...
