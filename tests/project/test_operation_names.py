"""No list of operations outside their declarations: what an operation is like, its declaration says.

`tests/project/operation_name_collections.txt` has the files that still hold such collections, and how many; a
number may only fall. The patterns of rewrites name what they match, the fuzzer what it draws, `patterns` and
the frontend what they write and read.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from nimblehlo.program.ops.framework.op_registry import MODULE_OF_OPERATION

EXEMPT = ("checks/fuzzing", "compiler/specialize/rewrites", "patterns", "program/frontend", "program/ops")
"""The folders of `runtime/` that may name operations."""

LISTED = Path(__file__).with_name("operation_name_collections.txt")

_BARE = {name.partition(".")[2] for name in MODULE_OF_OPERATION}
_PREFIXES = tuple({f"{name.partition('.')[0]}." for name in MODULE_OF_OPERATION})


@functools.cache
def constants(root: Path) -> frozenset[str]:
    """The constants of `runtime/program/ops/` that are names of operations."""
    found = set()
    for path in (root / "runtime" / "program" / "ops").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_text(node.value):
                found.add(node.target.id)
    return frozenset(found)


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in MODULE_OF_OPERATION


def _is_name(node: ast.AST | None, known: frozenset[str]) -> bool:
    """Whether an expression is the name of an operation: a text, a constant, or `Class.name`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "name" and isinstance(node.value, ast.Name) and node.value.id[0].isupper()
    return _is_text(node) or (isinstance(node, ast.Name) and node.id in known)


def _is_prefixed(node: ast.AST) -> bool:
    """Whether an expression is a text such as f"stablehlo.{name}"."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) else None
    return isinstance(first, ast.Constant) and str(first.value).endswith(_PREFIXES)


def _is_list_in_text(node: ast.AST) -> bool:
    """Whether a text is a list of at least four names, such as "add multiply or and", for `split`."""
    words = node.value.split() if isinstance(node, ast.Constant) and isinstance(node.value, str) else ()
    return len(words) > 3 and _BARE.issuperset(words)


def collections(tree: ast.AST, known: frozenset[str]) -> Iterator[int]:
    """The lines of the literal collections of at least two operations, or sets and tables of one."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            element = node.key if isinstance(node, ast.DictComp) else node.elt
            if _is_prefixed(element):
                yield node.lineno
        elif isinstance(node, (ast.Dict, ast.List, ast.Set, ast.Tuple)):
            elements = node.keys if isinstance(node, ast.Dict) else node.elts
            count = sum(_is_name(element, known) for element in elements)
            if count >= (1 if isinstance(node, (ast.Dict, ast.Set)) else 2):
                yield node.lineno
        elif _is_list_in_text(node):
            yield node.lineno


def collections_by_file(root: Path) -> dict[str, int]:
    """The number of collections in each file of `runtime/` that has some."""
    counts = {}
    for path in sorted((root / "runtime").rglob("*.py")):
        name = path.relative_to(root / "runtime").as_posix()
        if not name.startswith(tuple(f"{folder}/" for folder in EXEMPT)):
            count = len(list(collections(ast.parse(path.read_text()), constants(root))))
            if count:
                counts[f"runtime/{name}"] = count
    return counts


def test_no_file_lists_more_operations(project_root: Path) -> None:
    found = collections_by_file(project_root)
    listed = {path: int(count) for path, count in (line.split() for line in LISTED.read_text().splitlines())}
    grown = {path: count for path, count in found.items() if count > listed.get(path, 0)}
    assert not grown, f"state these facts in the declarations of the operations: {grown}"
    shrunk = {path: found.get(path, 0) for path, count in listed.items() if found.get(path, 0) < count}
    assert not shrunk, f"lower these numbers in {LISTED.name}: {shrunk}"


@pytest.mark.parametrize(
    "text",
    [
        'X = frozenset({"chlo.top_k"})',
        'X = {"stablehlo.add": 1}',
        'is_sum = operation.name in ("stablehlo.add", "stablehlo.subtract")',
        'X = frozenset(f"stablehlo.{name}" for name in ("add", "and"))',
        'X = "add and or xor".split()',
        "X = [REDUCE, Scatter.name]",
    ],
)
def test_a_collection_is_found(text: str) -> None:
    assert list(collections(ast.parse(text), frozenset({"REDUCE"})))


@pytest.mark.parametrize(
    "text", ['X = "stablehlo.add"', 'x = ("stablehlo.add", 1)', 'X = "the real part or none"']
)
def test_other_texts_are_not_found(text: str) -> None:
    assert not list(collections(ast.parse(text), frozenset()))
