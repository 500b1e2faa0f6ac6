"""Shows progress on the terminal as a bar or as lines of text."""

from __future__ import annotations

import sys
import time


class StatusLine:
    """A line on a terminal's standard error that is rewritten, once the work has taken a second."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0
        self.terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Replace the shown text."""
        if self.terminal and time.monotonic() - self.start > 1.0:
            print(f"\r{text.ljust(self.shown)}", end="", file=sys.stderr, flush=True)
            self.shown = len(text)

    def clear(self) -> None:
        """Erase the text before a line is printed."""
        if self.shown:
            print("\r" + " " * self.shown + "\r", end="", file=sys.stderr, flush=True)
            self.shown = 0


class Progress(StatusLine):
    """A bar.

    Args:
        total: how many parts the work has.
    """

    WIDTH = 40

    def __init__(self, total: int) -> None:
        super().__init__()
        self.total = total
        self.done = 0

    def advance(self) -> None:
        """Count one more part as done."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Show how many parts are done."""
        self.done = done
        filled = self.WIDTH * self.done // self.total
        self.show(f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {self.done}/{self.total}")
