"""A file of judgements, with which a stopped run of the suite continues."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ...errors import UnsupportedError
from ..json_lines import JsonLines
from .suite import SUITE_VERSION
from .verdicts import Judgement, Verdict


class Journal:
    """A file with a line of JSON for each judgement, after one that names the version of the suite.

    Args:
        path: the file, which is created if it does not exist; None: nothing is stored.
        suite: the version of the suite whose programs are judged.

    Raises:
        UnsupportedError: the journal is of another version of the suite.
    """

    def __init__(self, path: Path | None, suite: str = SUITE_VERSION) -> None:
        self._lines = JsonLines(path, {"suite": suite})
        if self._lines.header.get("suite") != suite:
            raise UnsupportedError(
                f"the journal {path} is of version {self._lines.header.get('suite')} of the suite,"
                f" which has version {suite}"
            )
        judged = map(judgement_of, self._lines.stored)
        self._stored = {one.key: one for one in judged}
        self._lines.rewrite([asdict(one) for one in self._stored.values()])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._lines.close()

    def get(self, id: str, backend: str) -> Judgement | None:
        """The stored judgement on a program and a backend."""
        return self._stored.get((id, backend))

    def append(self, judgement: Judgement) -> None:
        """Store a judgement."""
        self._lines.append(asdict(judgement))


def judgement_of(line: dict[str, Any]) -> Judgement:
    """The judgement of a line of JSON."""
    return Judgement(**{**line, "verdict": Verdict(line["verdict"])})
