"""Finds what no user should read in the message of an error: names of the code, and broken grammar."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator
from typing import Final

import nimblehlo
from tests.conftest import ROOT

RULES: Final = {
    "a Python type": re.compile(r"\bNoneType\b|\bndarray\b|\bnumpy\.|\bnp\.|<class |\bobject at 0x"),
    "a Python value": re.compile(r"(?<!^input \d is )\bNone\b|\((?:\w+,)\)|Ellipsis"),
    "a Python type's name for a value": re.compile(
        r"but (?:is|are|has) (?:str|int|bool|dict|tuple|list|bytes)\b(?!<)"
    ),
    "a double space": re.compile(r"\S  +\S"),
    "an article": re.compile(r"\ba (?:i\d|f\d|[aei]\w|o(?!ne\b)\w)|\ban (?:ui\d|[bcdgjkpqtvwyz]\w)"),
    "a doubled word": re.compile(r"\b([a-z]+) \1\b"),
    "two verbs": re.compile(
        r"\b(?:must|may|can) (?:be|have|not be) (?:is|are|has|have|must)\b|\bis (?:is|are|has)\b"
    ),
    "a bare category": re.compile(
        r"must be (?:any|boolean|integer|signed|unsigned|float|complex|token|tuple)\b"
    ),
    "a plural of one": re.compile(
        r"(?<![\d.\]\[] of )(?<![-.\d\[])\b1 (?:input |operand |result |output )?"
        r"(?!is\b|has\b|was\b|lies\b|does\b|shows\b|ulps\b|axis\b|reaches\b|elements differ)[a-z]{2,}s\b"
    ),
}
"""What each pattern finds. A number with "of N elements differ" is a share, which has a plural."""

_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'(?!\w)|\"(?:[^\"\\]|\\.)*\"")
"""Text of the program, of a file or of an option."""
_SYMBOLS: Final = re.compile(r"[@%!#][\w.$:\-]+")
_OPERATION: Final = re.compile(r"^[^:]{1,60}\.[^:]{1,60}: ")
"""The operation that an error names first, as the program spells it."""
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}


def faults(message: str) -> list[str]:
    """The faults of a message, each in words; the lines of the program that it shows are not read."""
    reason = message.split("\n", 1)[0]
    plain = _SYMBOLS.sub("X", _QUOTED.sub("X", _OPERATION.sub("", reason)))
    found = [f"{what}: {match[0]!r}" for what, rule in RULES.items() if (match := rule.search(plain))]
    found += [
        f"a name of the code: {word}" for word in re.findall(r"\b[A-Za-z_]\w+", plain) if word in names()
    ]
    if not _is_balanced(plain):
        found.append("brackets that do not match")
    return found


def _is_balanced(text: str) -> bool:
    """Whether each bracket has its partner; half-open intervals such as ``[0, 3)`` are one."""
    text = re.sub(r"\[-?\d+, -?\d+\)|\(-?\d+, -?\d+\]", "X", text)
    awaited: list[str] = []
    for character in text:
        if character in _BRACKETS:
            awaited.append(_BRACKETS[character])
        elif character in _BRACKETS.values() and (not awaited or awaited.pop() != character):
            return False
    return not awaited


@functools.cache
def names() -> frozenset[str]:
    """Names of Python's exceptions and of the classes of the package, except those that users import.

    One-word names such as ``Sort`` are words of the specification too.
    """
    exceptions = {
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    classes = {name for name in _classes() if re.match(r"_*[A-Z][a-z0-9]+[A-Z]", name)}
    return frozenset((exceptions | classes) - set(nimblehlo.__all__))


def _classes() -> Iterator[str]:
    for path in sorted((ROOT / "runtime").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name
