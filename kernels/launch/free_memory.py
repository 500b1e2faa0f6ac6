"""How much memory the process can still take: what the machine, control groups and resource limits leave.

The kernel ends a process that touches more memory than the machine or its control group has, and no error can
be raised then. So whoever is about to take much memory asks first.
"""

import contextlib
import sys
from pathlib import Path

from .control_groups import ROOT, MemoryLimit, memory_limits

if sys.platform != "win32":
    import resource


MIN_CHECKED_BYTES = 1 << 26
"""Bytes that a program may take without asking what is left. To ask takes 0.3 ms, to fill new huge pages
7 ms."""

_FIGURES = ("MemTotal:", "MemAvailable:", "SwapFree:")
"""The lines of `/proc/meminfo` that count."""

LIBRARY_BYTES = 1 << 28
"""Bytes of address space from which any library that the package loads fits; LLVM's takes 180 MB."""


def as_memory_error(error: Exception) -> Exception:
    """The same error, or a MemoryError for one of the dynamic linker where little address space is left."""
    smallest = min(limits(), default=None)
    if not isinstance(error, (ImportError, OSError)) or smallest is None or smallest.left > LIBRARY_BYTES:
        return error
    reason = f"a library cannot be loaded, as {smallest.source} has only {smallest.left} bytes of memory left"
    return MemoryError(f"{reason}: {error}")


def limits(root: Path = ROOT) -> list[MemoryLimit]:
    """All limits on the process's memory, as they are now; none where the system does not say.

    Args:
        root: the folder that holds `proc` and the hierarchies of control groups.
    """
    machine = _machine_memory(root)
    swap = machine.get("SwapFree", 0)
    found = [*memory_limits(swap, root), *_resource_limits(root)]
    if {"MemAvailable", "MemTotal"} <= machine.keys():
        found.append(MemoryLimit(machine["MemAvailable"] + swap, machine["MemTotal"], "the machine"))
    return found


def shortage_of(needed: int) -> str | None:
    """Why a number of bytes cannot be taken now, in words that follow "takes"; None if they can."""
    if needed < MIN_CHECKED_BYTES:
        return None
    smallest = min(limits(), default=None)
    if smallest is None or needed <= smallest.left:
        return None
    return (
        f"{needed} bytes, but {smallest.source} has only {smallest.left} of its {smallest.total} bytes of "
        "memory left"
    )


def _machine_memory(root: Path) -> dict[str, int]:
    """Bytes of the machine's memory, by the names in `/proc/meminfo`."""
    with contextlib.suppress(OSError, ValueError):
        text = (root / "proc/meminfo").read_text(encoding="utf-8")
        figures = dict([line.split(":", 1) for line in text.splitlines() if line.startswith(_FIGURES)])
        return {name: int(figure.removesuffix(" kB")) << 10 for name, figure in figures.items()}
    return {}


def _resource_limits(root: Path) -> list[MemoryLimit]:
    """What `ulimit -v` and `ulimit -d` leave."""
    found: list[MemoryLimit] = []
    if sys.platform == "win32":
        return found
    kinds = (("RLIMIT_AS", "ulimit -v", 0), ("RLIMIT_DATA", "ulimit -d", 5))
    named = [name for name, _, _ in kinds if hasattr(resource, name)]
    totals = {name: resource.getrlimit(getattr(resource, name))[0] for name in named}
    limited = {name: total for name, total in totals.items() if total != resource.RLIM_INFINITY}
    if not limited:
        return found
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = [int(field) for field in (root / "proc/self/statm").read_text(encoding="utf-8").split()]
        for name, command, field in kinds:
            if name in limited:
                left = max(limited[name] - pages[field] * resource.getpagesize(), 0)
                found.append(MemoryLimit(left, limited[name], f"{name} ({command})"))
    return found
