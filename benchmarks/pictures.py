"""Pictures for the documents as SVG: light or dark as the reader prefers, with letters of at least 11 points.

A picture is as wide as a phone's page, so that its letters keep their size.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final, Literal

WIDTH: Final = 420
"""Pixels; pages scale a picture down to some 370 pixels at most."""
FONT: Final = 17
"""Pixels of the letters: 11 points where the picture is scaled to 370 pixels."""

Colour = Literal["text", "quiet", "line", "ours", "theirs", "third", "bad", "good"]

_COLOURS: Final[dict[str, tuple[str, str]]] = {
    "page": ("#ffffff", "#15171b"),
    "text": ("#1b1d21", "#e6e7ea"),
    "quiet": ("#565b66", "#a4a9b4"),
    "line": ("#d3d6dc", "#3a3e47"),
    "ours": ("#1a73e8", "#8ab4f8"),
    "theirs": ("#b06000", "#fdbb63"),
    "third": ("#188038", "#81c995"),
    "bad": ("#c5221f", "#ff8a80"),
    "good": ("#188038", "#81c995"),
}
"""Each colour on light and on dark pages."""


def _style() -> str:
    def rules(index: int) -> str:
        return " ".join(
            f".{name} {{ fill: {each[index]}; }} .{name}-line {{ stroke: {each[index]}; }}"
            for name, each in _COLOURS.items()
        )

    return f"{rules(0)} @media (prefers-color-scheme: dark) {{ {rules(1)} }}"


class Picture:
    """Shapes and texts; coordinates are in pixels from the upper left corner.

    Args:
        title: what it shows, for readers who do not see it.
        height: in pixels.
    """

    def __init__(self, title: str, height: float) -> None:
        self.height = height
        self._shapes = [f"<title>{escape(title)}</title>", f"<style>{_style()}</style>"]
        self._shapes.append(f'<rect class="page" width="{WIDTH}" height="{height:g}" rx="6"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: Colour = "text",
        anchor: Literal["start", "middle", "end"] = "start",
        bold: bool = False,
    ) -> None:
        """A line of text, whose letters stand on `y`."""
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text class="{colour}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def line(self, points: list[tuple[float, float]], colour: Colour, width: float = 1.0) -> None:
        """A line through points."""
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(
            f'<polyline class="{colour}-line" points="{listed}" fill="none" stroke-width="{width:g}"/>'
        )

    def bar(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """A filled rectangle."""
        self._shapes.append(
            f'<rect class="{colour}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
        )

    def dot(self, x: float, y: float, colour: Colour, radius: float = 4.0) -> None:
        """A filled circle."""
        self._shapes.append(f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>')

    def svg(self) -> str:
        """The picture as a file's text."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height:g}"'
            f' viewBox="0 0 {WIDTH} {self.height:g}" role="img" font-family="system-ui, sans-serif"'
            f' font-size="{FONT}">\n' + "\n".join(self._shapes) + "\n</svg>\n"
        )

    def save(self, path: Path) -> None:
        """Store the picture."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.svg(), encoding="utf-8")
