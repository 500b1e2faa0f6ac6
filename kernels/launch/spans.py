"""Reports what each thread compiles, loads and waits for to observers such as a profile.

Nothing is recorded while nobody observes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..named_tuples import NamedTuple


class Span(NamedTuple):
    """Something that a thread did for a while.

    Attributes:
        kind: ``"compile"``, ``"load"`` or ``"wait"``.
        name: what was compiled, loaded or waited for.
        thread, thread_name: identifier and name of the thread.
        start, seconds: when it began, by `time.perf_counter`, and how long it took.
    """

    kind: str
    name: str
    thread: int
    thread_name: str
    start: float
    seconds: float


_observers: list[Callable[[Span], object]] = []


@contextmanager
def observed(observer: Callable[[Span], object]) -> Iterator[None]:
    """Let an observer be called with each span that ends meanwhile, on the thread that it is about."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


@contextmanager
def span(kind: str, name: str) -> Iterator[None]:
    """Report the work of the `with` block to observers."""
    start = time.perf_counter()
    try:
        yield
    finally:
        if _observers:
            thread = threading.current_thread()
            seconds = time.perf_counter() - start
            ended = Span(kind, name, threading.get_ident(), thread.name, start, seconds)
            for observer in tuple(_observers):
                observer(ended)
