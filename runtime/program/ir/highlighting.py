"""Modules as HTML for notebooks: highlighted, with the elements of large constants folded."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from .attributes import DenseElementsAttribute
from .printer import BriefPrinter, PrintedModule, Printer

MAX_HTML_LINES: Final = 500
"""Maximum number of lines that a notebook shows of a module: browsers lay out some thousand at a glance."""
MAX_HTML_ELEMENTS: Final = 1000
"""Maximum number of elements of a constant that a notebook shows where it is unfolded."""

_TOKENS: Final = re.compile(
    r'(?P<operation>"[\w.$]+"(?=\()|\b(?:func\.func|module)\b)|(?P<value>%[\w#:]+)'
    r"|(?P<type>\b(?:tensor|tuple|complex)<[^ ]*>)|(?P<folded>\ue000(?P<number>\d+)\ue001)"
)
_COLOURS: Final = {
    kind: f"color-mix(in srgb, {colour} 70%, currentcolor)"
    for kind, colour in {"operation": "#1a73e8", "value": "#8e5bd6", "type": "#2a8f5a"}.items()
}
"""Mixed with the text's colour, since a notebook's theme decides whether that is dark or light."""


class _FoldingPrinter(BriefPrinter):
    """Prints a mark for the elements of each large constant."""

    def __init__(self) -> None:
        super().__init__()
        self.folded: list[tuple[str, str]] = []

    def dense(self, attribute: DenseElementsAttribute) -> str:
        brief = super().dense(attribute)
        if not self.is_large(attribute):
            return brief
        elements, _, type = brief.partition(" : ")
        has_all = attribute.array.size <= MAX_HTML_ELEMENTS
        whole = Printer.dense(self, attribute).rpartition(" : ")[0] if has_all else "too many to show here"
        self.folded.append((elements, whole))
        return f"\ue000{len(self.folded) - 1}\ue001 : {type}"


def module_html(module: PrintedModule) -> str:
    """A module as an element of HTML; texts of the module are escaped."""
    printer = _FoldingPrinter()
    printer.module(module)
    lines = [_line_html(line, printer.folded) for line in printer.lines[:MAX_HTML_LINES]]
    more = len(printer.lines) - MAX_HTML_LINES
    if more > 0:
        lines.append(f"<i>and {more:,} more lines, which print(module) shows</i>")
    return (
        '<pre style="font-size: 15px; line-height: 1.45; overflow-x: auto; white-space: pre">'
        + "\n".join(lines)
        + "</pre>"
    )


def _line_html(line: str, folded: list[tuple[str, str]]) -> str:
    shown, end = [], 0
    for match in _TOKENS.finditer(line):
        shown.append(escape(line[end : match.start()]))
        end = match.end()
        if match["folded"] is None:
            colour = _COLOURS[str(match.lastgroup)]
            shown.append(f'<span style="color: {colour}">{escape(match[0])}</span>')
        elif int(match["number"]) < len(folded):
            brief, whole = folded[int(match["number"])]
            shown.append(
                '<details style="display: inline-block; vertical-align: top; white-space: pre-wrap; '
                'overflow-wrap: anywhere"><summary style="display: inline; cursor: pointer">'
                f"<u>{escape(brief)}</u></summary>{escape(whole)}</details>"
            )
    return "".join(shown) + escape(line[end:])
