from collections.abc import Callable, Container
from types import CodeType
from typing import Any, Generic, TypeVar

Stored = TypeVar("Stored")

class Calls(Generic[Stored]):
    def __init__(self, max_calls: int) -> None: ...
    def find(self, settings: tuple[Any, ...], operands: list[Any], options: Any) -> Stored | None: ...
    def keep(
        self,
        settings: tuple[Any, ...],
        operands: list[Any],
        options: Any,
        program: Stored,
        globals_of: Callable[[CodeType], tuple[str, ...] | None],
        immutable_ids: Container[int],
    ) -> None: ...
