"""Known causes of verdicts other than "within": rules over the backend, the program and the message.

`causes.toml` has the rules. A verdict without a cause is new: nobody has found out yet why the backend does
what it does.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .verdicts import Judgement, Verdict

RULES: Final = Path(__file__).with_name("causes.toml")
_ANY: Final = ".*"


@dataclass(frozen=True)
class Cause:
    """Why backends do what they do with some programs.

    Attributes:
        title: what the backend does, in words.
        why: what the specification says of it, or what is wrong in the backend.
        verdicts: the verdicts that it explains.
        backends, programs: patterns of whole names of backends, or of the libraries that they run, and of
            whole ids of programs.
        detail: a pattern that the verdict's detail contains.
        question: what the specification leaves open there, as a heading of docs/conformance_questions.md;
            empty if nothing is open.
    """

    title: str
    why: str
    verdicts: frozenset[Verdict] = frozenset(Verdict) - {Verdict.WITHIN}
    backends: str = _ANY
    programs: str = _ANY
    detail: str = ""
    question: str = ""

    def explains(self, judgement: Judgement) -> bool:
        """Whether the rule fits."""
        return (
            judgement.verdict in self.verdicts
            and any(re.fullmatch(self.backends, name) for name in {judgement.backend, judgement.library})
            and re.fullmatch(self.programs, judgement.id) is not None
            and re.search(self.detail, judgement.detail) is not None
        )


@functools.cache
def causes() -> Sequence[Cause]:
    """The known causes, in the order in which they are tried."""
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))["cause"]
    return tuple(
        Cause(**{**one, "verdicts": frozenset(map(Verdict, one["verdicts"]))} if "verdicts" in one else one)
        for one in rules
    )


def cause_of(judgement: Judgement) -> Cause | None:
    """The cause of a verdict other than "within"; None if it is not known."""
    return next((one for one in causes() if one.explains(judgement)), None)


@dataclass(frozen=True)
class Group:
    """The judgements on a backend that have one cause.

    Attributes:
        backend: its name.
        cause: the cause; None: it is not known.
        judgements: those that it explains.
    """

    backend: str
    cause: Cause | None
    judgements: Sequence[Judgement]


def by_cause(judgements: Iterable[Judgement]) -> list[Group]:
    """The judgements other than "within" by backend and the cause's title, in the order of the first ones."""
    groups: dict[tuple[str, str], tuple[Cause | None, list[Judgement]]] = {}
    for one in judgements:
        if one.verdict != Verdict.WITHIN:
            cause = cause_of(one)
            title = "" if cause is None else cause.title
            groups.setdefault((one.backend, title), (cause, []))[1].append(one)
    return [Group(backend, *group) for (backend, _), group in groups.items()]
