from collections.abc import Iterable
from typing import Any

import numpy as np

from .types import Type

def fit_as_they_are(
    inputs: tuple[Any, ...],
    dtypes: tuple[np.dtype[Any] | None, ...],
    shapes: tuple[tuple[int, ...] | None, ...],
) -> bool: ...
def with_donations(inputs: tuple[Any, ...], numbers: Iterable[int]) -> list[Any]: ...
def memory_of(values: Iterable[Any]) -> set[int]: ...
def owned(
    results: list[Any], types: tuple[Type, ...], arguments: Iterable[Any], constants: set[int]
) -> list[Any]: ...
