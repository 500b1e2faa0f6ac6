"""The pages can be built, without a warning."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support import browser


@pytest.fixture(scope="module")
def html(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pages."""
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    pytest.importorskip("furo")
    pytest.importorskip("sphinx_design")
    pytest.importorskip("sphinx_copybutton")
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    made = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(project_root / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return folder / "html"


def test_pages_are_built(html: Path) -> None:
    assert (html / "api.html").exists()
    pages = sorted(html.rglob("*.html"))
    missing = [f"{page.name}: {link}" for page in pages for link in _missing(page)]
    assert not missing, missing
    assert "search.html" in {page.name for page in pages}


@browser.needs_browser
@pytest.mark.parametrize("name", ["index", "api", "findings", "performance"])
def test_pages_run_in_a_browser(html: Path, name: str) -> None:
    page = browser.opened(html / f"{name}.html")
    assert not page.messages
    assert 'class="theme-toggle' in page.text


@browser.needs_browser
def test_nothing_is_cut_off(html: Path) -> None:
    """A page of each kind; `python -m tests.support.browser` measures any others."""
    names = ("index", "api", "performance", "tutorials/debug_numbers", "tutorials/how_it_works")
    assert not browser.faults([html / f"{name}.html" for name in names])


@browser.needs_browser
def test_a_screen_shows_tables_and_code_in_full(html: Path) -> None:
    """At the widest of the widths nothing has to be scrolled sideways; pages with the widest tables."""
    names = ("conformance", "conformance_backends", "custom_calls", "numerics", "tutorials/how_it_works")
    scrolling = """[...view.document.querySelectorAll("article *")].filter((one) => {
        const scrolls = ["auto", "scroll"].includes(view.getComputedStyle(one).overflowX);
        return scrolls && one.scrollWidth > one.clientWidth + 1;
      }).map((one) => one.textContent.trim().slice(0, 40))"""
    paths = [html / f"{name}.html" for name in names]
    figures = browser.measure(paths, browser.WIDTHS[-1:], expression=scrolling)
    assert {name: one["script"] for name, one in zip(names, figures, strict=True) if one["script"]} == {}


@browser.needs_browser
def test_the_search_finds_pages_without_a_network(html: Path) -> None:
    page = browser.opened(html / "search.html", "q=scatter")
    assert not page.messages
    assert '<a href="operations.html' in page.text


@browser.needs_browser
def test_an_error_of_a_script_is_seen(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<script>document.body; absent()</script>")
    page = browser.opened(tmp_path / "page.html")
    assert len(page.messages) == 1
    assert "absent is not defined" in page.messages[0]


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
