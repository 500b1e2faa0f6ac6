from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from .executor import Limits
from .memory import Retention
from .types import DType, Type

def fit_as_they_are(
    inputs: tuple[Any, ...],
    dtypes: tuple[DType | None, ...],
    shapes: tuple[tuple[int, ...] | None, ...],
) -> bool: ...
def with_donations(inputs: tuple[Any, ...], numbers: Iterable[int]) -> list[Any]: ...
def memory_of(values: Iterable[Any]) -> set[int]: ...
def owned(
    results: list[Any], types: tuple[Type, ...], arguments: Iterable[Any], constants: set[int]
) -> list[Any]: ...
def results_of(
    run: Callable[..., list[Any]],
    inputs: Sequence[Any],
    limits: Limits | None,
    types: tuple[Type, ...],
    arguments: tuple[Any, ...],
    constants: set[int],
) -> list[Any]: ...

class DirectCall:
    def __init__(
        self,
        dtypes: tuple[DType | None, ...],
        shapes: tuple[tuple[int, ...] | None, ...],
        run: Callable[..., list[Any]],
        types: tuple[Type, ...],
        constants: set[int],
        errors_ignored: tuple[ContextVar[Any], Any],
        prepare: Callable[[], object] | None,
        memory: tuple[Any, Retention | None] | None,
        other: Callable[..., list[Any]] | None = None,
    ) -> None: ...
    def __call__(self, *inputs: Any) -> list[Any]: ...
    def results_if_fit(self, inputs: tuple[Any, ...]) -> list[Any] | None: ...
    def results(self, inputs: tuple[Any, ...]) -> list[Any]: ...
