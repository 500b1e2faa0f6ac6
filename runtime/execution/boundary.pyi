from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from ..types import DType, Type
from .executor import Limits
from .memory import Retention

def with_donations(inputs: tuple[Any, ...], numbers: Iterable[int]) -> list[Any]: ...
def base_addresses(values: Iterable[Any]) -> set[int]: ...

class ProgramCall:
    def __init__(
        self,
        runner: Any,
        types: tuple[Type, ...],
        constants: set[int],
        *,
        donated: Iterable[int] = (),
        wake: Callable[[], object] | None = None,
        handler: Any = None,
        retention: Retention | None = None,
        max_bytes: int | None = None,
        needed_bytes: int = 0,
        new_state: Callable[[], AbstractContextManager[None]] | None = None,
        new_limits: Callable[[], Limits] | None = None,
        may_be_abandoned: bool = False,
    ) -> None: ...
    def with_limits(self, new_limits: Callable[[], Limits]) -> ProgramCall: ...
    def run(self, arguments: tuple[Any, ...]) -> list[Any]: ...

class DirectCall:
    def set_expected_inputs(
        self,
        dtypes: tuple[DType | None, ...],
        shapes: tuple[tuple[int, ...] | None, ...],
        call: ProgramCall | None = None,
    ) -> None: ...
    def __call__(self, *inputs: Any) -> list[Any]: ...
    def fits(self, inputs: tuple[Any, ...]) -> bool: ...
