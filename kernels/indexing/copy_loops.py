"""The kernel of `copy`. Importing this module imports Numba."""

from typing import Any

from ..launch.compilation import kernel
from ..simd.copy_bytes import copy_bytes


@kernel(parallel=True)
def copy_range(task: int, size: int, total: int, source: Any, destination: Any) -> None:
    copy_bytes(destination, task * size, source, task * size, min(size, total - task * size))
