from collections.abc import Callable, Sequence
from typing import Any

class LoopShards:
    def __init__(
        self,
        count: int,
        rows: int,
        shard_strides: tuple[int | None, ...],
        seconds: float,
        threads: int | None,
    ) -> None: ...

def workspaces_of(shards: int, threads: int | None) -> int: ...

class NativeWhile:
    def __init__(
        self,
        address: int,
        is_invariant: tuple[bool, ...],
        workspace_bytes: int,
        first_iterations: int,
        seconds: float,
        shards: LoopShards | None = None,
        is_overwritten: tuple[bool, ...] = (),
    ) -> None: ...
    def __call__(
        self,
        values: Sequence[Any],
        captured: Sequence[Any],
        count_iterations: Callable[[int], object],
        out: Sequence[Any] | None = None,
    ) -> tuple[Any, ...]: ...
