"""Functions are short and take few parameters, so that a reader sees what one does.

A function's lines are those of its code: neither its docstring nor the functions that it contains, which
count for themselves. A factory of Numba kernels, or of LLVM IR, consists of these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

MAX_LINES = 60
MAX_PARAMETERS = 12
"""Parameters, `self` and `cls` aside."""

FLAT = frozenset({"intrinsic", "kernel"})
"""Decorators of functions that may have more parameters: Numba's loops and intrinsics take every array and
every number that they use one by one."""


def functions(node: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions in a module, with their qualified names."""
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            name = f"{inside}.{child.name}" if inside else child.name
        if isinstance(child, ast.FunctionDef):
            yield name, child
        yield from functions(child, name)


def line_count(function: ast.FunctionDef) -> int:
    """The lines of a function's own code."""
    has_docstring = ast.get_docstring(function) is not None
    docstring = _lines(function.body[0]) if has_docstring else 0
    return _lines(function) - docstring - sum(map(_lines, _contained(function)))


def _contained(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions in a node, without those in these."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child
        else:
            yield from _contained(child)


def _lines(node: ast.stmt) -> int:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    assert node.end_lineno is not None
    return node.end_lineno - first + 1


def parameter_count(function: ast.FunctionDef) -> int:
    """The parameters of a function, without the object or class that a method gets."""
    named = function.args
    all_of_them = (*named.posonlyargs, *named.args, *named.kwonlyargs, named.vararg, named.kwarg)
    names = [one.arg for one in all_of_them if one is not None]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def is_flat(function: ast.FunctionDef) -> bool:
    """Whether a function is a kernel of Numba or an intrinsic."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in function.decorator_list]
    return any(isinstance(one, ast.Name) and one.id in FLAT for one in calls)


def too_large(tree: ast.AST) -> list[str]:
    """The functions that exceed a limit, with their lines and parameters."""
    found = []
    for name, function in functions(tree):
        lines, parameters = line_count(function), parameter_count(function)
        if lines > MAX_LINES or (parameters > MAX_PARAMETERS and not is_flat(function)):
            found.append(f"{name}: {lines} lines, {parameters} parameters")
    return found


def test_functions_are_short(project_root: Path) -> None:
    found = {}
    for folder in ("runtime", "kernels"):
        for path in sorted((project_root / folder).rglob("*.py")):
            large = too_large(ast.parse(path.read_text()))
            if large:
                found[path.relative_to(project_root).as_posix()] = large
    assert not found, f"split these functions, or give them a record: {found}"


def _function(lines: int, parameters: int, decorator: str = "", docstring: int = 0) -> str:
    names = ", ".join(["self", *(f"x{number}" for number in range(parameters))])
    text = ['    """A function.', *["    More."] * (docstring - 2), '    """'] if docstring else []
    head = [*([decorator] if decorator else []), f"def f({names}):"]
    return "\n".join([*head, *text, *["    g()"] * (lines - 1)])


def test_large_functions_are_found() -> None:
    fits = _function(MAX_LINES, MAX_PARAMETERS, docstring=30)
    assert not too_large(ast.parse(fits))
    assert too_large(ast.parse(_function(MAX_LINES + 1, 1)))
    assert too_large(ast.parse(_function(3, MAX_PARAMETERS + 1)))
    assert not too_large(ast.parse(_function(3, MAX_PARAMETERS + 1, "@kernel(parallel=True)")))
    assert too_large(ast.parse(_function(MAX_LINES, 1, "@kernel")))
    nested = "\n".join(["def factory():", *(f"    {line}" for line in fits.split("\n"))])
    assert not too_large(ast.parse(nested))
