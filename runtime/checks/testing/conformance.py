"""The conformance suite as tests of pytest: `nimblehlo.testing.conformance`.

Each program is a test with the program's name as id, which stays the same between versions of the suite.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ..backends import Backend, IsolatedBackend
from ..conformance import SUITE_VERSION, Judge, Program, Verdict, programs
from ..conformance.campaign import PROGRAM_SECONDS
from ..conformance.suite import SMOKE
from ..conformance.verdicts import FAILURES

__all__ = ["MARKER", "SUITE_VERSION", "cases", "check", "read_xfails"]

MARKER = "conformance"
"""The marker of each program, with its `operation`, `element_type` and `label` as keywords."""


def cases(
    *,
    operations: Iterable[str] | None = None,
    level: str = SMOKE,
    xfail: Mapping[str, str] | str | Path | None = None,
) -> list[Any]:
    """The programs of the suite as parameters of a test.

    Args:
        operations: names of operations with their dialect; None: all.
        level: ``"smoke"`` or ``"full"``.
        xfail: the programs that are expected to fail: a reason by id or pattern (``"stablehlo.sort/*"``), or
            a file of them (`read_xfails`). The first one that matches gives the reason. A program that passes
            nevertheless fails its test.

    Returns:
        Parameters for ``@pytest.mark.parametrize("program", cases())``.

    Raises:
        ValueError: a pattern of `xfail` stands for no program.
        UnsupportedError: there is no such operation.
    """
    expected = read_xfails(Path(xfail)) if isinstance(xfail, (str, Path)) else dict(xfail or {})
    parameters = []
    used: set[str] = set()
    for program in programs(operations, level):
        patterns = [one for one in expected if fnmatch.fnmatchcase(program.id, one)]
        keywords = {"operation": program.operation, "element_type": program.element_type}
        marks = [getattr(pytest.mark, MARKER)(**keywords, label=program.label)]
        used.update(patterns)
        if patterns:
            marks.append(pytest.mark.xfail(reason=expected[patterns[0]], strict=True))
        parameters.append(pytest.param(program, id=program.id, marks=marks))
    unused = sorted(expected.keys() - used)
    if unused:
        raise ValueError(
            f"the level {level!r} of the suite has no program {unused[0]!r}, which is expected to fail"
        )
    return parameters


def read_xfails(file: Path) -> dict[str, str]:
    """The programs in a file that are expected to fail: a line has an id or a pattern, ``#`` and the reason.

    Raises:
        OSError: the file cannot be read.
    """
    expected = {}
    for text_line in file.read_text(encoding="utf-8").splitlines():
        pattern, _, reason = text_line.partition("#")
        if pattern.strip():
            expected[pattern.strip()] = reason.strip()
    return expected


def check(program: Program, backend: str | Backend) -> None:
    """Judge what a backend does with a program.

    Args:
        program: one of `cases`.
        backend: what `nimblehlo.backends.backend` takes by name, in a process of its own that serves all
            programs; or a `Backend`.

    Raises:
        AssertionError: the behaviour contradicts the specification; the text says where, and the section.
        pytest.skip.Exception: the backend refuses a legal program.
    """
    __tracebackhide__ = True
    judgement = Judge(program).judge(_isolated(backend) if isinstance(backend, str) else backend)
    if judgement.verdict in FAILURES:
        raise AssertionError(f"{judgement.verdict} ({judgement.section}): {judgement.detail}\n{program.text}")
    if judgement.verdict == Verdict.REFUSED:
        pytest.skip(f"refused: {judgement.detail}")


@functools.cache
def _isolated(name: str) -> IsolatedBackend:
    return IsolatedBackend(name, PROGRAM_SECONDS)
