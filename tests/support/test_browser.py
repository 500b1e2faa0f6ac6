"""The measurements of pages find what cannot be read."""

from __future__ import annotations

from pathlib import Path

from tests.support import browser

GOOD = "<meta name=viewport content=width=device-width><style>body { font-size: 16px; %s }</style>"
SCHEMES = "color-scheme: light dark; background: light-dark(white, black); color: light-dark(black, white)"


@browser.needs_browser
def test_each_fault_is_found(tmp_path: Path) -> None:
    pages = {
        "good": ("", ""),
        "small": ("<small style='font-size: 12px'>text</small>", "small: 12px"),
        "wide": ("<table style='width: 900px'><tr><td>cell</table>", "outside: 9"),
        "cut": (
            "<div style='width: 50px; overflow: hidden; white-space: nowrap'>a long text</div>",
            "cut: div",
        ),
        "faint": ("<p style='color: #888; background: #aaa'>text</p>", "faint: 1.5 p"),
        "faded": ("<p style='opacity: 0.3'>text</p>", "faint: "),
        "large": ("<p style='font-size: 24px; color: #555; background: #bbb'>text</p>", ""),
        "scrolled": (
            "<div style='overflow-x: auto'><table style='width: 900px'><tr><td>cell</table></div>",
            "",
        ),
    }
    for name, (body, told) in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(f"<!doctype html>{GOOD % SCHEMES}<body>{body}", encoding="utf-8")
        found = browser.faults([path], [400])
        assert told in "\n".join(found) and bool(found) == bool(told), (name, found)
    bright = tmp_path / "bright.html"
    bright.write_text(
        f"<!doctype html>{GOOD % 'background: white; color: black'}<body>text", encoding="utf-8"
    )
    (fault,) = browser.faults([bright], [400])
    assert "dark: text of lightness 0.00 on 1.00" in fault
