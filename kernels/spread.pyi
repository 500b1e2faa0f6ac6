from typing import Any

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

def supports(dtype: DTypeLike) -> bool: ...
def compare(first: Array, second: Array) -> tuple[int, int, int, int]: ...
def widen(first: Array, second: Array, differs: Array, least: Array, most: Array) -> None: ...
