from collections.abc import Iterable, Sequence
from typing import Any

from .compilation import Kernel

def wake_workers() -> None: ...
def has_pool() -> bool: ...
def assume_processors(processors: int) -> None: ...
def run_kernel(kernel: Kernel, tasks: int, arguments: list[Any], threads: int | None) -> None: ...
def run_independent(function: int, closure: int, tasks: int, seconds: float, threads: int | None) -> None: ...
def run_in_order(function: int, closure: int, tasks: int, seconds: float, threads: int | None) -> None: ...

class Launch:
    def __init__(
        self,
        address: int,
        tasks: int,
        accesses: tuple[tuple[int, int], ...],
        integers: tuple[int, ...],
        seconds: float,
        keep_alive: object = None,
        kernel: str | None = None,
    ) -> None: ...

class BlockEpilogue:
    def __init__(self, blocks: Iterable[Iterable[Launch]], threads: int | None = None) -> None: ...
    def run(self, function: int, closure: int, seconds: float, arrays: list[Any]) -> None: ...

class NativeFunction:
    def __init__(
        self,
        operands: Sequence[int],
        results: Sequence[tuple[Iterable[int], Any]],
        launches: Iterable[Launch],
        threads: int | None = None,
        scratch: Sequence[tuple[Iterable[int], Any]] = (),
    ) -> None: ...
    def __call__(self, *operands: Any, out: Any = None) -> Any: ...
