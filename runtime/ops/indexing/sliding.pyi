from collections.abc import Sequence
from typing import Any

import numpy as np

class SlidingWindow:
    def __init__(self, sizes: Sequence[int], shape: Sequence[int]) -> None: ...
    def __call__(self, operand: np.ndarray[Any, Any], *starts: Any) -> np.ndarray[Any, Any]: ...
