"""The report of a run of the suite as JUnit's XML.

The file has what the schema of Ant's reports requires, and no more than that of Jenkins allows: tools read
one of the two, or less.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from .verdicts import Judgement, Verdict

ELEMENTS: Final = {
    Verdict.OUTSIDE: "failure",
    Verdict.ZERO_SIGN: "failure",
    Verdict.ENDED: "error",
    Verdict.TIMED_OUT: "error",
    Verdict.REFUSED: "skipped",
}
"""The element that a test case has by its verdict; a case with another verdict has passed."""


def write_junit(path: Path, backends: Sequence[str], judgements: Sequence[Judgement], version: str) -> None:
    """Store the judgements on backends: a test suite for each, with a case for each program.

    Args:
        path: the file.
        backends: their names.
        judgements: those on all of them.
        version: of the conformance suite.

    Raises:
        OSError: the file cannot be written.
    """
    root = ElementTree.Element("testsuites")
    for number, backend in enumerate(backends):
        judged = [one for one in judgements if one.backend == backend]
        suite = ElementTree.SubElement(root, "testsuite", _attributes(backend, number, judged))
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", {"name": "suite", "value": version})
        for one in judged:
            _add_case(suite, one)
        for name in ("system-out", "system-err"):
            ElementTree.SubElement(suite, name)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _attributes(backend: str, number: int, judged: Sequence[Judgement]) -> dict[str, str]:
    elements = [ELEMENTS.get(one.verdict) for one in judged]
    return {
        "name": backend,
        "package": "conformance",
        "id": str(number),
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": platform.node() or "localhost",
        "tests": str(len(judged)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
        "skipped": str(elements.count("skipped")),
        "time": f"{sum(one.seconds for one in judged):.3f}",
    }


def _add_case(suite: ElementTree.Element, judgement: Judgement) -> None:
    operation, _, rest = judgement.id.partition("/")
    attributes = {"classname": operation, "name": rest, "time": f"{judgement.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    name = ELEMENTS.get(judgement.verdict)
    if name is None:
        return
    where = f": {judgement.section}" if judgement.section else ""
    element = ElementTree.SubElement(case, name, {"message": f"{judgement.verdict}{where}"})
    if name != "skipped":
        element.set("type", judgement.verdict)
    # XML has no control characters, which a backend's message may have.
    element.text = "".join(one if one.isprintable() else " " for one in judgement.detail)
