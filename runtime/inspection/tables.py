"""Tables as text that fits a terminal's window, and as HTML for notebooks."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from html import escape
from typing import Final, Literal

from ..program.ir.record import Record

Style = Literal["", "good", "bad", "quiet"]
"""What a row says: that something is as it should be, that it is not, or that it matters less."""

MIN_WIDTH: Final = 12
"""Characters that a shortened column keeps at least."""

_GAP: Final = "  "
_ELLIPSIS: Final = "..."
_ESCAPES: Final = {"good": "\x1b[32m", "bad": "\x1b[31m", "quiet": "\x1b[2m", "head": "\x1b[1m"}
_RESET: Final = "\x1b[0m"

# Notebooks have themes of their own, so that everything is relative to the colour of their text.
_STYLE: Final = """<style>
.nimblehlo { font-size: 15px; line-height: 1.45; overflow-x: auto; }
.nimblehlo table { border-collapse: collapse; font-size: 15px; margin: .4em 0; }
.nimblehlo th, .nimblehlo td { text-align: left; padding: .1em .7em .1em 0; white-space: nowrap;
  background: none; border-bottom: 1px solid color-mix(in srgb, currentcolor 20%, transparent);
  vertical-align: top; }
.nimblehlo td.wraps { white-space: normal; min-width: 11em; overflow-wrap: anywhere; }
.nimblehlo .right { text-align: right; } .nimblehlo .bad { color: #d93025; font-weight: 600; }
.nimblehlo .good { color: #1e8e3e; } .nimblehlo .quiet { opacity: .75; } .nimblehlo p { margin: .2em 0; }
</style>"""


class Terminal(Record):
    """How standard output is written.

    Attributes:
        width: characters of a line; None: lines may be as long as they are.
        colour: whether to write in colour.
    """

    width: int | None = None
    colour: bool = False


def terminal(wide: bool = False) -> Terminal:
    """How to write to standard output: pipes and files get all of a line, and no colour.

    Args:
        wide: whether lines are not to be shortened.

    Source: https://no-color.org
    """
    if sys.stdout is None or not sys.stdout.isatty():
        return Terminal()
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Terminal(None if wide else shutil.get_terminal_size().columns, colour)


class Column(Record):
    """A column of a table.

    Attributes:
        title: its heading.
        right: whether its cells are aligned to the right.
        shrinks: whether its cells are shortened in the middle if the table does not fit; in HTML they wrap.
    """

    title: str
    right: bool = False
    shrinks: bool = False


class Table(Record):
    """A table of texts.

    Attributes:
        columns: its columns.
        rows: for each row the texts of its cells.
        styles: for each row its style; none: all are plain.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    styles: Sequence[Style] = ()

    def lines(self, output: Terminal = Terminal()) -> list[str]:  # noqa: B008 (records do not change)
        """The heading and the rows as lines of text.

        Args:
            output: the width that the lines fit, and whether they are coloured.
        """
        widths = self._widths(output.width)
        heads = self._line([column.title for column in self.columns], widths)
        lines = [coloured(heads, "head", output)]
        for number, row in enumerate(self.rows):
            style = self.styles[number] if self.styles else ""
            lines.append(coloured(self._line(row, widths), style, output))
        return lines

    def _widths(self, width: int | None) -> list[int]:
        """The width of each column; those that shrink share what is missing, the widest first."""
        cells = [[column.title for column in self.columns], *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if width is None:
            return widths
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
        shrinking = [number for number, column in enumerate(self.columns) if column.shrinks]
        while excess > 0 and shrinking:
            widest = max(shrinking, key=lambda number: widths[number])
            if widths[widest] <= MIN_WIDTH:
                break
            others = [widths[number] for number in shrinking if widths[number] < widths[widest]]
            step = min(excess, widths[widest] - max([MIN_WIDTH, *others])) or 1
            widths[widest] -= step
            excess -= step
        return widths

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = []
        for column, cell, width in zip(self.columns, row, widths, strict=True):
            text = shortened(cell, width)
            cells.append(text.rjust(width) if column.right else text.ljust(width))
        return _GAP.join(cells).rstrip()

    def html(self) -> str:
        """The table as an element of HTML, every text escaped."""
        heads = "".join(_cell("th", column, column.title) for column in self.columns)
        rows = []
        for number, row in enumerate(self.rows):
            cells = "".join(_cell("td", column, cell) for column, cell in zip(self.columns, row, strict=True))
            style = self.styles[number] if self.styles else ""
            rows.append(f'<tr class="{style}">{cells}</tr>' if style else f"<tr>{cells}</tr>")
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(tag: str, column: Column, text: str) -> str:
    kind = "right" if column.right else "wraps" if column.shrinks else ""
    shown = f' class="{kind}"' if kind else ""
    return f"<{tag}{shown}>{escape(text)}</{tag}>"


def shortened(text: str, width: int) -> str:
    """A text of at most `width` characters, shortened in the middle."""
    if len(text) <= width:
        return text
    kept = max(width - len(_ELLIPSIS), 1)
    tail = kept // 2
    return text[: kept - tail] + _ELLIPSIS + (text[-tail:] if tail else "")


def fitted(text: str, output: Terminal) -> str:
    """A line that fits the window."""
    return text if output.width is None else shortened(text, output.width)


def coloured(text: str, style: Style | Literal["head"], output: Terminal) -> str:
    """A text in the colour of its style, where the output has colours."""
    return f"{_ESCAPES[style]}{text}{_RESET}" if style and output.colour else text


def report_html(title: str, lines: Sequence[str] = (), *tables: Table) -> str:
    """A report for a notebook: a title, lines of text and tables.

    Args:
        title, lines: texts, which are escaped.
        tables: what follows them.
    """
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
    shown = "".join(table.html() for table in tables)
    return f'{_STYLE}<div class="nimblehlo"><p><b>{escape(title)}</b></p>{paragraphs}{shown}</div>'
