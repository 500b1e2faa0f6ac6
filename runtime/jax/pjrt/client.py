"""The plugin's description of itself: versions and devices."""

from __future__ import annotations

import os
from typing import Final

from ...errors import ParseError, UnsupportedError
from ...program.frontend.jaxlib_modules import latest_version

MAX_DEVICES: Final = 1024

MEMORY_KINDS: Final = ("device", "pinned_host", "unpinned_host")
"""The memory kinds of JAX's CPU backend, all of which are host memory; the first is the default."""

_STABLEHLO_VERSION: Final = (1, 10, 0)
"""The version that a caller without jaxlib must have."""


def device_count() -> int:
    """The number of devices: ``NIMBLEHLO_JAX_DEVICES``, by default 1.

    Raises:
        UnsupportedError: the variable holds no number from 1 to MAX_DEVICES.
    """
    text = os.environ.get("NIMBLEHLO_JAX_DEVICES") or "1"
    if not text.isdecimal() or not 1 <= int(text) <= MAX_DEVICES:
        raise UnsupportedError(
            f"NIMBLEHLO_JAX_DEVICES is {text!r}, but must be a number from 1 to {MAX_DEVICES}"
        )
    return int(text)


def topology_size(text: bytes) -> int:
    """The number of devices of a topology from its serialized form, a number as text; 1 if that is empty.

    Raises:
        ParseError: the text is not a number from 1 to MAX_DEVICES.
    """
    if not text:
        return 1
    if not text.isdigit() or not 1 <= int(text) <= MAX_DEVICES:
        raise ParseError(f"a topology of NimbleHLO is a number of devices from 1 to {MAX_DEVICES}")
    return int(text)


def require_one_process(count: int) -> None:
    """Check that a client is not one of several processes (`jax.distributed`).

    Args:
        count: JAX's option ``num_nodes``.

    Raises:
        UnsupportedError: it is.
    """
    if count > 1:
        raise UnsupportedError(
            f"jax.distributed has {count} processes, but devices of other processes are not supported: "
            "processes exchange values over MPI alone; nimblehlo.mpi runs programs with shard_map on ranks"
        )


def platform_version() -> str:
    """The version of NimbleHLO; JAX makes it a part of the keys of its compilation cache."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nimblehlo")
    except PackageNotFoundError:
        return "unknown"


def stablehlo_version() -> tuple[int, int, int]:
    """The newest version of StableHLO that portable artifacts may have."""
    try:
        major, minor, patch = latest_version().split(".")
    except ImportError:
        return _STABLEHLO_VERSION
    return int(major), int(minor), int(patch)
