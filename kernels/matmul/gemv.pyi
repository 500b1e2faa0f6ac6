import numpy as np

from ..launch.native import NativeFunction

CHAIN_BYTES: int
K_BLOCK: int

def multiply(lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None) -> np.ndarray: ...
def multiply_on_one_thread(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray: ...
def launched_product(
    lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None
) -> NativeFunction | None: ...
