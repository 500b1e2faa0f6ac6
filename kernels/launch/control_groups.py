"""The limits that Linux's control groups set: processor time, and memory.

A process is in one group of each hierarchy, and each group above it may set a limit as well: the smallest
counts. Version 2 has one hierarchy, version 1 one for each controller, and a machine may use both. In a
container the path of the group may not be below the folder that is mounted; then the mounted folder is the
process's own group.

Every function takes the folder `root` that has `proc` and the mounted hierarchies, for tests. A file that is
missing, unreadable or malformed sets no limit.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from ..named_tuples import NamedTuple

ROOT = Path("/")

_UNLIMITED_BYTES = 1 << 60
"""Version 1 writes a number above this one, the largest multiple of a page, where there is no limit."""


class Group(NamedTuple):
    """A control group of the process, or one above it.

    Attributes:
        version: of its hierarchy, 1 or 2.
        folder: its files.
        name: its path, as messages show it.
    """

    version: int
    folder: Path
    name: str

    def number(self, file: str) -> int | None:
        """The number that a file holds; None if it holds none, such as `max`."""
        return _integer(self.read(file))

    def read(self, file: str) -> str:
        """The content of a file; empty if it cannot be read."""
        return _read(self.folder / file)


class MemoryLimit(NamedTuple):
    """The memory that the process may still take.

    Attributes:
        left: bytes; the pages of files that the kernel can drop count as free.
        total: bytes of the limit.
        source: what sets the limit, in words.
    """

    left: int
    total: int
    source: str


def processor_quota(root: Path = ROOT) -> int | None:
    """The number of processors whose time the process may use, rounded up; None if there is no quota."""
    quotas = [quota for group in _groups("cpu", root) if (quota := _quota(group)) is not None]
    return min(quotas, default=None)


def memory_limits(free_swap: int = 0, root: Path = ROOT) -> list[MemoryLimit]:
    """The limits of the process's groups on memory.

    Args:
        free_swap: bytes of swap space that the machine has left, which groups may use unless they forbid it.
        root: see above.
    """
    limits = [_memory_limit(group, free_swap) for group in _groups("memory", root)]
    return [limit for limit in limits if limit is not None]


def _quota(group: Group) -> int | None:
    if group.version == 2:
        quota, _, period = group.read("cpu.max").partition(" ")
    else:
        quota, period = group.read("cpu.cfs_quota_us"), group.read("cpu.cfs_period_us")
    time, interval = _integer(quota), _integer(period)
    if time is None or interval is None or time <= 0 or interval <= 0:
        return None
    return -(-time // interval)


def _memory_limit(group: Group, free_swap: int) -> MemoryLimit | None:
    files = {1: ("limit_in_bytes", "usage_in_bytes", "total_"), 2: ("max", "current", "")}[group.version]
    limit, usage = group.number(f"memory.{files[0]}"), group.number(f"memory.{files[1]}")
    if limit is None or usage is None or limit >= _UNLIMITED_BYTES:
        return None
    counters = dict(re.findall(r"^(\w+) (\d+)$", group.read("memory.stat"), re.MULTILINE))
    droppable = sum(int(counters.get(f"{files[2]}{name}_file", 0)) for name in ("active", "inactive"))
    left = limit - usage + droppable + _free_swap(group, free_swap, usage)
    return MemoryLimit(max(left, 0), limit, f"the control group {group.name}")


def _free_swap(group: Group, free_swap: int, usage: int) -> int:
    """The bytes of swap space that a group may still use."""
    if group.version == 2:
        limit, used = group.number("memory.swap.max"), group.number("memory.swap.current") or 0
    else:
        # These count memory and swap space together.
        limit, both = group.number("memory.memsw.limit_in_bytes"), group.number("memory.memsw.usage_in_bytes")
        memory_limit = group.number("memory.limit_in_bytes")
        used = 0 if both is None else max(both - usage, 0)
        limit = None if limit is None or memory_limit is None else limit - memory_limit
    return free_swap if limit is None else max(0, min(free_swap, limit - used))


def _groups(controller: str, root: Path) -> Iterator[Group]:
    """The groups of the process that a controller may limit, each before those above it."""
    paths = _paths(root)
    for line in _read(root / "proc/self/mountinfo").splitlines():
        fields, _, described = line.partition(" - ")
        kind, _, options = (described.split() + [""] * 3)[:3]
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        if version is None or (version == 1 and controller not in options.split(",")):
            continue
        path = paths.get("" if version == 2 else controller)
        with contextlib.suppress(IndexError):
            mounted, mount_point = (_unescaped(field) for field in fields.split()[3:5])
            if path is not None:
                yield from _groups_below(root / mount_point.lstrip("/"), version, mounted, path)


def _groups_below(mount_point: Path, version: int, mounted: str, path: str) -> Iterator[Group]:
    """The group at `path` of a hierarchy, and those above it up to `mounted`, which is at `mount_point`."""
    prefix = mounted.rstrip("/")
    below = path[len(prefix) :] if path == prefix or path.startswith(f"{prefix}/") else ""
    names = [name for name in below.split("/") if name]
    if ".." in names:
        # The group is outside of the process's namespace of control groups.
        names = []
    for depth in range(len(names), -1, -1):
        folder = mount_point.joinpath(*names[:depth])
        yield Group(version, folder, "/".join([prefix, *names[:depth]]) or "/")


def _paths(root: Path) -> dict[str, str]:
    """The paths of the process's groups, by controller of version 1; the empty name is version 2's."""
    paths: dict[str, str] = {}
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            paths[""] = path
        else:
            paths.update((name, path) for name in controllers.split(",") if name)
    return paths


def _unescaped(field: str) -> str:
    """A field of `mountinfo`, in which spaces and the like are octal escapes."""
    if "\\" not in field:
        return field
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _integer(text: str) -> int | None:
    with contextlib.suppress(ValueError):
        return int(text)
    return None


def _read(file: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        return file.read_text(encoding="utf-8", errors="surrogateescape").strip()
    return ""
