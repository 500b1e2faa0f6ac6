"""A thread-safe LRU cache."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Cached = TypeVar("Cached")


class LRUCache(Generic[Key, Cached]):
    """An LRU cache. Many threads may use it at the same time.

    Args:
        max_size: how many values it holds.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._values: OrderedDict[Key, Cached] = OrderedDict()
        self._begin()
        _caches.add(self)

    def _begin(self) -> None:
        """Let no thread use the cache: in a new cache, and in a child process, which has one thread."""
        self._lock = threading.Lock()
        self._in_work: dict[Key, threading.Event] = {}

    def get(self, key: Key) -> Cached | None:
        """The value of a key, or None."""
        with self._lock:
            return self._get(key)

    def _get(self, key: Key) -> Cached | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: Key, value: Cached) -> None:
        """Store a value; the least recently used one is dropped from a full cache."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._max_size:
                self._values.popitem(last=False)

    def computed(self, key: Key, compute: Callable[[], Cached]) -> Cached:
        """The value of a key, which is computed where there is none.

        One thread computes it, and others that need it wait; values of other keys are computed meanwhile.
        Where that raises an exception, the next thread computes it.
        """
        ended = threading.Event()
        try:
            while True:
                with self._lock:
                    value = self._get(key)
                    if value is not None:
                        return value
                    in_work = self._in_work.setdefault(key, ended)
                if in_work is ended:
                    value = compute()
                    self.put(key, value)
                    return value
                in_work.wait()
        finally:
            with self._lock:
                if self._in_work.get(key) is ended:
                    del self._in_work[key]
            ended.set()

    def values(self) -> list[Cached]:
        """All values, the most recently used last."""
        with self._lock:
            return list(self._values.values())


_caches: weakref.WeakSet[LRUCache[Any, Any]] = weakref.WeakSet()


def _begin_in_child() -> None:
    """Forget the threads that a child process does not have."""
    for cache in _caches:
        cache._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
