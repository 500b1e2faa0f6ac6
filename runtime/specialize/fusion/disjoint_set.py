"""Disjoint groups of numbers that are joined step by step."""

from __future__ import annotations


class DisjointSet:
    """Numbers below `count`, each at first in a group of its own.

    Args:
        count: how many numbers.
        max_size: no group gets more members.
    """

    def __init__(self, count: int, max_size: int) -> None:
        self.parent = list(range(count))
        self.sizes = [1] * count
        self.max_size = max_size

    def root(self, element: int) -> int:
        """The representative of the group that a number is in."""
        while self.parent[element] != element:
            self.parent[element] = self.parent[self.parent[element]]
            element = self.parent[element]
        return element

    def size(self, element: int) -> int:
        """How many members the group of a number has."""
        return self.sizes[self.root(element)]

    def unite(self, a: int, b: int) -> None:
        """Join two groups, if they are not too large."""
        a, b = self.root(a), self.root(b)
        if a != b and self.sizes[a] + self.sizes[b] <= self.max_size:
            self.parent[b] = a
            self.sizes[a] += self.sizes[b]
