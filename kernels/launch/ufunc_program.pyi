from typing import Any, Final

import numpy as np

ARRAYS: Final[int]
MAX_VALUES: Final[int]
SCRATCH_BYTES: Final[int]
SCRATCH: Final[int]
CONSTANT: Final[int]
APPLY: Final[int]
TREE_REDUCE: Final[int]
REDUCE: Final[int]
MAXIMUM: Final[int]
MINIMUM: Final[int]

def address() -> int: ...
def is_own_loop(address: int) -> bool: ...
def pairwise_loop_of(function: np.ufunc, dtype: np.dtype[Any]) -> tuple[int, int] | None: ...
def cast_loop_of(source: np.dtype[Any], target: np.dtype[Any]) -> int | None: ...
def select_loop_of(dtype: np.dtype[Any]) -> int | None: ...
