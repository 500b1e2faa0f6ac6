from collections.abc import Sequence
from typing import Any

import numpy as np

def capsule_address(capsule: object) -> int: ...
def call_for_each(
    address: int, count: int, has_wide_integers: bool, arguments: Sequence[np.ndarray[Any, Any] | str | int]
) -> None: ...
