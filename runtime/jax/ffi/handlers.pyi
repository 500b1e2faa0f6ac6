from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...types import Array, DType

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
def deleter_of(name: str, type_info: int) -> int: ...
def add_type(type_id: int, deleter: int) -> None: ...

class HandlerCall:
    def __init__(
        self,
        handlers: Sequence[int],
        operands: Sequence[tuple[int, tuple[int, ...]]],
        results: Sequence[tuple[int, tuple[int, ...]]],
        arrays: Sequence[tuple[Sequence[int], DType]],
        attributes: Sequence[tuple[bytes, int, Any]],
        aliases: Mapping[int, int],
    ) -> None: ...
    def __call__(self, *inputs: Array) -> tuple[Array, ...]: ...
