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
    for name, (body, _) in pages.items():
        text = f"<!doctype html>{GOOD % SCHEMES}<body>{body}"
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    bright = f"<!doctype html>{GOOD % 'background: white; color: black'}<body>text"
    (tmp_path / "bright.html").write_text(bright, encoding="utf-8")
    # All pages in one browser, which takes a second to start.
    faults = browser.faults([tmp_path / f"{name}.html" for name in (*pages, "bright")], [400])
    for name, (_, told) in pages.items():
        found = [fault for fault in faults if fault.startswith(f"{name}.html, ")]
        assert told in "\n".join(found) and bool(found) == bool(told), (name, found)
    (fault,) = (fault for fault in faults if fault.startswith("bright.html, "))
    assert "dark: text of lightness 0.00 on 1.00" in fault
