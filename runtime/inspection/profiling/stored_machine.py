"""Measures this machine once, and keeps the figures in the folder of compiled code.

The first process that asks for the figures measures them, which takes a few seconds. Nothing is measured
unless a profile, a benchmark or the command ``nimblehlo machine`` asks.
"""

from __future__ import annotations

import functools
import json
import platform
from collections.abc import Mapping
from pathlib import Path

from ...kernels.launch.cache_files import digest, digest_of_sources, folder, read_entry, write_entry
from ...kernels.launch.processor import level
from ...kernels.launch.threads import chosen_threads, usable_processors
from .machine import Machine, cache_sizes, processor_name
from .measuring import figures_of, thread_counts


def measured(threads: int | None = None, *, again: bool = False) -> Machine:
    """The figures of this machine, from the disk or measured.

    Args:
        threads: maximum number of threads of the program; None: all.
        again: measure, and keep the better of each figure and the one on disk.

    Returns:
        The machine; `threads` and `measured_threads` are at most `threads`.
    """
    machine = _machine() if not again else _remeasured()
    count = chosen_threads(threads)
    if count >= machine.threads:
        return machine
    fewer = tuple([number for number in machine.measured_threads if number <= count])
    return Machine(count, fewer, machine.cache_bytes, machine.figures)


@functools.cache
def _machine() -> Machine:
    return _stored() or _store(_measure())


def _remeasured() -> Machine:
    stored, new = _stored(), _measure()
    if stored is not None:
        new = Machine(new.threads, new.measured_threads, new.cache_bytes, better(stored.figures, new.figures))
    _machine.cache_clear()
    _store(new)
    return _machine()


def better(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """The greater of two rates and the lesser of two times, by name: other load only slows a machine down."""
    best = {}
    for name in {**first, **second}:
        values = [figures[name] for figures in (first, second) if name in figures]
        best[name] = min(values) if name.startswith("seconds") else max(values)
    return best


def _measure() -> Machine:
    threads = _threads()
    caches = cache_sizes()
    counts = thread_counts(threads)
    return Machine(threads, counts, caches, figures_of(counts, caches))


def _threads() -> int:
    """The number of threads that can run at the same time."""
    return min(chosen_threads(None), usable_processors())


def stored_path() -> Path | None:
    """The file of this machine's figures, which may not exist yet; None if nothing is kept on disk."""
    described = (platform.machine(), processor_name(), level(), _threads(), cache_sizes())
    sources = Path(__file__).resolve().parent
    try:
        sources_digest = digest_of_sources(sources / "machine.py", sources / "measuring.py")
    except OSError:
        return None
    version = folder(digest(repr(described).encode(), sources_digest).hex()[:32])
    return version / "machine.json" if version else None


def _stored() -> Machine | None:
    path = stored_path()
    payload = read_entry(path) if path else None
    if payload is None:
        return None
    return Machine.from_dict(json.loads(payload))


def _store(machine: Machine) -> Machine:
    path = stored_path()
    if path:
        write_entry(path, json.dumps(machine.as_dict()).encode())
    return machine
