from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

ARRAY: Final[int]
DICTIONARY: Final[int]
SCALAR: Final[int]
STRING: Final[int]
STAGES: Final[tuple[str, ...]]
OLDEST: Final[tuple[int, int]]
VERSION: Final[tuple[int, int]]

class HandlerFailure(Exception): ...

def address_of(capsule: object) -> int: ...
def version_of(handler: int) -> tuple[int, int]: ...
def add_type(type_id: int, type_info: int) -> None: ...

class HandlerCall:
    def __init__(
        self,
        handlers: Sequence[int],
        operands: Sequence[tuple[int, tuple[int, ...]]],
        results: Sequence[tuple[int, tuple[int, ...]]],
        arrays: Sequence[tuple[Sequence[int], np.dtype[Any]]],
        attributes: Sequence[tuple[bytes, int, Any]],
        aliases: Mapping[int, int],
    ) -> None: ...
    def __call__(self, *inputs: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]: ...
