from collections.abc import Callable, Sequence
from typing import Any

class Parts:
    def __init__(
        self, count: int, rows: int, distances: tuple[int | None, ...], seconds: float, threads: int | None
    ) -> None: ...

class LoopFunction:
    def __init__(
        self,
        address: int,
        unchanged: tuple[bool, ...],
        needed: int,
        first_steps: int,
        seconds: float,
        parts: Parts | None = None,
    ) -> None: ...
    def __call__(
        self,
        values: Sequence[Any],
        captured: Sequence[Any],
        count_steps: Callable[[int], object],
        out: Sequence[Any] | None = None,
    ) -> tuple[Any, ...]: ...
