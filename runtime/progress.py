"""A progress bar on the terminal."""

from __future__ import annotations

import sys
import time


class Progress:
    """A bar on a terminal's standard error, once the work has taken a second.

    Args:
        total: how many parts the work has.
    """

    WIDTH = 40

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.start = time.monotonic()
        self.shown = False
        self.terminal = sys.stderr.isatty()

    def advance(self) -> None:
        """Count one more part as done."""
        self.done += 1
        if self.terminal and time.monotonic() - self.start > 1.0:
            filled = self.WIDTH * self.done // self.total
            bar = "#" * filled + "." * (self.WIDTH - filled)
            print(f"\r[{bar}] {self.done}/{self.total}", end="", file=sys.stderr, flush=True)
            self.shown = True

    def clear(self) -> None:
        """Erase the bar before a line is printed."""
        if self.shown:
            print("\r" + " " * (self.WIDTH + 24) + "\r", end="", file=sys.stderr, flush=True)
            self.shown = False
