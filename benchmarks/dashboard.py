"""Builds the pages of `make dashboard`, which plot all figures that asv has stored over the commits.

    python -m benchmarks.dashboard

`index.html` says what is better or worse than at the last release, needs no network, and links to asv's
page, `figures.html`, and to the text and the plan of each program that changed. asv's page loads scripts
from other servers. If npm is installed, these scripts are stored beside the page, which then needs no
network either. It reads its figures from a server, such as Python's `http.server` on this machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import nimblehlo

from .overview import Section, changes, overview_page, reference_of, stored_runs, stored_units
from .programs import PROGRAMS, SIZES

CONFIGURATION = Path(__file__).parent / "asv.conf.json"
PAGES = Path(__file__).resolve().parent.parent / ".asv" / "html"

REMOTE = re.compile(r'(src|href)="(https://[^"]+\.(?:js|css))"[^>\n]*?(?=/?>)')
"""A script or style sheet of another server, with its other attributes in the page."""

SOURCES = (
    re.compile(r"code\.jquery\.com/(?P<name>jquery)-(?P<version>[\d.]+)\.min\.js"),
    re.compile(r"/ajax/libs/(?P<name>[^/]+)/(?P<version>[^/]+)/"),
    re.compile(r"/npm/(?P<name>[^/@]+)@(?P<version>[^/]+)/"),
)
STYLE = Path(__file__).with_name("asv_pages.css")
FIGURES = "figures.html"
"""The name of asv's page in the dashboard, whose first page is the overview."""
PACKAGES = {"stupidtable": "stupid-table-plugin"}
"""The names that npm has for libraries, where they differ from those in URLs."""
RANGES = {"jquery": "~"}
"""npm's mark of the versions that serve in place of a URL's: asv needs what jQuery 3.5 has dropped."""


def packages(urls: Iterable[str]) -> dict[str, str]:
    """The npm package of each URL's file; URLs of unknown servers are left out."""
    found: dict[str, str] = {}
    for url in urls:
        match = next(filter(None, (source.search(url) for source in SOURCES)), None)
        if match:
            name = PACKAGES.get(match["name"], match["name"])
            found[url] = f"{name}@{RANGES.get(name, '^')}{match['version']}"
    return found


def file_of(url: str, package: str, folder: Path) -> Path | None:
    """The file of a URL in an unpacked package; an unminified script replaces a minified one."""
    version = package.partition("@")[2].lstrip("^~")
    name = url.rpartition("/")[2].replace(f"-{version}", "")
    root = folder / package.partition("@")[0]
    for wanted in (name, name.replace(".min.", ".")):
        for path in sorted(root.rglob(wanted), key=lambda path: len(path.parts)):
            return path
    return None


def with_local_scripts(page: str, local: Mapping[str, str]) -> str:
    """The page with some URLs replaced by names of files in its folder."""

    def replaced(match: re.Match[str]) -> str:
        return f'{match[1]}="{local[match[2]]}"' if match[2] in local else match[0]

    return REMOTE.sub(replaced, page)


def move_asv_page(pages: Path) -> None:
    """Name asv's page `FIGURES`, and have its feed follow.

    The page gets `STYLE`, larger letters at its axes, and a link to the overview.
    """
    page = (pages / "index.html").read_text()
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    page = page.replace("</head>", f"{viewport}<style>\n{STYLE.read_text()}</style></head>")
    overview = '<li><a href="index.html">Better or worse</a></li>'
    page = page.replace('<li id="nav-li-"', f'{overview}\n        <li id="nav-li-"')
    (pages / FIGURES).write_text(page)
    (pages / "index.html").unlink()
    plots = pages / "graphdisplay.js"
    if plots.exists():
        plots.write_text(re.sub(r"(axisLabelFontSizePixels: )\d+", r"\g<1>15", plots.read_text()))
    feed = pages / "regressions.xml"
    if feed.exists():
        feed.write_text(feed.read_text().replace("index.html#", f"{FIGURES}#"))


def store_scripts(pages: Path) -> bool:
    """Store the scripts of other servers in the page's folder; returns whether all could be stored."""
    index = pages / FIGURES
    page = index.read_text()
    urls = [match[2] for match in REMOTE.finditer(page)]
    wanted = packages(urls)
    npm = shutil.which("npm")
    if npm is None:
        return not urls
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts"]
        command += ["--prefix", folder, *sorted(set(wanted.values()))]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return False
        local: dict[str, str] = {}
        for url, package in wanted.items():
            path = file_of(url, package, Path(folder, "node_modules"))
            if path is not None:
                shutil.copy(path, pages / path.name)
                local[url] = path.name
    index.write_text(with_local_scripts(page, local))
    return len(local) == len(urls)


def write_overview(results: Path, pages: Path) -> None:
    """Write the overview, ``index.html``, and ``plans/NAME.html`` for each program that changed.

    Args:
        results: the folder of asv's results.
        pages: the folder of the pages.
    """
    settings = {}
    released = releases()
    for setting, runs in stored_runs(results).items():
        reference = reference_of(runs, released)
        found = changes(runs, reference, stored_units(results))
        settings[setting] = Section(reference, reference.commit in released, runs, found)
    shown = [change for section in settings.values() for change in section.changes]
    changed = {one for change in shown for one in change.parameters} & PROGRAMS.keys()
    (pages / "plans").mkdir(parents=True, exist_ok=True)
    for name in changed:
        program = PROGRAMS[name]
        lowered = program.lowered(program.inputs(SIZES[0]))
        page = nimblehlo.compile(lowered).explain(html=True)
        (pages / "plans" / f"{name}.html").write_text(page, encoding="utf-8")
    subjects = {commit: subject_of(commit) for commit in {change.commit for change in shown}}
    page = overview_page(settings, changed, subjects, FIGURES)
    (pages / "index.html").write_text(page, encoding="utf-8")


def subject_of(commit: str) -> str:
    """The first line of a commit's message; "" if the repository does not have the commit."""
    command = ["git", "log", "-1", "--format=%s", commit, "--"]
    return subprocess.run(command, capture_output=True, text=True, cwd=CONFIGURATION.parent).stdout.strip()


def releases() -> list[str]:
    """The commits of the tags ``v*``."""
    command = ["git", "for-each-ref", "refs/tags/v*", "--format=%(*objectname) %(objectname)"]
    listed = subprocess.run(command, capture_output=True, text=True, cwd=CONFIGURATION.parent)
    # An annotated tag names its commit first.
    return [line.split()[0] for line in listed.stdout.splitlines()]


def main() -> int:
    """asv's exit status."""
    command = [sys.executable, "-m", "asv", "publish", "--config", str(CONFIGURATION)]
    status = subprocess.run(command).returncode
    if status:
        return status
    move_asv_page(PAGES)
    write_overview(PAGES.parent / "results", PAGES)
    if not store_scripts(PAGES):
        print(f"{FIGURES} loads scripts from other servers: npm could not store them beside it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
