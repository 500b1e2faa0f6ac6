"""Disjoint groups of numbers that are joined step by step."""

from __future__ import annotations


class DisjointSet:
    """Union-find over the numbers below `count`, each of which begins in its own set.

    Args:
        count: the number of elements.
        max_size: the maximum size of a set.
    """

    def __init__(self, count: int, max_size: int) -> None:
        self.parent = list(range(count))
        self.sizes = [1] * count
        self.max_size = max_size

    def root(self, element: int) -> int:
        """The representative of an element's set."""
        while self.parent[element] != element:
            self.parent[element] = self.parent[self.parent[element]]
            element = self.parent[element]
        return element

    def size(self, element: int) -> int:
        """The size of an element's set."""
        return self.sizes[self.root(element)]

    def unite(self, a: int, b: int) -> None:
        """Join the sets of two elements, unless the result would exceed `max_size`."""
        a, b = self.root(a), self.root(b)
        if a != b and self.sizes[a] + self.sizes[b] <= self.max_size:
            self.parent[b] = a
            self.sizes[a] += self.sizes[b]
