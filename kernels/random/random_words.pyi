from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

def three_fry(key: int, counter: int, count: int) -> Array: ...
def philox(key: int, counter: int, high: int, count: int) -> Array: ...
