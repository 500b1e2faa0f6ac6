"""A file of lines of JSON after a header, to which a campaign appends what it has done."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any


class JsonLines:
    """A file of lines of JSON.

    Args:
        path: the file, which is created if it does not exist; None: nothing is stored.
        header: its first line, where it is created.

    Attributes:
        header: the file's first line.
        stored: the lines after it.
    """

    def __init__(self, path: Path | None, header: dict[str, Any]) -> None:
        self._path = path
        self._file: IO[str] | None = None
        lines = [] if path is None else _lines(path)
        self.header = lines[0] if lines else header
        self.stored = lines[1:]

    def rewrite(self, lines: Iterable[dict[str, Any]]) -> None:
        """Replace the lines after the header, and open the file for more."""
        if self._path is None:
            return
        new_path = self._path.with_name(f"{self._path.name}.new")
        new_path.write_text("".join(map(_text, [self.header, *lines])), encoding="utf-8")
        new_path.replace(self._path)
        self._file = self._path.open("a", encoding="utf-8")

    def append(self, line: dict[str, Any]) -> None:
        """Append a line, which is on disk afterwards."""
        if self._file is not None:
            self._file.write(_text(line))
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


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
