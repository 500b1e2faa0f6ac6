"""The picture of docs/performance.md: a row for each family of programs, which is read in ten seconds."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .pictures import FONT, WIDTH, Colour, Picture

RIVALS: Final[tuple[tuple[str, str, Colour], ...]] = (
    ("xla large", "XLA:CPU", "ours"),
    ("numpy large", "NumPy", "theirs"),
    ("interpreter small", "reference interpreter", "third"),
)
"""The figures that are drawn, what they compare with, and their colours."""

_BOUND: Final = "bound large"
_ORIGIN_LETTERS: Final = 42
"""Letters of a line that says when and on what machine the figures were measured."""
_LEFT, _RIGHT, _TOP, _ROW = 178, WIDTH - 20, 164, 46


def summary_picture(found: Mapping[str, Any], family_of: Mapping[str, str]) -> Picture:
    """The median and the range of each family's speed-ups over each rival, and the share of the bound.

    Args:
        found: what docs/performance.json holds.
        family_of: the family of each program.
    """
    origin = textwrap.wrap(f"{found['date']}: {found['machine']}", _ORIGIN_LETTERS)
    families: dict[str, list[Mapping[str, float | None]]] = {}
    for name, row in found["programs"].items():
        families.setdefault(family_of.get(name, "others"), []).append(row)
    picture = Picture(
        "How many times as fast as others NimbleHLO is, by families of programs",
        _TOP + _ROW * len(families) + 34 + (FONT + 6) * (len(origin) + 1),
    )
    high = max(value for rows in families.values() for key, _, _ in RIVALS for value in _values(rows, key))
    low = min(0.3, *[min(_values(rows, "xla large"), default=1.0) for rows in families.values()])
    scale = _Scale(low, high)
    _draw_head(picture, scale, _TOP + _ROW * len(families))
    for index, (family, rows) in enumerate(families.items()):
        _draw_family(picture, scale, _TOP + _ROW * index, family, rows)
    for index, line in enumerate(origin):
        picture.text(14, _TOP + _ROW * len(families) + 54 + (FONT + 6) * index, line, "quiet")
    return picture


class _Scale:
    """A logarithmic axis.

    Args:
        low, high: what has to lie on it.
    """

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = math.log10(low), math.log10(high)

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return _LEFT + share * (_RIGHT - _LEFT)


def _values(rows: Sequence[Mapping[str, float | None]], key: str) -> list[float]:
    return [value for row in rows if (value := row.get(key))]


def _draw_head(picture: Picture, scale: _Scale, bottom: float) -> None:
    picture.text(14, 28, "NimbleHLO is so many times as fast as", bold=True)
    for index, (_, name, colour) in enumerate(RIVALS):
        picture.dot(22, 50 + 24 * index, colour, 6)
        picture.text(36, 56 + 24 * index, name)
    picture.text(14, 128, "dot: median, line: all of a family", "quiet")
    for power in range(math.ceil(scale.low), math.floor(scale.high) + 1):
        x = scale.x(10.0**power)
        picture.line(
            [(x, _TOP - 18), (x, bottom)], "text" if power == 0 else "line", 1.4 if power == 0 else 1
        )
        if power % 2 == 0:
            picture.text(x, bottom + 22, _number(10.0**power), "quiet", "middle")


def _number(value: float) -> str:
    """A number in few letters."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def _draw_family(
    picture: Picture, scale: _Scale, y: float, family: str, rows: Sequence[Mapping[str, float | None]]
) -> None:
    picture.text(14, y + 8, family)
    shares = _values(rows, _BOUND)
    if shares:
        picture.text(14, y + 8 + FONT + 2, f"{100 * statistics.median(shares):.0f} % of bound", "quiet")
    for index, (key, _, colour) in enumerate(RIVALS):
        values = _values(rows, key)
        if not values:
            continue
        height = y - 8 + 11 * index
        picture.line([(scale.x(min(values)), height), (scale.x(max(values)), height)], colour, 3)
        picture.dot(scale.x(statistics.median(values)), height, colour, 5)
