"""Times that other load on the machine disturbs."""

from __future__ import annotations

from collections.abc import Callable


def least(measure: Callable[[], float], goal: float, attempts: int = 20) -> float:
    """The least of several measurements; the first one below the goal ends them.

    What takes too long does so in each of them, and what other load disturbs is quiet in one.
    """
    smallest = measure()
    for _ in range(attempts - 1):
        if smallest < goal:
            break
        smallest = min(smallest, measure())
    return smallest
