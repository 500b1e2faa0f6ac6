"""Programs to start from: small conformance programs and the texts of the project's own tests."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nimblehlo import NimbleError, load
from nimblehlo.program.frontend import split
from nimblehlo.program.ir.printer import print_module
from tests.conftest import conformance_folder
from tests.program.ops.rejections import modules_of_tests

LARGEST = 3000
"""Characters of the largest program."""


@functools.cache
def programs(conformance: bool = True) -> tuple[str, ...]:
    """The texts, each once, in a fixed order; valid ones in generic form too.

    Args:
        conformance: whether to take the conformance programs where they are there.
    """
    texts = [*_pretty_forms(), *_rejected_and_accepted()]
    if conformance:
        texts += _conformance()
    texts += [generic for text in texts for generic in _generic(text)]
    return tuple(dict.fromkeys(text for text in texts if len(text) <= LARGEST))


def _pretty_forms() -> Iterator[str]:
    """One program for each pretty form, and one for its generic form."""
    from tests.program.frontend.test_operations import ARGUMENTS, FORMS

    for _, part in split(FORMS):
        for body in part.split("// generic\n"):
            yield f"func.func @main({ARGUMENTS}) {{\n{body}\nreturn\n}}"


def _rejected_and_accepted() -> Iterator[str]:
    """The programs in the tables of the operations' tests: each is one change away from a valid one."""
    for module in modules_of_tests():
        for table in ("REJECTED", "ACCEPTED"):
            yield from texts_of(getattr(module, table, ()))


def texts_of(table: object) -> Iterator[str]:
    """The programs in a table of any form."""
    if isinstance(table, str):
        if "func.func" in table:
            yield table
    elif isinstance(table, Mapping):
        yield from texts_of(list(table.values()))
    elif isinstance(table, Sequence):
        for part in table:
            yield from texts_of(part)


def _conformance() -> Iterator[str]:
    folder = conformance_folder()
    for path in sorted((folder or Path()).rglob("*.mlir") if folder else ()):
        if path.stat().st_size <= LARGEST:
            yield path.read_text(encoding="utf-8")


def _generic(text: str) -> Iterator[str]:
    """The program as the printer writes it, where it is valid."""
    try:
        yield print_module(load(text))
    except NimbleError:
        return
