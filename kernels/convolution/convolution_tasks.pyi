from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..launch.block_code import BlockCode
from ..launch.native import NativeFunction

K_BLOCK: int
OUTSIDE: int
ALWAYS: int
BLOCK: int
CHANNELS: int
WINDOW_ROWS: int
MAX_ENTRIES: int
NONTEMPORAL_BYTES: int
NARROW_ROWS: int
LOW_ROWS: int
GROUP_WINDOWS: int
MAX_AXES: int
WINOGRAD_TILES: int
WINOGRAD_COLUMNS: int

def best_level() -> int: ...
def supports(name: str, level: int) -> bool: ...
def tile_shape(name: str, level: int) -> tuple[int, int, int]: ...
def are_finite(values: np.ndarray) -> bool: ...

class Products:
    def __init__(
        self,
        name: str,
        level: int,
        axes: Sequence[tuple[int, int, int, np.ndarray]],
        tables: Mapping[str, np.ndarray],
        layout: Mapping[str, Sequence[int]],
        offsets: Sequence[int],
        seconds: float,
        threads: int | None = None,
        keeps_panels: bool = False,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None: ...

class CachedByStrides:
    def __init__(
        self,
        make: Callable[..., Callable[..., None]],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray: ...
    def writer(self, lhs: np.ndarray, rhs: np.ndarray) -> Callable[..., Any]: ...

class ConvolutionWithEpilogue:
    def __init__(
        self, convolve: CachedByStrides, code: BlockCode, apply: Callable[..., Any], position: int
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, *operands: np.ndarray) -> np.ndarray: ...

class Scaling:
    def __init__(
        self,
        name: str,
        level: int,
        axes: Sequence[tuple[int, int, int, np.ndarray]],
        tables: Mapping[str, np.ndarray],
        layout: Mapping[str, Sequence[int]],
        seconds: float,
        threads: int | None = None,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None: ...

class Winograd:
    def __init__(
        self,
        level: int,
        tables: Mapping[str, np.ndarray],
        layout: Mapping[str, Sequence[int]],
        seconds: float,
        threads: int | None = None,
        keeps_panels: bool = False,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> bool: ...

class Planes:
    def __init__(
        self,
        name: str,
        level: int,
        tables: Mapping[str, np.ndarray],
        layout: Mapping[str, Sequence[int]],
        seconds: float,
        threads: int | None = None,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None: ...

class Sliding:
    def __init__(
        self,
        name: str,
        level: int,
        tables: Mapping[str, np.ndarray],
        layout: Mapping[str, Sequence[int]],
        offsets: Sequence[int],
        seconds: float,
        threads: int | None = None,
    ) -> None: ...
    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None: ...

class LaunchList:
    def __init__(self, result_bytes: int, threads: int | None) -> None: ...
    def add_check(self, rhs: np.ndarray) -> None: ...
    def add_clear(self, wanted: int) -> None: ...
    def add_writer(self, writer: Any, wanted: int, writes_other: bool = False) -> bool: ...
    def add_overflow_check(self) -> None: ...
    def add_replacement(self) -> None: ...
    def function(
        self, operands: Sequence[int], result: tuple[tuple[int, ...], Any]
    ) -> NativeFunction: ...
