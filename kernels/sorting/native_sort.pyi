from typing import Any

import numpy as np

MIN_GROUPED_LENGTH: int
MIN_SCRATCH_COUNT: int

def sort_address(dtype: Any, by_upper_half: bool = False) -> int: ...
def sort_grouped(
    encoding: np.ndarray,
    elements: np.ndarray,
    values: np.ndarray | None,
    positions: np.ndarray | None,
    threads: int | None,
) -> bool | None: ...
