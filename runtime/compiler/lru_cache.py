"""A thread-safe LRU cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

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
        self._lock = threading.Lock()

    def get(self, key: Key) -> Cached | None:
        """The value of a key, or None."""
        with self._lock:
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

    def values(self) -> list[Cached]:
        """All values, the most recently used last."""
        with self._lock:
            return list(self._values.values())
