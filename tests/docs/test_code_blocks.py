"""The pages' code runs as it stands: the blocks of a page one after the other, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in TEXTS if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text(), {"__name__": "__main__"}
    if "import jax" in text:
        pytest.importorskip("jax")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


def test_what_an_exploration_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The page on exploring shows what its first block prints, apart from the time."""
    page = ROOT / "docs" / "explore.md"
    text = page.read_text()
    shown = re.search(r"^```\n(\d+ of \d+ results depend.*?)^```$", text, re.MULTILINE | re.DOTALL)
    block = BLOCK.search(text)
    assert shown and block
    exec(compile(block[1], str(page), "exec"), {"__name__": "__main__"})
    without_time = [re.sub(r"\d+\.\d+ s$", "", line) for line in capsys.readouterr().out.splitlines()]
    assert without_time == [re.sub(r"\d+\.\d+ s$", "", line) for line in shown[1].splitlines()]
