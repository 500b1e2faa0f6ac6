"""The pages can be built, without a warning."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest


def test_pages_are_built(project_root: Path, tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    made = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees"), str(project_root / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "html" / "api.html").exists()
    pages = sorted((tmp_path / "html").rglob("*.html"))
    missing = [f"{page.name}: {link}" for page in pages for link in _missing(page)]
    assert not missing, missing
    assert "search.html" in {page.name for page in pages}


class _Assets(HTMLParser):
    """Collects what a page loads: scripts, style sheets, pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_loaded = tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload")
        source = values.get("href") if is_loaded else values.get("src")
        if source and tag in ("link", "script", "img", "source", "iframe"):
            self.found.append(source)


def _missing(page: Path) -> list[str]:
    """What a page loads that is not there without a network."""
    assets = _Assets()
    assets.feed(page.read_text(encoding="utf-8"))
    local = [source for source in assets.found if not source.startswith("data:")]
    return [source for source in local if not (page.parent / source.partition("?")[0]).is_file()]


def test_a_missing_asset_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.css").write_text("")
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="there.css?v=1"><img src="gone.png"><a href="other.html">'
        '<script src="https://elsewhere.org/x.js"></script><img src="data:image/png;base64,AA==">'
    )
    assert _missing(page) == ["gone.png", "https://elsewhere.org/x.js"]
