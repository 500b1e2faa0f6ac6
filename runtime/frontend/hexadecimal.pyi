from typing import Any

import numpy as np

def decode(text: str, start: int, out: np.ndarray[Any, np.dtype[np.uint8]]) -> int: ...
