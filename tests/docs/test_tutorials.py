"""The tutorials run, and show what their files hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("nbclient", reason="needs nbclient, of the extra 'test'")
pytest.importorskip("ipykernel", reason="needs ipykernel, of the extra 'test'")
pytest.importorskip("jax")

import nbformat

from tools.notebooks import TUTORIALS, executed, shown, tutorials

if TYPE_CHECKING:
    from collections.abc import Sequence

CARDS = ("test_a_backend", "run_jax", "debug_numbers", "continuous_integration", "how_it_works")


@pytest.mark.parametrize("name", CARDS)
def test_a_tutorial_shows_what_is_stored(name: str, tmp_path: Path) -> None:
    path = TUTORIALS / f"{name}.ipynb"
    stored = nbformat.read(path, as_version=4)
    fresh = executed(path, tmp_path)
    assert shown(fresh) == shown(stored), f"run python tools/notebooks.py {name}"


def test_every_card_has_a_tutorial(project_root: Path) -> None:
    index = (project_root / "docs" / "index.md").read_text()
    assert [path.stem for path in tutorials()] == sorted(CARDS)
    assert set(re.findall(r"tutorials/(\w+)", index)) == set(CARDS)


def notebook(tmp_path: Path, *sources: str, vary: Sequence[int] = ()) -> Path:
    """A notebook of one cell for each source; the figures of the cells `vary` vary."""
    cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": ["figures-vary"] if k in vary else []})
        for k, source in enumerate(sources)
    ]
    path = tmp_path / "one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_only_times_are_left_out_of_a_comparison(tmp_path: Path) -> None:
    path = notebook(tmp_path, "print('a in 1.5 ms, 12 s')", "print(1)\n2.5", "2.5", vary=[2])
    assert shown(executed(path, tmp_path)) == [
        ["stdout: a in TIME, TIME\n"],
        ["stdout: 1\n", "text/plain: 2.5"],
        ["text/plain"],
    ]


def test_a_cell_that_fails_is_an_error(tmp_path: Path) -> None:
    from nbclient.exceptions import CellExecutionError

    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        executed(notebook(tmp_path, "1 / 0"), tmp_path)
