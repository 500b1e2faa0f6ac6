"""Finds the decisions in the sources: named numbers, and comparisons with numbers.

Python is read as a syntax tree, C and Cython by patterns.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("runtime", "kernels")

MIN_THRESHOLD = 3
"""Smaller numbers in comparisons (0, 1, 2) are not thresholds."""

MAX_HEAD = 500
"""Characters at the start of a file that say whether it is generated."""

Number = int | float


class Decision(NamedTuple):
    """A number by which the code decides.

    Attributes:
        name: the file and the constant's name, or the file, the function and the comparison.
        value: the number.
        line: where it is in the file.
        about: what the source says of it; empty where it says nothing.
    """

    name: str
    value: Number
    line: int
    about: str


def number(node: ast.expr, names: dict[str, Number] | None = None) -> Number | None:
    """The value of an expression of numbers and of named numbers; None if it is anything else."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            if inner.id not in (names or {}):
                return None
        elif isinstance(inner, ast.Constant):
            if isinstance(inner.value, bool) or not isinstance(inner.value, int | float):
                return None
        elif not isinstance(inner, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.expr_context):
            return None
    try:
        value = eval(compile(ast.Expression(node), "number", "eval"), {"__builtins__": {}}, dict(names or {}))
    except ArithmeticError:
        return None
    return value if isinstance(value, int | float) else None


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """A Python file's syntax tree."""
    return ast.parse(path.read_text())


@functools.cache
def python_constants(path: Path) -> dict[str, Decision]:
    """The named numbers at the top of a Python file, by name."""
    return constants_of(tree_of(path), path)


def constants_of(tree: ast.Module, path: Path) -> dict[str, Decision]:
    """The same of a tree."""
    body, names = tree.body, dict[str, Number]()
    found: dict[str, Decision] = {}
    for place, statement in enumerate(body):
        target = value = None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign):
            target, value = statement.target, statement.value
        if not isinstance(target, ast.Name) or value is None or target.id != target.id.upper():
            continue
        known = number(value, names)
        if known is None:
            continue
        names[target.id] = known
        name = f"{path.relative_to(ROOT)}:{target.id}"
        found[target.id] = Decision(name, known, statement.lineno, _said_of(body, place))
    return found


def _said_of(body: list[ast.stmt], place: int) -> str:
    """The text that follows a constant, or that of the constants right after it."""
    if place + 1 < len(body):
        after = body[place + 1]
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return " ".join(str(after.value.value).split())
    return ""


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """All functions of a file that are in no other function, with their qualified names."""
    for outer in tree.body:
        if isinstance(outer, ast.FunctionDef):
            yield outer.name, outer
        elif isinstance(outer, ast.ClassDef):
            for inner in outer.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{outer.name}.{inner.name}", inner


def literals_compared(node: ast.Compare) -> list[Number]:
    """The numbers, large enough to be thresholds, with which a comparison orders something."""
    operands = [node.left, *node.comparators]
    found: list[Number] = []
    for place, operator in enumerate(node.ops):
        if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            for operand in operands[place : place + 2]:
                value = number(operand)
                if value is not None and abs(value) >= MIN_THRESHOLD:
                    found.append(value)
    return found


def comparison_name(path: Path, function: str, node: ast.Compare) -> str:
    """The name of a comparison with a number."""
    return f"{path.relative_to(ROOT)}:{function}: {ast.unparse(node)}"


def python_comparisons(path: Path) -> dict[str, Decision]:
    """The comparisons with numbers in the functions of a Python file, by name."""
    found: dict[str, Decision] = {}
    for function, definition in functions(tree_of(path)):
        for node in ast.walk(definition):
            if isinstance(node, ast.Compare):
                for value in literals_compared(node):
                    name = comparison_name(path, function, node)
                    found[name] = Decision(name, value, node.lineno, "")
    return found


_ENUM = re.compile(r"enum\s*\w*\s*\{([^}]*)\}", re.S)
_DEFINE = re.compile(r"^\s*#\s*define\s+([A-Z_][A-Z_0-9]*)\s+(\S.*?)\s*$", re.M)
_CYTHON_ENUM = re.compile(r"^cdef enum:\n((?:[ \t]+.*\n|\n)+)", re.M)
_ENTRY = re.compile(r"\b([A-Z_][A-Z_0-9]*)\s*=\s*([^,\n}]+)")
_CYTHON_NUMBER = re.compile(r"^(?:cdef \w+ )?(_?[A-Z_][A-Z_0-9]*) = ([-+0-9.(<][^\n]*)$", re.M)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_HASH_COMMENT = re.compile(r"#(?!\s*(?:define|if|else|end|include|undef|el))[^\n]*")
_ORDERED = re.compile(r"(?<![<>\-])(?:<=|>=|<|>)\s*(0x[0-9A-Fa-f]+|\d+(?:\.\d+)?)\b(?!\s*<<)")


def native_constants(path: Path, root: Path = ROOT) -> dict[str, Decision]:
    """The named numbers of a C or Cython file, by name."""
    text = path.read_text()
    bare = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    if path.suffix in (".pyx", ".pxi"):
        bare = _HASH_COMMENT.sub(lambda match: " " * len(match.group()), bare)
    names: dict[str, Number] = {}
    found: dict[str, Decision] = {}
    places: list[tuple[int, str, str]] = []
    for block in (*_ENUM.finditer(bare), *_CYTHON_ENUM.finditer(bare)):
        places += [(block.start(1) + entry.start(), *entry.groups()) for entry in _ENTRY.finditer(block[1])]
    for match in (*_DEFINE.finditer(bare), *_CYTHON_NUMBER.finditer(bare)):
        places.append((match.start(), match[1], match[2]))
    for place, name, expression in sorted(places):
        value = _native_number(expression, names)
        if value is None:
            continue
        names[name] = value
        line = text.count("\n", 0, place) + 1
        found.setdefault(
            name, Decision(f"{path.relative_to(root)}:{name}", value, line, _comment_at(text, line))
        )
    return found


def _native_number(expression: str, names: dict[str, Number]) -> Number | None:
    text = expression.strip().removesuffix(",")
    text = re.sub(r"\b(0x[0-9A-Fa-f]+|\d+)(?:[uUlL]+)\b", r"\1", text)
    if re.fullmatch(r"-?0x[0-9A-Fa-f.]+p[-+]?\d+", text):
        return float.fromhex(text)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    return number(tree.body, names)


def _comment_at(text: str, line: int) -> str:
    """The comment on the same line, or else the one that ends right above."""
    lines = text.splitlines()
    same = re.search(r"/\*(.*?)\*/|(?<!^)\s#\s(.*)$", lines[line - 1])
    if same:
        return " ".join((same[1] or same[2] or "").split())
    above: list[str] = []
    for other in reversed(lines[: line - 1]):
        words = other.strip()
        if not words.startswith(("#", "/*", "*")) and not words.endswith("*/") and not above:
            break
        if words.startswith("#") and not words.startswith(("#define", "#if", "#endif", "#else")):
            above.insert(0, words.lstrip("# "))
            continue
        if words.startswith(("#", "enum", "static")) or not words:
            break
        above.insert(0, words.strip("/* "))
        if words.startswith("/*"):
            break
    return " ".join(above)


def native_comparisons(path: Path, root: Path = ROOT) -> dict[str, Decision]:
    """The comparisons with numbers of a C or Cython file, by name: the file, the line's text."""
    text = path.read_text()
    bare = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    if path.suffix in (".pyx", ".pxi"):
        bare = re.sub(r'"""(?:.|\n)*?"""', lambda match: re.sub(r"[^\n]", " ", match.group()), bare)
        bare = _HASH_COMMENT.sub(lambda match: " " * len(match.group()), bare)
    found: dict[str, Decision] = {}
    for match in _ORDERED.finditer(bare):
        value = float(int(match[1], 16)) if match[1].startswith("0x") else float(match[1])
        line = bare.count("\n", 0, match.start()) + 1
        words = bare.splitlines()[line - 1].strip()
        if (
            value < MIN_THRESHOLD
            or words.startswith("#")
            or "<uint64_t>" in words
            or (words.startswith(("#", "for ", "while ")) and "&&" not in words)
        ):
            continue
        name = f"{path.relative_to(root)}: {' '.join(words.rstrip(chr(92)).split())}"
        found.setdefault(name, Decision(name, value, line, ""))
    return found


def files(*suffixes: str) -> list[Path]:
    """The sources with these suffixes; numbers of a generated file are those of what it is generated from."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    return sorted(path for path in found if "Written by tools/" not in path.read_text()[:MAX_HEAD])


@functools.cache
def decisions() -> dict[str, Decision]:
    """All decisions of the code, by name."""
    found: dict[str, Decision] = {}
    for path in files(".py"):
        for decision in (*python_constants(path).values(), *python_comparisons(path).values()):
            found[decision.name] = decision
    for path in files(".h", ".pyx", ".pxi"):
        for decision in (*native_constants(path).values(), *native_comparisons(path).values()):
            found[decision.name] = decision
    return found
