from typing import Any

import numpy as np

def is_available() -> bool: ...

class Decomposition:
    def __call__(self, *operands: np.ndarray) -> tuple[Any, ...]: ...
    @property
    def solver(self) -> int | None: ...

def cholesky(
    dtype: Any, shape: tuple[int, ...], lower: bool, is_blank: bool, threads: int | None = None
) -> Decomposition: ...
def lu(dtype: Any, shape: tuple[int, ...], threads: int | None = None) -> Decomposition: ...
def triangular_solve(
    dtype: Any,
    shape: tuple[int, ...],
    left_side: bool,
    lower: bool,
    transpose: str,
    unit_diagonal: bool,
    threads: int | None = None,
) -> Decomposition: ...
