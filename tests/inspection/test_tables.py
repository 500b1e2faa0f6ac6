"""Tables: they fit a window, are coloured where that is wanted, and escape what they show as HTML."""

from __future__ import annotations

import os
import sys

import pytest

from nimblehlo.inspection.tables import (
    MIN_WIDTH,
    MIN_WRAPPED,
    Column,
    Table,
    Terminal,
    coloured,
    fitted,
    report_html,
    shortened,
    terminal,
    wrapped,
)

TABLE = Table(
    (Column("step", right=True), Column("types", shrinks=True), Column("why", shrinks=True)),
    [("0", "tensor<2x16x48xf32>", "one loop over rows for constant, reduce, divide"), ("11", "t", "")],
    ("", "bad"),
)


def test_without_a_width_all_is_shown() -> None:
    assert TABLE.lines() == [
        "step  types                why",
        "   0  tensor<2x16x48xf32>  one loop over rows for constant, reduce, divide",
        "  11  t",
    ]


@pytest.mark.parametrize("width", [200, 74, 73, 60, 50, 40, 6 + 2 * MIN_WIDTH + 2])
def test_lines_fit_the_window(width: int) -> None:
    lines = TABLE.lines(Terminal(width))
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) == min(width, len(TABLE.lines()[1]))
    # The widest column is shortened first.
    assert ("tensor<2x16x48xf32>" in lines[1]) == (width >= 46)


def test_columns_keep_a_least_width() -> None:
    (_, row, _) = TABLE.lines(Terminal(10))
    assert len(row) == 4 + 2 + MIN_WIDTH + 2 + MIN_WIDTH
    assert "tenso...f32>" in row


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (40, ["time", "GB/s", "operation", "how"]),
        (37, ["time", "GB/s", "operation", "how"]),
        (36, ["time", "operation", "how"]),
        (30, ["time", "operation", "how"]),
        (29, ["operation", "how"]),
        (10, ["operation", "how"]),
    ],
)
def test_columns_are_left_out_by_their_ranks(width: int, heads: list[str]) -> None:
    columns = [
        Column("time", right=True, rank=1),
        Column("GB/s", right=True, rank=2),
        Column("operation", shrinks=True, least=9),
        Column("how", shrinks=True),
    ]
    table = Table(columns, [["1.5 s", "12.25", "stablehlo.add", "one loop over rows for divide"]])
    head, row = table.lines(Terminal(width))
    assert head.split() == heads
    assert len(row) <= max(width, 9 + 2 + MIN_WIDTH)
    assert table.lines()[0].split() == ["time", "GB/s", "operation", "how"]


def test_texts_are_shortened_in_the_middle() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 9) == "abc...hij"
    assert shortened("abcdefghij", 8) == "abc...ij"
    assert (
        fitted("abcdefghij", Terminal(9)) == "abc...hij" and fitted("abcdefghij", Terminal()) == "abcdefghij"
    )


def test_sentences_are_wrapped() -> None:
    text = "  the values must be equal, but differ"
    assert wrapped(text, Terminal()) == [text] and wrapped("", Terminal(20)) == [""]
    assert wrapped(text, Terminal(20)) == ["  the values must be", "    equal, but", "    differ"]
    assert wrapped("a" * 12, Terminal(10)) == ["a" * 10, "  aa"]


def test_colours() -> None:
    head, plain, bad = TABLE.lines(Terminal(None, colour=True))
    assert head.startswith("\x1b[1m") and bad.startswith("\x1b[31m") and bad.endswith("\x1b[0m")
    assert "\x1b" not in plain and "\x1b" not in coloured("text", "bad", Terminal())


@pytest.mark.parametrize(
    ("is_terminal", "variables", "wide", "expected"),
    [
        (False, {}, False, Terminal(None, False)),
        (True, {}, False, Terminal(70, True)),
        (True, {"NO_COLOR": "1"}, False, Terminal(70, False)),
        (True, {"NO_COLOR": ""}, False, Terminal(70, True)),
        (True, {"TERM": "dumb"}, True, Terminal(None, False)),
    ],
)
def test_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    variables: dict[str, str],
    wide: bool,
    expected: Terminal,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setitem(os.environ, name, value)
    assert terminal(wide) == expected


def test_long_cells_of_html_wrap() -> None:
    long, short = "x" * MIN_WRAPPED, "x" * (MIN_WRAPPED - 1)
    columns = [Column("a", shrinks=True), Column("b", shrinks=True, wraps=False)]
    words = Table(columns, [[long, long], [short, short]]).html()
    assert f'<td class="wraps">{long}</td><td>{long}</td>' in words
    assert f"<td>{short}</td><td>{short}</td>" in words


def test_html_is_escaped() -> None:
    table = Table([Column("<a>", right=True)], [["<script>alert(1)</script>"]], ["bad"])
    shown = report_html("<b>title", ["<i>line"], table)
    assert "<script>" not in shown and "<i>" not in shown and "&lt;b&gt;title" in shown
    assert '<tr class="bad"><td class="right">&lt;script&gt;' in shown
