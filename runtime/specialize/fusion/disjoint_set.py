"""Disjoint groups of numbers that are joined step by step."""

from __future__ import annotations


class DisjointSet:
    """Numbers below `count`, each at first in a group of its own.

    Args:
        count: how many numbers.
        most: no group gets more members.
    """

    def __init__(self, count: int, most: int) -> None:
        self.parent = list(range(count))
        self.sizes = [1] * count
        self.most = most

    def root(self, number: int) -> int:
        """The representative of the group that a number is in."""
        while self.parent[number] != number:
            self.parent[number] = self.parent[self.parent[number]]
            number = self.parent[number]
        return number

    def size(self, number: int) -> int:
        """How many members the group of a number has."""
        return self.sizes[self.root(number)]

    def unite(self, a: int, b: int) -> None:
        """Join two groups, if they are not too large."""
        a, b = self.root(a), self.root(b)
        if a != b and self.sizes[a] + self.sizes[b] <= self.most:
            self.parent[b] = a
            self.sizes[a] += self.sizes[b]
