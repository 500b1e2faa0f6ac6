from typing import Any, Final

import numpy as np

ARRAYS: Final[int]
MOST_VALUES: Final[int]
SCRATCH_BYTES: Final[int]
SCRATCH: Final[int]
CONSTANT: Final[int]
APPLY: Final[int]
FOLD: Final[int]
REDUCE: Final[int]
GREATEST: Final[int]
LEAST: Final[int]

def address() -> int: ...
def loop_of(function: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> tuple[int, int] | None: ...
def fold_of(function: np.ufunc, dtype: np.dtype[Any]) -> tuple[int, int] | None: ...
def cast_of(source: np.dtype[Any], target: np.dtype[Any]) -> int | None: ...
def choice_of(dtype: np.dtype[Any]) -> int | None: ...
