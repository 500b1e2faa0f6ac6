from collections.abc import Sequence
from typing import Any

import numpy as np

BY_UNIT: str
BY_PAIRS: str

def available() -> tuple[str, ...]: ...
def is_quick(way: str) -> bool: ...
def ways(lhs: str, rhs: str, result: str) -> tuple[str, ...]: ...

class Product:
    def __init__(
        self,
        lhs_shape: Sequence[int],
        rhs_shape: Sequence[int],
        lhs_dtype: Any,
        rhs_dtype: Any,
        result_dtype: Any,
        threads: int | None = None,
        way: str | None = None,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray | None: ...
