from collections.abc import Callable
from typing import Any, TypeVar

Argument = TypeVar("Argument")
Value = TypeVar("Value")

MIN_POOLED_BYTES: int
RECYCLING: Any

class Retention:
    def __init__(self, bytes: int, max_bytes: int | None = None) -> None: ...

def limited(max_bytes: int) -> Any: ...
def run_with(
    handler: Any,
    function: Callable[[Argument], Value],
    argument: Argument,
    retention: Retention | None = None,
) -> Value: ...
def idle_bytes() -> int: ...
def release_idle() -> None: ...
