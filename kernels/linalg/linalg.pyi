from typing import Any

import numpy as np

def is_available() -> bool: ...

class LinalgRoutine:
    def __call__(self, *operands: np.ndarray) -> tuple[Any, ...]: ...
    @property
    def solver(self) -> int | None: ...

def cholesky(
    dtype: Any, shape: tuple[int, ...], lower: bool, zeros_other_triangle: bool, threads: int | None = None
) -> LinalgRoutine: ...
def lu(dtype: Any, shape: tuple[int, ...], threads: int | None = None) -> LinalgRoutine: ...
def triangular_solve(
    dtype: Any,
    shape: tuple[int, ...],
    left_side: bool,
    lower: bool,
    transpose: str,
    unit_diagonal: bool,
    threads: int | None = None,
) -> LinalgRoutine: ...
