"""The report of a run of the suite as one HTML file, which needs no network."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ...inspection.script_json import script_json
from .causes import cause_of
from .report import Report
from .verdicts import Verdict

PAGE: Final = Path(__file__).with_name("report.html")
PLACEHOLDER: Final = ">DATA<"
"""What the data stands for in the page."""
NOT_JUDGED: Final = -1
"""In place of a verdict's number: the program was not run on a backend."""


def write_page(report: Report, path: Path) -> None:
    """Store a report as a page with a matrix of operations and element types, and a view of each operation.

    Raises:
        OSError: the file cannot be written.
    """
    data = script_json(page_data(report))
    page = PAGE.read_text(encoding="utf-8")
    path.write_text(page.replace(PLACEHOLDER, f">{data}<"), encoding="utf-8")


def page_data(report: Report) -> dict[str, Any]:
    """What the page shows: verdicts by their numbers, and each text once."""
    words = list(Verdict)
    texts: dict[str, int] = {}
    rows: dict[str, list[Any]] = {}
    for id, text in report.texts.items():
        number = texts.setdefault(text, len(texts))
        rows[id] = [id, number, [NOT_JUDGED] * len(report.backends), {}]
    for one in report.judgements:
        if one.id not in rows:
            continue
        backend = list(report.backends).index(one.backend)
        rows[one.id][2][backend] = words.index(one.verdict)
        cause = cause_of(one)
        why = "" if cause is None else f"{cause.title}. {cause.why}"
        said = ": ".join(filter(None, (one.section, one.detail, why)))
        if said:
            rows[one.id][3][backend] = said
    return {
        "suite": report.suite,
        "date": datetime.now(UTC).date().isoformat(),
        "backends": list(report.backends),
        "verdicts": [str(one) for one in words],
        "texts": list(texts),
        "programs": list(rows.values()),
    }
