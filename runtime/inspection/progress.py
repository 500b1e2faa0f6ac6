"""Shows progress on the terminal, or in a notebook, as a bar or as lines of text."""

from __future__ import annotations

import importlib
import sys
import time
from html import escape
from typing import Any


class StatusLine:
    """A line that is rewritten once the work has taken a second: on a terminal's standard error, or in the
    output of a notebook's cell.
    """

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.notebook = None if self.terminal else _notebook_display()
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Replace the shown text."""
        if time.monotonic() - self.start <= 1.0:
            return
        if self.terminal:
            print(f"\r{text.ljust(self.shown)}", end="", file=sys.stderr, flush=True)
            self.shown = len(text)
        elif self.notebook is not None:
            self._show_in_notebook(text)

    def clear(self) -> None:
        """Erase the text before a line is printed."""
        if self.shown and self.terminal:
            print("\r" + " " * self.shown + "\r", end="", file=sys.stderr, flush=True)
        elif self.shown:
            self._show_in_notebook("")
        self.shown = 0

    def _show_in_notebook(self, text: str) -> None:
        assert self.notebook is not None
        bundle = {"text/plain": text, "text/html": f"<code>{escape(text)}</code>"}
        if self._handle is None:
            self._handle = self.notebook(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
        self.shown = len(text)


def _notebook_display() -> Any:
    """IPython's function that displays a value in the output of a notebook's cell; None elsewhere.

    IPython is not imported: a notebook has done so.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not shell.has_trait("kernel"):
        return None
    return importlib.import_module("IPython.display").display


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
