"""The LRU cache."""

import threading

import pytest

from nimblehlo.compiler.lru_cache import LRUCache
from tests.support.forks import holds_in_child, needs_fork


def test_the_least_recently_used_value_is_dropped() -> None:
    cache: LRUCache[int, str] = LRUCache(2)
    cache.put(1, "one")
    cache.put(2, "two")
    assert cache.get(1) == "one"
    cache.put(3, "three")
    assert cache.get(2) is None
    assert cache.values() == ["one", "three"]


def test_storing_a_key_again_replaces_its_value() -> None:
    cache: LRUCache[int, str] = LRUCache(2)
    for value in ("a", "b"):
        cache.put(1, value)
        cache.put(2, value)
    assert cache.values() == ["b", "b"]


class _Slow:
    """Computes values, the first one only once it may end."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.computed = list[int]()

    def __call__(self) -> int:
        self.computed.append(len(self.computed))
        if len(self.computed) == 1:
            self.has_begun.set()
            assert self.may_end.wait(60)
        return len(self.computed)


def test_threads_wait_for_the_same_key_alone() -> None:
    cache, slow, values = LRUCache[str, int](4), _Slow(), list[int]()
    threads = [
        threading.Thread(target=lambda: values.append(cache.computed("a", slow))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert slow.has_begun.wait(60)
    assert cache.computed("b", lambda: 7) == 7 and cache.get("a") is None
    slow.may_end.set()
    for thread in threads:
        thread.join()
    assert values == [1, 1, 1] and cache.get("a") == 1


def test_where_a_thread_fails_the_next_one_computes() -> None:
    cache = LRUCache[str, int](4)

    def fail() -> int:
        raise ValueError("too hard")

    for _ in range(2):
        with pytest.raises(ValueError, match="too hard"):
            cache.computed("a", fail)
    assert cache.computed("a", lambda: 1) == 1 and not cache._in_work


@needs_fork
def test_a_child_computes_what_another_thread_of_its_parent_computed() -> None:
    cache, slow = LRUCache[str, int](4), _Slow()
    thread = threading.Thread(target=cache.computed, args=["a", slow])
    thread.start()
    assert slow.has_begun.wait(60)

    def check() -> bool:
        return cache.computed("a", slow) == 2

    try:
        with cache._lock:
            assert holds_in_child(check)
    finally:
        slow.may_end.set()
        thread.join()
