"""The pages' code runs as it stands: the blocks of a page in sequence, in one namespace."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
"""A block of code; one of an item of a list is indented."""
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_PLATFORM = ROOT / "docs" / "jax.md"
"""The page whose blocks run with NimbleHLO as JAX's platform, which a process chooses when it starts."""
PAGES = [page for page in TEXTS if page != OF_PLATFORM and BLOCK.search(page.read_text())]


def code_of(block: re.Match[str]) -> str:
    return textwrap.dedent(block["code"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text(), {"__name__": "__main__"}
    if "import jax" in text:
        pytest.importorskip("jax")
    if re.search(r"^import torch$", text, re.MULTILINE):
        pytest.importorskip("torch")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start("code"))
        exec(compile("\n" * line + code_of(block), str(page), "exec"), namespace)


def test_blocks_run_on_the_platform(tmp_path: Path) -> None:
    """The findings name the lines of the page, from which one script is made."""
    pytest.importorskip("jax")
    text, script = OF_PLATFORM.read_text(), tmp_path / "train.py"
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        start = text.count("\n", 0, block.start("code"))
        lines[start : start + block["code"].count("\n")] = code_of(block).splitlines()
    script.write_text("\n".join(lines))
    environment = {**os.environ, "JAX_PLATFORMS": "nimblehlo"}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    gathers = [number for number, line in enumerate(lines, 1) if "promise_in_bounds" in line]
    embeddings = [number for number, line in enumerate(lines, 1) if "weights[tokens] - targets" in line]
    assert f"{script}:{gathers[0]} the index vector [9] at [2] was clamped to [4]" in done.stdout
    assert f"{script}:{embeddings[0]}\n" in done.stdout


def test_what_an_exploration_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The page on exploring shows what its first block prints, apart from the time."""
    page = ROOT / "docs" / "explore.md"
    text = page.read_text()
    shown = re.search(r"^```\n(\d+ of \d+ results depend.*?)^```$", text, re.MULTILINE | re.DOTALL)
    block = BLOCK.search(text)
    assert shown and block
    exec(compile(code_of(block), str(page), "exec"), {"__name__": "__main__"})
    without_time = [re.sub(r"\d+\.\d+ s$", "", line) for line in capsys.readouterr().out.splitlines()]
    assert without_time == [re.sub(r"\d+\.\d+ s$", "", line) for line in shown[1].splitlines()]
