"""The report of a run of the suite as one HTML file, which needs no network."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ...inspection.script_json import script_json
from .causes import cause_of
from .report import Report
from .verdicts import FAILURES, Verdict

PAGE: Final = Path(__file__).with_name("report.html")
PLACEHOLDER: Final = ">DATA<"
"""What the data stands for in the page."""
NOT_JUDGED: Final = -1
"""In place of a verdict's number: the program was not run on a backend."""


def write_page(report: Report, path: Path) -> None:
    """Store a report as a page: what backends do by cause, a matrix of operations and element types, and a
    view of each operation.

    Raises:
        OSError: the file cannot be written.
    """
    data = script_json(page_data(report))
    page = PAGE.read_text(encoding="utf-8")
    path.write_text(page.replace(PLACEHOLDER, f">{data}<"), encoding="utf-8")


def page_data(report: Report) -> dict[str, Any]:
    """What the page shows: verdicts and causes by their numbers, and each text once."""
    words, backends = list(Verdict), list(report.backends)
    texts: dict[str, int] = {}
    causes: dict[tuple[str, str], int] = {}
    rows: dict[str, list[Any]] = {}
    for id, text in report.texts.items():
        number = texts.setdefault(text, len(texts))
        rows[id] = [id, number, [NOT_JUDGED] * len(backends), {}, {}]
    for one in report.judgements:
        if one.id not in rows:
            continue
        _, _, verdicts, details, numbers = rows[one.id]
        backend = backends.index(one.backend)
        verdicts[backend] = words.index(one.verdict)
        said = ": ".join(filter(None, (one.section, one.detail)))
        if said:
            details[backend] = said
        cause = cause_of(one)
        if cause is not None:
            numbers[backend] = causes.setdefault((cause.title, cause.why), len(causes))
    return {
        "suite": report.suite,
        "date": datetime.now(UTC).date().isoformat(),
        "backends": backends,
        "labels": list(map(report.label, backends)),
        "descriptions": list(map(report.described, backends)),
        "verdicts": [str(one) for one in words],
        "failures": [words.index(one) for one in FAILURES],
        "causes": list(causes),
        "texts": list(texts),
        "programs": list(rows.values()),
    }
