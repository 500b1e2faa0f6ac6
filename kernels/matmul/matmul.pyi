import numpy as np

from ..launch.native import Sequel

PART: int

def is_available() -> bool: ...
class ProductAnd:
    def __init__(
        self,
        block: tuple[int, int],
        sequel: Sequel,
        position: int,
        turned: tuple[bool, bool] = (False, False),
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, *others: np.ndarray) -> np.ndarray: ...

def multiply(lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None) -> np.ndarray: ...
def multiply_complex(lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None) -> np.ndarray: ...
