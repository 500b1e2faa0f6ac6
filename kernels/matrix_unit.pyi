from collections.abc import Sequence
from typing import Any

import numpy as np

def is_available() -> bool: ...
def supports(lhs: str, rhs: str, result: str) -> bool: ...

class Product:
    def __init__(
        self,
        lhs_shape: Sequence[int],
        rhs_shape: Sequence[int],
        lhs_dtype: Any,
        rhs_dtype: Any,
        result_dtype: Any,
        threads: int | None = None,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray | None: ...
