from typing import Any

import numpy as np

from .plan import Plan, Step

class Limits:
    def __init__(
        self, max_steps: int | None = None, timeout: float | None = None, max_bytes: int | None = None
    ) -> None: ...

class Donated:
    array: np.ndarray[Any, Any]

def donated(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]: ...

def possible_overwrites(step: Step) -> list[tuple[int, int]]: ...

class BoundRegion:
    captures: tuple[Any, ...]
    def __call__(self, *arguments: Any) -> tuple[Any, ...]: ...
    def count_steps(self, steps: int) -> None: ...

class Runner:
    def __init__(self, plan: Plan) -> None: ...
    def run(self, arguments: tuple[Any, ...] | list[Any], limits: Limits | None = None) -> list[Any]: ...
