"""Verifies on one machine what another one has recorded, which may be of another kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.poisoned.cases import modes_of
from tests.poisoned.worker import difference, outcomes, recorded


class Verified(NamedTuple):
    """A program that ran as often as it was recorded.

    Attributes:
        name: of the program.
        calls: how many calls have the recorded bits.
        reasons: how the other calls differ, by mode.
    """

    name: str
    calls: int
    reasons: dict[str, str]


def verify(path: Path, modes: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Verified]:
    """Run recorded programs, each in some of the modes in which it was recorded.

    Args:
        path: of the file that `tests.poisoned.worker.record` wrote, on this or another machine.
        modes: keys of `tests.poisoned.cases.MODES`.
        share: (number, count) of these programs: every `count`-th, beginning with `number`.
    """
    number, count = share
    for index, (case, wanted) in enumerate(recorded(path)):
        if index % count != number:
            continue
        reasons = {}
        used = [mode for mode in modes if mode in modes_of(case)]
        for mode in used:
            (got,) = outcomes(case, modes_of(case)[mode], calls=1)[:1]
            reason = difference(got, wanted[mode])
            if reason is not None:
                reasons[mode] = reason
        yield Verified(case.name, len(used) - len(reasons), reasons)
