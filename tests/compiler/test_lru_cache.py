"""The LRU cache."""

from nimblehlo.compiler.lru_cache import LRUCache


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
