"""Docstrings describe every argument of the kernels' entry points, and no argument that is missing."""

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


def described(docstring: str) -> list[str]:
    """The names before the colons of the section "Args"."""
    _, _, section = docstring.partition("Args:\n")
    section = re.split(r"\n\n|\n(?=\S)", section)[0]
    entries = re.findall(r"^    (\w[\w, *]*):", section, re.M)
    return [name.strip(" *") for entry in entries for name in entry.split(",")]


def parameters(function: ast.FunctionDef) -> set[str]:
    """The names of a function's parameters."""
    names = function.args
    listed = [*names.posonlyargs, *names.args, *names.kwonlyargs, names.vararg, names.kwarg]
    return {each.arg for each in listed if each is not None}


def unknown_arguments(tree: ast.Module) -> Iterator[str]:
    """The described arguments that a function, or the constructor of a class, does not have."""
    for node in ast.walk(tree):
        function: ast.AST | None = node
        if isinstance(node, ast.ClassDef):
            function = next(
                (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"),
                None,
            )
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and isinstance(function, ast.FunctionDef):
            for name in described(ast.get_docstring(node) or ""):
                if name not in parameters(function):
                    yield f"{node.name}: {name}"


def test_described_arguments_exist(project_root: Path) -> None:
    paths = [*(project_root / "runtime").rglob("*.py"), *(project_root / "kernels").rglob("*.py")]
    assert len(paths) > 300
    unknown = {str(path): list(unknown_arguments(ast.parse(path.read_text()))) for path in paths}
    assert not {name: names for name, names in unknown.items() if names}


def test_an_argument_that_is_not_there_is_found() -> None:
    text = '''class Recording:
    """Records calls.

    Args:
        most_bytes: the memory.
        calls, *rest: others.

    Attributes:
        state: what there is.
    """

    def __init__(self, max_bytes, calls, *rest):
        pass
'''
    assert list(unknown_arguments(ast.parse(text))) == ["Recording: most_bytes"]
