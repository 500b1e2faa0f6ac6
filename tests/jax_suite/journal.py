"""The outcome of each test method, line by line in a file, so that a stopped campaign can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Journal:
    """Outcomes by test method.

    Args:
        path: a file of JSON lines; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, test: str) -> None:
        """A test method starts."""
        self._append({"test": test, "begins": True})

    def end(self, test: str, outcome: str, seconds: float, record: Mapping[str, Any]) -> None:
        """A test method has ended; `record` holds what was counted."""
        self._append({"test": test, "outcome": outcome, "seconds": round(seconds, 3), **record})

    def finished(self) -> dict[str, dict[str, Any]]:
        """The last entry of each test method that has ended."""
        return {entry["test"]: entry for entry in self._entries() if "outcome" in entry}

    def forget_faults(self) -> None:
        """Forget test methods with faults, those that failed or ended their process too: they run again."""
        entries = self.finished().values()
        kept = [
            entry
            for entry in entries
            if not entry.get("faults") and entry["outcome"] in ("passed", "skipped")
        ]
        if self.path.exists():
            self.path.write_text("".join(json.dumps(entry) + "\n" for entry in kept))

    def interrupted(self) -> str | None:
        """The test method that has begun and not ended, if there is one."""
        entries = self._entries()
        return entries[-1]["test"] if entries and "outcome" not in entries[-1] else None

    def _append(self, entry: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def _entries(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        lines = self.path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]
