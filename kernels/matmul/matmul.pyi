import numpy as np

from ..launch.block_code import BlockCode
from ..launch.native import NativeFunction

K_BLOCK: int
CHAIN: int
DIRECT_ROWS: int
MAX_SMALL_COMPLEX: int
MAX_ATTENTION_OPERANDS: int

def is_available() -> bool: ...
class ConstantProduct:
    def __init__(self, threads: int | None = None, adds_two_chains: bool = False) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray: ...

class MatmulWithEpilogue:
    def __init__(
        self,
        code: BlockCode,
        position: int,
        transposed: tuple[bool, bool] = (False, False),
        is_rhs_constant: bool = False,
        threads: int | None = None,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, *operands: np.ndarray) -> np.ndarray: ...

def packs_once(rows: int, k_size: int) -> bool: ...
def multiply(lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None) -> np.ndarray: ...
def multiply_in_two_chains(
    lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None
) -> np.ndarray: ...
def multiply_on_one_thread(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray: ...
def launched_product(
    lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None
) -> NativeFunction | None: ...
def multiply_complex(lhs: np.ndarray, rhs: np.ndarray, threads: int | None = None) -> np.ndarray: ...

class FusedAttention:
    def __init__(
        self,
        rows: int,
        seconds: float,
        scores_operand: int,
        weights_are_rhs: bool,
        threads: int | None = None,
    ) -> None: ...
    def __call__(
        self, query: np.ndarray, key: np.ndarray, value: np.ndarray, *row_operands: np.ndarray
    ) -> np.ndarray: ...
