"""The stored programs that every implementation must refuse.

`broken.py` finds them, which takes minutes; `tools/conformance_programs.py` stores them in `illegal.mlir`, so
that a program stays the same between versions of the suite.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ...program.frontend.parser import parse
from ...types import DYNAMIC, Array, TensorType
from .broken import Broken
from .values import common_numbers

FILE: Final = Path(__file__).with_name("illegal.mlir")
SEPARATOR: Final = "// -----\n"
_HEAD: Final = re.compile(r"// (?P<operation>\S+) (?P<label>\S+)(?P<others>, with others)?: (?P<rule>.*)\n")
_UNKNOWN_SIZE: Final = 2
"""The size of an input in a dimension of unknown size."""


def text_of(programs: Mapping[str, Iterable[Broken]]) -> str:
    """The contents of the file: for each program a line of its operation, constraint and rule."""
    texts = []
    for operation, broken in programs.items():
        for one in broken:
            others = "" if one.is_alone else ", with others"
            texts.append(f"// {operation} {one.label}{others}: {one.rule}\n{one.text.strip()}\n")
    return SEPARATOR.join(texts)


@functools.cache
def stored() -> Mapping[str, list[Broken]]:
    """The stored programs by operation."""
    programs: dict[str, list[Broken]] = {}
    for text in FILE.read_text(encoding="utf-8").split(SEPARATOR):
        head = _HEAD.match(text)
        if head is not None:
            broken = Broken(head["label"], head["rule"], text[head.end() :], not head["others"])
            programs.setdefault(head["operation"], []).append(broken)
    return programs


def inputs_of_text(text: str) -> list[Array]:
    """An array for each argument of a program: a backend may run what it ought to refuse."""
    arrays: list[Array] = []
    for type in parse(text).functions["main"].type.inputs:
        assert isinstance(type, TensorType)
        shape = [_UNKNOWN_SIZE if size == DYNAMIC else size for size in type.shape]
        arrays.append(common_numbers(type.with_shape(shape), len(arrays)))
    return arrays
