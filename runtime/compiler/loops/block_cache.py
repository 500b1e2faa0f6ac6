"""Caches of what is built from blocks, such as code: models repeat equal blocks in their layers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ...program.ir import Block
from ...program.ir.structural_key import structural_key
from ..lru_cache import LRUCache

Built = TypeVar("Built")

MAX_CACHED = 64
"""Number of blocks for which a cache holds what was built."""


class BlockCache(Generic[Built]):
    """A cache of what is built from blocks, by their structural keys."""

    def __init__(self) -> None:
        self._cache: LRUCache[Hashable, tuple[Built, list[object]]] = LRUCache(MAX_CACHED)

    def get_or_build(self, block: Block, build: Callable[[], Built], *other_keys: Hashable) -> Built:
        """What `build` returned for a block of the same structure, or what it returns for this one.

        Args:
            block: a block without captured values.
            other_keys: what `build` depends on besides the block.
        """
        block_key, referenced = structural_key(block)
        key = (block_key, *other_keys)
        cached = self._cache.get(key)
        if cached is None:
            # The entry holds the objects whose identities are in the key, so that these stay theirs.
            cached = build(), referenced
            self._cache.put(key, cached)
        return cached[0]
