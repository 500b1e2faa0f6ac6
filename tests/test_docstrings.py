"""The kernels' entry points say what each argument is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path


def entry_points(folder: Path) -> Iterator[tuple[Path, ast.FunctionDef]]:
    """The functions that prepare kernels: what `runtime/` calls of `kernels/`."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("prepare"):
                yield path, node


def undocumented(function: ast.FunctionDef) -> list[str]:
    """The parameters of which the docstring says nothing in its section "Args"."""
    _, _, section = (ast.get_docstring(function) or "").partition("Args:\n")
    section = section.partition("\n\n")[0]
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    entry = r"^ +(?:[\w, \n]+, |[\w, \n]+,\n +)?{}(?:,[\w, \n]+)?:"
    return [name for name in names if not re.search(entry.format(name), section, re.M)]


def test_entry_points_of_kernels_document_every_argument(project_root: Path) -> None:
    functions = list(entry_points(project_root / "kernels"))
    assert len(functions) > 10
    missing = {f"{path.stem}.{node.name}": undocumented(node) for path, node in functions}
    assert not {name: names for name, names in missing.items() if names}


def test_an_argument_without_a_word_is_found() -> None:
    text = '''def prepare(shape, dtype, threads):
    """Prepare it.

    Args:
        shape: sizes of the operand, whatever threads do.
        other, dtype: element types.
    """
'''
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert undocumented(function) == ["threads"]
