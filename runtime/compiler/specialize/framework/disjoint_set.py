"""Disjoint groups of numbers that are joined step by step."""

from __future__ import annotations

from collections.abc import Mapping


class DisjointSet:
    """Union-find over the numbers below `count`, each of which begins in its own set.

    Args:
        count: the number of elements.
        max_size: the maximum size of a set.
        max_sizes: of the sets of some elements, where it is less.
    """

    def __init__(self, count: int, max_size: int, max_sizes: Mapping[int, int] | None = None) -> None:
        self.parent = list(range(count))
        self.sizes = [1] * count
        self.max_sizes = [max_size] * count
        for element, size in (max_sizes or {}).items():
            self.max_sizes[element] = size

    def root(self, element: int) -> int:
        """The representative of an element's set."""
        while self.parent[element] != element:
            self.parent[element] = self.parent[self.parent[element]]
            element = self.parent[element]
        return element

    def size(self, element: int) -> int:
        """The size of an element's set."""
        return self.sizes[self.root(element)]

    def max_size(self, element: int) -> int:
        """The maximum size of an element's set."""
        return self.max_sizes[self.root(element)]

    def unite(self, a: int, b: int) -> None:
        """Join the sets of two elements, unless the result would exceed the maximum size of either."""
        a, b = self.root(a), self.root(b)
        max_size = min(self.max_sizes[a], self.max_sizes[b])
        if a != b and self.sizes[a] + self.sizes[b] <= max_size:
            self.parent[b] = a
            self.sizes[a] += self.sizes[b]
            self.max_sizes[a] = max_size
