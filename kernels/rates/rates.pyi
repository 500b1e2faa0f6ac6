from typing import Any

KINDS: dict[str, int]
ARRAYS: dict[str, int]
ELEMENTS: dict[str, int]
CHAINS: int
STEP_BYTES: int
MAX_THREADS: int
NO_TASK: int

def vector_bytes() -> int: ...
def has_dots(element: str) -> bool: ...
def seconds_of(
    kind: str,
    element: str = "i32",
    *,
    width: int = 16,
    variant: int = 0,
    memory: Any = None,
    moved_bytes: int = 0,
    degree: int = 0,
    indices: Any = None,
    repeats: int = 1,
    threads: int = 1,
) -> float: ...
