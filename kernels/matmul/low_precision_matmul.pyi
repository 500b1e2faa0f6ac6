from collections.abc import Sequence
from typing import Any

import numpy as np

AMX: str
AVX512_BF16: str
AVX512_BF16_AS_F32: str
AVX512_VNNI: str

def available() -> tuple[str, ...]: ...
def is_fast(implementation: str) -> bool: ...
def implementations(lhs: str, rhs: str, result: str) -> tuple[str, ...]: ...

class Product:
    def __init__(
        self,
        lhs_shape: Sequence[int],
        rhs_shape: Sequence[int],
        lhs_dtype: Any,
        rhs_dtype: Any,
        result_dtype: Any,
        threads: int | None = None,
        implementation: str | None = None,
        is_rhs_constant: bool = False,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray | None: ...
