"""Which kernel serves an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.declaration import Op


def kernel_for(view: Op, threads: int | None) -> tuple[Callable[[], Callable[..., Any]] | None, str]:
    """What prepares the kernel of an operation, and why; None where its reference serves."""
    return None, "no kernel"
