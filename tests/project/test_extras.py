"""Error texts and documents name extras that the package has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

FILES = ("README.md", "CONTRIBUTING.md", "pyproject.toml", "nimblehlo_pytest.py")
FOLDERS = ("runtime", "kernels", "tools", "benchmarks", "tests", "examples", "docs")
SUFFIXES = (".py", ".pyx", ".md", ".ipynb")
NAMED = re.compile(r"(?:nimblehlo|'\.)\[([a-z][a-z,-]*)\]")
"""An installed package with extras, or a checkout's: `nimblehlo[jax]`, `'.[jax,plot]'`."""


def _texts(root: Path) -> Iterator[Path]:
    yield from (root / name for name in FILES)
    for folder in FOLDERS:
        yield from (path for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)


def test_extras_that_texts_name_exist(project_root: Path) -> None:
    project = tomllib.loads((project_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].keys()
    named = {
        (extra, str(path.relative_to(project_root)))
        for path in _texts(project_root)
        for extras_of_text in NAMED.findall(path.read_text(encoding="utf-8"))
        for extra in extras_of_text.split(",")
    }
    assert ("safetensors", "runtime/execution/array_archives.py") in named, "error texts are searched"
    assert ("jax", "README.md") in named, "documents are searched"
    assert not sorted(each for each in named if each[0] not in extras)
