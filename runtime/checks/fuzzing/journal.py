"""A file of the outcomes of programs, with which a stopped campaign continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

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
        self._file: Any = None
        self._stored: dict[int, Outcome] = {}
        if path is None:
            return
        lines = _lines(path)
        if lines and lines[0].get("backend") != backend:
            raise ValueError(f"the journal {path} is of the backend {lines[0].get('backend')!r}")
        for line in lines[1:]:
            # A later line of a seed is of a later run.
            self._stored[line["seed"]] = Outcome(**line)
        if drops_findings:
            self._stored = {seed: one for seed, one in self._stored.items() if one.kind != "finding"}
        contents = [{"backend": backend}, *map(asdict, self._stored.values())]
        new_path = path.with_name(f"{path.name}.new")
        new_path.write_text("".join(map(_text, contents)), encoding="utf-8")
        new_path.replace(path)
        self._file = path.open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, seed: int) -> bool:
        return seed in self._stored

    def outcomes(self, seeds: range) -> Iterator[Outcome]:
        """The stored outcomes of seeds, in order."""
        return (self._stored[seed] for seed in seeds if seed in self._stored)

    def append(self, outcome: Outcome) -> None:
        """Store the outcome of a program."""
        if self._file is not None:
            self._file.write(_text(asdict(outcome)))
            self._file.flush()


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line) + "\n"


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; the last one, which a process that was ended may have cut, only if it is whole."""
    lines: list[dict[str, Any]] = []
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
    return lines
