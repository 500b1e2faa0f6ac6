"""A file of the outcomes of programs, with which a stopped campaign continues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Self

from ..json_lines import JsonLines
from .report import Outcome


class Journal:
    """A file with a line of JSON for each program, after one that names the backend.

    Args:
        path: the file, which is created if it does not exist; None: nothing is stored.
        backend: the name of the backend.
        drops_findings: whether programs that are findings count as not run.

    Raises:
        ValueError: the journal is of another backend.
    """

    def __init__(self, path: Path | None, backend: str, drops_findings: bool = False) -> None:
        self._lines = JsonLines(path, {"backend": backend})
        if self._lines.header.get("backend") != backend:
            raise ValueError(f"the journal {path} is of the backend {self._lines.header.get('backend')!r}")
        # A later line of a seed is of a later run.
        self._stored = {line["seed"]: Outcome(**line) for line in self._lines.stored}
        if drops_findings:
            self._stored = {seed: one for seed, one in self._stored.items() if one.kind != "finding"}
        self._lines.rewrite(map(asdict, self._stored.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._lines.close()

    def __contains__(self, seed: int) -> bool:
        return seed in self._stored

    def outcomes(self, seeds: range) -> Iterator[Outcome]:
        """The stored outcomes of seeds, in order."""
        return (self._stored[seed] for seed in seeds if seed in self._stored)

    def append(self, outcome: Outcome) -> None:
        """Store the outcome of a program."""
        self._lines.append(asdict(outcome))
