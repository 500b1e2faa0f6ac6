"""Tables as text that fits a terminal's window, and as HTML for notebooks."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, Literal

from ..program.ir.record import Record

Style = Literal["", "good", "bad", "quiet"]
"""What a row says: that something is as it should be, that it is not, or that it matters less."""

MIN_WIDTH: Final = 12
"""Characters that a shortened column keeps at least, where it states no other number."""

MIN_WRAPPED: Final = 20
"""Characters from which a cell of HTML may wrap: a shorter one is narrower than those that do."""

_GAP: Final = "  "
_ELLIPSIS: Final = "..."
_ESCAPES: Final = {"good": "\x1b[32m", "bad": "\x1b[31m", "quiet": "\x1b[2m", "head": "\x1b[1m"}
_RESET: Final = "\x1b[0m"

# Notebooks have themes of their own, so that everything is relative to the colour of their text.
_STYLE: Final = """<style>
.nimblehlo { font-size: 15px; line-height: 1.45; overflow-x: auto; }
.nimblehlo table { border-collapse: collapse; font-size: 15px; margin: .4em 0; }
.nimblehlo th, .nimblehlo td { text-align: left; padding: .1em .4em .1em 0; white-space: nowrap;
  background: none; border-bottom: 1px solid color-mix(in srgb, currentcolor 20%, transparent);
  vertical-align: top; }
.nimblehlo td.wraps { white-space: normal; min-width: 10em; overflow-wrap: break-word; }
.nimblehlo .right { text-align: right; }
.nimblehlo .bad { color: color-mix(in srgb, #d93025 70%, currentcolor); font-weight: 600; }
.nimblehlo .good { color: color-mix(in srgb, #1e8e3e 70%, currentcolor); }
.nimblehlo .quiet { opacity: .75; }
.nimblehlo p { margin: .2em 0; white-space: pre-wrap; overflow-wrap: anywhere; }
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
        shrinks: whether its cells are shortened in the middle if the table does not fit.
        wraps: whether such cells wrap in HTML.
        least: characters that it keeps if it shrinks.
        rank: 0: the column is always shown. Others are left out where even shortened cells do not fit, the
            highest rank first.
        short: a shorter text of a cell, for windows that the table does not fit.
    """

    title: str
    right: bool = False
    shrinks: bool = False
    wraps: bool = True
    least: int = MIN_WIDTH
    rank: int = 0
    short: Callable[[str], str] | None = None


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
        cells = [[column.title for column in self.columns], *self.rows]
        widths = _natural_widths(cells)
        numbers = list(range(len(widths)))
        if output.width is not None and _extent(numbers, widths) > output.width:
            cells[1:] = [self._short(row) for row in self.rows]
            numbers, widths = self._layout(_natural_widths(cells), output.width)
        lines = [coloured(self._line(cells[0], numbers, widths), "head", output)]
        for index, row in enumerate(cells[1:]):
            style = self.styles[index] if self.styles else ""
            lines.append(coloured(self._line(row, numbers, widths), style, output))
        return lines

    def _short(self, row: Sequence[str]) -> list[str]:
        pairs = zip(self.columns, row, strict=True)
        return [cell if column.short is None else column.short(cell) for column, cell in pairs]

    def _layout(self, widths: list[int], width: int) -> tuple[list[int], list[int]]:
        """The columns that fit a window, and the width of every column."""
        numbers = list(range(len(widths)))
        pairs = zip(self.columns, widths, strict=True)
        least = [min(wide, column.least) if column.shrinks else wide for column, wide in pairs]
        while _extent(numbers, least) > width:
            last = max(numbers, key=lambda number: self.columns[number].rank)
            if not self.columns[last].rank:
                break
            numbers.remove(last)
        excess = _extent(numbers, widths) - width
        while excess > 0 and (wider := [number for number in numbers if widths[number] > least[number]]):
            # The widest columns share what is missing.
            widest = max(wider, key=lambda number: widths[number])
            others = [widths[number] for number in wider if widths[number] < widths[widest]]
            step = min(excess, widths[widest] - max([least[widest], *others])) or 1
            widths[widest] -= step
            excess -= step
        return numbers, widths

    def _line(self, row: Sequence[str], numbers: Sequence[int], widths: Sequence[int]) -> str:
        cells = []
        for number in numbers:
            text = shortened(row[number], widths[number])
            is_right = self.columns[number].right
            cells.append(text.rjust(widths[number]) if is_right else text.ljust(widths[number]))
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


def short_operation(name: str) -> str:
    """The name of an operation without its dialect."""
    return name.partition(".")[2] or name


def short_types(types: str) -> str:
    """The types of the results alone."""
    return types.rpartition(" -> ")[2]


STEP_COLUMNS: Final = (
    Column("step", shrinks=True, wraps=False, least=10),
    Column("operation", shrinks=True, wraps=False, short=short_operation),
    Column("types", shrinks=True, least=20, rank=2, short=short_types),
)
"""What tables of steps begin with: the step's path, its operation, the types of its operands and results."""


def _natural_widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column in which no cell is cut."""
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


def _extent(numbers: Sequence[int], widths: Sequence[int]) -> int:
    """Characters of a line with some of the columns."""
    return sum(widths[number] for number in numbers) + len(_GAP) * (len(numbers) - 1)


def _cell(tag: str, column: Column, text: str) -> str:
    wraps = column.shrinks and column.wraps and len(text) >= MIN_WRAPPED
    kind = "right" if column.right else "wraps" if wraps else ""
    shown = f' class="{kind}"' if kind else ""
    return f"<{tag}{shown}>{_escaped(text)}</{tag}>"


def _escaped(text: str) -> str:
    """A text as HTML in which no line ends within the arrow of a function's type."""
    return escape(text).replace("-&gt;", '<span style="white-space: nowrap">-&gt;</span>')


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


def wrapped(text: str, output: Terminal) -> list[str]:
    """A sentence in lines that fit the window."""
    if output.width is None:
        return [text]
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text.lstrip(),
        output.width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,  # paths remain whole
    ) or [""]


def coloured(text: str, style: Style | Literal["head"], output: Terminal) -> str:
    """A text in the colour of its style, where the output has colours."""
    return f"{_ESCAPES[style]}{text}{_RESET}" if style and output.colour else text


def report_html(
    title: str, lines: Sequence[str] = (), *tables: Table, closing_lines: Sequence[str] = ()
) -> str:
    """A report for a notebook: a title, lines of text, tables, and lines below them.

    Args:
        title, lines, closing_lines: texts, which are escaped.
        tables: what stands between the lines.
    """
    shown = "".join(table.html() for table in tables)
    return (
        f'{_STYLE}<div class="nimblehlo"><p><b>{_escaped(title)}</b></p>{_paragraphs(lines)}{shown}'
        f"{_paragraphs(closing_lines)}</div>"
    )


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{_escaped(line)}</p>" for line in lines)
