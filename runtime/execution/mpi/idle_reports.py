"""What idle ranks report, along a tree of ranks: each joins the reports of its children to its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...kernels.named_tuples import NamedTuple

FAN_OUT: Final = 16
"""Children of a rank in the tree: so few messages come to each rank, and 4,369 ranks are within three
levels."""


class Idle(NamedTuple):
    """The state that an idle rank reports of itself and of the ranks below it.

    Attributes:
        sent, received: numbers of messages.
        waits: the waiting processes and their operations; None if all processes have ended.
        unreceived: the error for values that were sent and not received, or "".
        round: in answer to which question; 0: to none.
        ranks: how many ranks the report is about.
    """

    sent: int
    received: int
    waits: tuple[str, ...] | None
    unreceived: str
    round: int
    ranks: int = 1


def joined(reports: Iterable[Idle]) -> Idle:
    """One report about all ranks of several: it answers the question that all of them have answered."""
    each = list(reports)
    waits = [text for one in each for text in one.waits or ()]
    return Idle(
        sum([one.sent for one in each]),
        sum([one.received for one in each]),
        tuple(waits) if waits or any(one.waits is not None for one in each) else None,
        next((one.unreceived for one in each if one.unreceived), ""),
        min([one.round for one in each]),
        sum([one.ranks for one in each]),
    )


def parent_of(rank: int) -> int:
    """The rank to which a rank other than 0 reports."""
    return (rank - 1) // FAN_OUT


def children_of(rank: int, ranks: int) -> range:
    """The ranks that report to a rank, of so many in all."""
    return range(min(FAN_OUT * rank + 1, ranks), min(FAN_OUT * (rank + 1) + 1, ranks))
