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
from ...kernels.rates import rates
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
    return _limited(machine, count)


def _limited(machine: Machine, count: int) -> Machine:
    """A machine for at most so many threads, with figures for that number too.

    If it was not measured, each figure is the better of those for the next smaller and the next greater
    number: no call on so many threads is faster.
    """
    counts = [number for number in machine.measured_threads if number <= count]
    more = [number for number in machine.measured_threads if number > count]
    figures = machine.figures
    if counts[-1] < count and more:
        neighbours = [_figures_for(count, figures, number) for number in (counts[-1], more[0])]
        figures = {**figures, **better(*neighbours)}
        counts.append(count)
    return Machine(count, tuple(counts), machine.cache_bytes, figures)


def _figures_for(count: int, figures: Mapping[str, float], measured_count: int) -> dict[str, float]:
    """The figures of a measured number of threads, named as those of another number."""
    names = {name: name.rpartition(" ") for name in figures}
    return {
        f"{name} {count}": figures[full]
        for full, (name, _, threads) in names.items()
        if threads == str(measured_count)
    }


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


def _sources() -> list[Path]:
    """The sources that decide what is measured, and by which loops.

    Installed packages have no sources of the loops, but their extension module.

    Raises OSError if the folder of the loops cannot be read.
    """
    here = Path(__file__).resolve()
    extension = Path(rates.__file__).resolve()
    loops = [path for path in sorted(extension.parent.iterdir()) if path.suffix in (".h", ".pyx")]
    modules = [here.with_name(name) for name in ("machine.py", "measuring.py")]
    return [*modules, here.parents[2] / "program/ops/framework/costs.py", *(loops or [extension])]


def stored_path() -> Path | None:
    """The file of this machine's figures, which may not exist yet; None if nothing is kept on disk."""
    described = (platform.machine(), processor_name(), level(), _threads(), cache_sizes())
    try:
        sources_digest = digest_of_sources(*_sources())
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
