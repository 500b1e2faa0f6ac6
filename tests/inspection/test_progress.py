"""The progress bar on the terminal."""

from __future__ import annotations

import sys

import pytest

from nimblehlo.inspection.progress import Progress


def test_a_bar_is_shown_on_a_terminal_after_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress(4)
    progress.advance()
    assert not capsys.readouterr().err
    progress.start -= 2
    progress.advance()
    assert capsys.readouterr().err == "\r[" + "#" * 20 + "." * 20 + "] 2/4"
    progress.clear()
    assert capsys.readouterr().err.strip() == "" and not progress.shown


def test_no_bar_is_shown_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(2)
    progress.start -= 2
    progress.advance()
    progress.clear()
    assert not capsys.readouterr().err
