"""Opens and measures pages in a headless browser, where one is installed, without a network.

`python -m tests.support.browser PAGE.html ...` prints what cannot be read at a width, light or dark.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any, Final

import pytest

WIDTHS: Final = (400, 800, 1300)
"""Pixels of the widths at which pages are looked at: a phone, half a screen, a screen."""

MIN_FONT_PIXELS: Final = 11 * 96 / 72
"""11 points."""

MIN_CONTRAST: Final = 4.5
"""Of text to what is behind it: WCAG 2.2, success criterion 1.4.3 (level AA); 3 for large letters."""

_FINDINGS: Final = ("small", "outside", "cut", "faint")

_NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")

# What is measured of a document: each finding is a text that names the element.
_MEASURE: Final = """
function measured(frame) {
  const page = frame.contentDocument, view = frame.contentWindow, width = view.innerWidth;
  const name = (one) => `${one.tagName.toLowerCase()}#${one.id}.${one.className}: ` +
    (one.textContent || "").trim().slice(0, 40);
  const scrolls = (one) => {
    for (let outer = one; outer && outer !== page.documentElement; outer = outer.parentElement) {
      if (["auto", "scroll"].includes(view.getComputedStyle(outer).overflowX)) return true;
    }
    return false;
  };
  const isShown = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const painter = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const channels = (text) => { // red, green, blue from 0 to 255, and how opaque the colour is
    if (!colours.has(text)) {
      painter.clearRect(0, 0, 1, 1);
      painter.fillStyle = text;
      painter.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = painter.getImageData(0, 0, 1, 1).data;
      colours.set(text, [red, green, blue, alpha / 255]);
    }
    return colours.get(text);
  };
  const over = (upper, lower, share = upper[3]) =>
    [0, 1, 2].map((index) => upper[index] * share + lower[index] * (1 - share));
  const behind = (one) => {
    const layers = [];
    for (let outer = one; outer; outer = outer.parentElement) {
      layers.push(channels(view.getComputedStyle(outer).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((lower, upper) => over(upper, lower), [255, 255, 255]);
  };
  const opacity = (one) => (one ? view.getComputedStyle(one).opacity * opacity(one.parentElement) : 1);
  const luminance = (colour) => {
    const linear = colour.map((one) => (one <= 10 ? one / 3294.6 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (one, style) => {
    const back = behind(one), text = channels(style.color);
    const both = [luminance(back), luminance(over(text, back, text[3] * opacity(one)))];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  };
  const small = [], outside = [], cut = [], faint = [];
  for (const one of page.body.querySelectorAll("*")) {
    if (!isShown(one) || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(one.tagName)) continue;
    const style = view.getComputedStyle(one), bounds = one.getBoundingClientRect();
    if (bounds.width <= 2 || bounds.height <= 2 || bounds.right <= 0) continue;
    const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const size = parseFloat(style.fontSize); // 0: links that are as large as their card have no letters
    if (hasText && size && size < MIN_FONT - 0.01) small.push(`${style.fontSize} ${name(one)}`);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = hasText && size ? contrast(one, style) : MIN_CONTRAST;
    if (ratio < (isLarge ? 3 : MIN_CONTRAST) - 0.01) faint.push(`${ratio.toFixed(1)} ${name(one)}`);
    const isWide = hasText || ["TABLE", "IMG"].includes(one.tagName);
    if (isWide && bounds.right > width + 1 && !scrolls(one))
      outside.push(`${Math.round(bounds.right)} ${name(one)}`);
    if (hasText && ["hidden", "clip"].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1)
      cut.push(name(one));
  }
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number);
    return (0.3 * red + 0.59 * green + 0.11 * blue) / 255;
  };
  const style = view.getComputedStyle(page.body);
  return { width, scrolls_to: page.documentElement.scrollWidth, small, outside, cut, faint,
    text_light: light(style.color), page_light: light(style.backgroundColor), script: EXPRESSION };
}
onload = () => setTimeout(() => {
  const shown = document.createElement("pre");
  try {
    shown.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(measured));
  } catch (error) {
    shown.textContent = JSON.stringify({ error: String(error) });
  }
  document.body.replaceChildren(shown);
}, 300);
"""


@functools.cache
def browser() -> str | None:
    """The path of a browser of the Chromium family; None if there is none."""
    named = os.environ.get("NIMBLEHLO_BROWSER")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


needs_browser = pytest.mark.skipif(
    browser() is None, reason="needs Chromium in PATH, or NIMBLEHLO_BROWSER, which names it"
)


def measure(
    paths: Sequence[Path], widths: Sequence[int] = WIDTHS, *, dark: bool = False, expression: str = "null"
) -> list[dict[str, Any]]:
    """Measure pages.

    Args:
        paths: of the pages.
        widths: of the windows, in pixels.
        dark: whether the user prefers dark pages.
        expression: JavaScript whose value is returned as ``"script"``; `view` is the page's window.

    Returns:
        For each page and each width: ``small``: elements with text of less than 11 points; ``outside``:
        texts, tables and pictures that end beyond the window; ``cut``: texts that are hidden in part;
        ``faint``: texts whose colour is too close to what is behind them;
        ``scrolls_to``: the width of the document; ``text_light``, ``page_light``: how light text and page
        are, from 0 to 1.
    """
    script = _MEASURE.replace("MIN_FONT", str(MIN_FONT_PIXELS))
    script = script.replace("MIN_CONTRAST", str(MIN_CONTRAST)).replace("EXPRESSION", expression)
    frames = "".join(
        f'<iframe src="{escape(path.resolve().as_uri())}"'
        f' style="width:{width}px;height:900px;border:0"></iframe>'
        for path in paths
        for width in widths
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "frames.html")
        page.write_text(
            f"<!doctype html><meta charset=utf-8>{frames}<script>{script}</script>", encoding="utf-8"
        )
        shown = _run([f"--user-data-dir={folder}/profile", *_scheme(dark), page.as_uri()]).stdout
    (text,) = re.findall(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    figures = json.loads(unescape(text))
    assert isinstance(figures, list), figures
    return figures


def faults(paths: Sequence[Path], widths: Sequence[int] = WIDTHS) -> list[str]:
    """What a reader could not read of pages, light and dark: one text for each fault."""
    found = []
    for dark in (False, True):
        each = [(path, width) for path in paths for width in widths]
        for (path, width), figures in zip(each, measure(paths, widths, dark=dark), strict=True):
            where = f"{path.name}, {width} pixels, {'dark' if dark else 'light'}"
            found += [f"{where}: {kind}: {text}" for kind in _FINDINGS for text in figures[kind]]
            if figures["scrolls_to"] > width:
                found.append(f"{where}: the page is {figures['scrolls_to']} pixels wide")
            if (figures["page_light"] < figures["text_light"]) != dark:
                found.append(
                    f"{where}: text of lightness {figures['text_light']:.2f} on {figures['page_light']:.2f}"
                )
    return found


@dataclass(frozen=True)
class Opened:
    """A page after its scripts ran.

    Attributes:
        text: its elements as HTML.
        messages: what its scripts printed on the console, errors among them.
    """

    text: str
    messages: list[str]


def opened(page: Path, query: str = "") -> Opened:
    """Open a page.

    Args:
        page: the file.
        query: what follows the question mark of its address.
    """
    ran = _run([page.resolve().as_uri() + (f"?{query}" if query else "")])
    return Opened(ran.stdout, re.findall(r":CONSOLE[^\]]*\] (.*)", ran.stderr))


def _scheme(dark: bool) -> list[str]:
    return [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]


_OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-logging=stderr",
    "--allow-file-access-from-files",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1500,1000",
    # Timers run at once, for so many milliseconds of the page's time.
    "--virtual-time-budget=5000",
    "--dump-dom",
)


def _run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """What the browser prints."""
    command = [str(browser()), *_OPTIONS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)


if __name__ == "__main__":
    print("\n".join(faults(list(map(Path, sys.argv[1:])))) or "no faults")
