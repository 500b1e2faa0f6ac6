from collections.abc import Sequence
from typing import Any

from ...types import Array

class SlidingWindow:
    def __init__(self, sizes: Sequence[int], shape: Sequence[int]) -> None: ...
    def __call__(self, operand: Array, *starts: Any) -> Array: ...
