from typing import Any

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

def supports(dtype: DTypeLike) -> bool: ...
def compare(
    first: Array, second: Array, elements: Array | None = None
) -> tuple[Array | None, int, int, int] | None: ...
def widen(
    reference: Array, values: Array, indices: Array | None, differs: Array, minimum: Array, maximum: Array
) -> None: ...
