"""The schedules under which a program is run."""

from __future__ import annotations

import dataclasses
from typing import Final, Literal

import numpy as np

from ...kernels.named_tuples import NamedTuple
from ...options import Options, Tree
from ...options import Schedule as ScatterOrder

MAX_PERMUTED_UPDATES: Final = 1 << 16
"""Scatters with fewer updates draw from all permutations; others use shuffled schedules."""

_NAMED: Final[tuple[tuple[ScatterOrder | None, Tree], ...]] = (
    ("reverse", "right"),
    (None, "left"),
    (None, "balanced"),
)
"""The schedules that are tried first: orders of scatter (None: a random one) and trees of reductions."""


class Schedule(NamedTuple):
    """One order of evaluation, wherever the specification does not define one.

    Attributes:
        scatter_schedule, reduction_tree: values of the options of these names.
    """

    scatter_schedule: ScatterOrder
    reduction_tree: Tree

    def options(self, options: Options | None = None) -> Options:
        """Options under which `compile` and `execute` run a program so."""
        return dataclasses.replace(
            options or Options(), scatter_schedule=self.scatter_schedule, reduction_tree=self.reduction_tree
        )

    def __str__(self) -> str:
        return f"scatter_schedule={_text(self.scatter_schedule)}, reduction_tree={_text(self.reduction_tree)}"


def _text(choice: object) -> str:
    if isinstance(choice, tuple) and len(choice) > 8:
        return f"a permutation of {len(choice)}"
    return repr(choice)


def draw_schedules(base: Schedule, count: int, seed: int, max_updates: int) -> list[Schedule]:
    """The first `count` schedules of a seed; the first one is `base`.

    Args:
        max_updates: the largest number of updates of a scatter of the program.
    """
    kind: Literal["random", "shuffled"] = "random" if max_updates < MAX_PERMUTED_UPDATES else "shuffled"
    seeds = np.random.Generator(np.random.PCG64(seed)).integers(0, 2**31, count)
    schedules = [base]
    for number in range(1, count):
        drawn = int(seeds[number])
        random: tuple[ScatterOrder | None, Tree] = (None, ("random", drawn))
        scatter, tree = _NAMED[number - 1] if number <= len(_NAMED) else random
        schedules.append(Schedule(scatter or (kind, drawn), tree))
    return schedules
