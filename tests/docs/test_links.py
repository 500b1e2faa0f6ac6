"""Links between the documents lead somewhere, and no two pages have one title."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")])
TEXTS = [*sorted(ROOT.glob("*.md")), ROOT / "examples" / "README.md", *PAGES]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> str:
    """The text of a document without its blocks of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return CODE_BLOCK.sub("", text)


def anchors(text: str) -> set[str]:
    """The names by which links find the headings of a text, as GitHub and MyST make them."""
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(text)]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def dead_links(path: Path) -> list[str]:
    """The links of a document to files and headings that are not there."""
    dead = []
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(path))):
        if re.match(r"[a-z]+:", target):
            continue  # another site
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists() or (anchor and anchor not in anchors(prose(file))):
            dead.append(target)
    return dead


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    assert not dead_links(path)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# `a` of [two](page.md) words\n[1](#a-of-two-words) [2](page.md) [3](gone.md) [4](page.md#gone)\n"
        "[5](https://elsewhere.org) `[6](code.md)`\n```\n[7](block.md)\n```\n"
    )
    assert dead_links(page) == ["gone.md", "page.md#gone"]


def test_titles_are_unique() -> None:
    titles = Counter(HEADING.findall(prose(page))[0] for page in PAGES)
    assert len(titles) == len(PAGES) and not [title for title, pages in titles.items() if pages > 1]
