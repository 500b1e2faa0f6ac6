from typing import Any

import numpy as np

MIN_GROUPED_LENGTH: int
MIN_SCRATCH_COUNT: int

def sort_by_digits(chosen: bool) -> bool: ...
def sort_address(dtype: Any, by_upper_half: bool = False) -> int: ...
def sort_rows(
    encoding: np.ndarray,
    elements: np.ndarray,
    values: np.ndarray | None,
    positions: np.ndarray | None,
    length: int,
    threads: int | None,
    shift: int = 0,
    permutation: np.ndarray | None = None,
) -> int: ...
def gather_rows(
    source: np.ndarray,
    positions: np.ndarray,
    result: np.ndarray,
    item_bytes: int,
    length: int,
    threads: int | None,
) -> None: ...
