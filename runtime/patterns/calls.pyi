from collections.abc import Callable, Container
from types import CodeType
from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")

class Calls(Generic[Kept]):
    def __init__(self, most: int) -> None: ...
    def find(self, settings: tuple[Any, ...], operands: list[Any], options: Any) -> Kept | None: ...
    def keep(
        self,
        settings: tuple[Any, ...],
        operands: list[Any],
        options: Any,
        program: Kept,
        globals_of: Callable[[CodeType], tuple[str, ...] | None],
        known: Container[int],
    ) -> None: ...
