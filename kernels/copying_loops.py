"""The loop of `copying`. Importing this module imports Numba."""

from typing import Any

from .compilation import kernel
from .memory import copy_bytes


@kernel(parallel=True)
def copy_range(task: int, size: int, total: int, source: Any, destination: Any) -> None:
    """Copy the bytes of one task."""
    copy_bytes(destination, task * size, source, task * size, min(size, total - task * size))
