"""Opens pages in a headless browser, without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")
SECONDS = 120
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-logging=stderr",
    "--allow-file-access-from-files",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    # Timers run at once, for so many milliseconds of the page's time.
    "--virtual-time-budget=5000",
    "--dump-dom",
)


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
    """Open a page; skips the test where there is no browser.

    Args:
        page: the file.
        query: what follows the question mark of its address.
    """
    browser = next((found for name in NAMES if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("there is no headless browser")
    address = page.resolve().as_uri() + (f"?{query}" if query else "")
    ran = subprocess.run(
        [browser, *_OPTIONS, address], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return Opened(ran.stdout, re.findall(r":CONSOLE[^\]]*\] (.*)", ran.stderr))
