from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

def capsule_address(capsule: object) -> int: ...
def capsule_signature(capsule: object) -> str: ...

class Call:
    def __init__(
        self,
        address: int,
        has_wide_integers: bool,
        count: int,
        arguments: Sequence[Any],
        results: Sequence[tuple[Sequence[int], Any]],
        context: AbstractContextManager[Any] | None = None,
        seconds: float = 0.0,
        threads: int | None = 1,
    ) -> None: ...
    @property
    def solver(self) -> int | None: ...

class Procedure:
    def __init__(self, prepare: Callable[[], Call]) -> None: ...
    def __call__(self, *operands: Any) -> tuple[Any, ...]: ...
