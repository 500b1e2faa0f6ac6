"""The public programs give the results that docs/conformance.md records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nimblehlo import Options
from nimblehlo.checks.checking import check_files
from tools.conformance import DOCUMENT, RECORD, document, errors
from tools.fast_functions import DECLARATIONS


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def test_the_page_is_what_the_record_says(record: dict[str, Any]) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(record), "run python tools/conformance.py"


def test_the_counts_agree(record: dict[str, Any]) -> None:
    rows = record["rows"].values()
    for row in rows:
        assert row["passed"] + row["unsupported"] + row["failed"] == row["cases"] >= row["files"]
    for status in ("failed", "unsupported"):
        assert sum(row[status] for row in rows) == len(record[status])


def test_each_expectation_that_fails_is_wrong(record: dict[str, Any]) -> None:
    """The exact results, rounded once, fail the check as well."""
    for name, case in record["failed"].items():
        assert case["exact_fails"] > 0, name
        assert 0 < case["fails"] <= case["elements"], name


def test_public_programs_do_as_recorded(conformance_dir: Path, record: dict[str, Any]) -> None:
    """All programs whose sizes are known, of whatever part of the public ones there is."""
    files = [path for path in sorted(conformance_dir.rglob("*.mlir")) if path.parent.name != "dynamic"]
    known = {Path(name).name: case["message"] for name, case in record["failed"].items()}
    expected = {path.name: known[path.name] for path in files if path.name in known}
    cases = [case for results in check_files(list(map(str, files)), jobs=1) for case in results]
    found = {
        Path(case.file).name: case.message.rsplit(", at ", 1)[0] for case in cases if case.status != "passed"
    }
    assert found == expected
    assert len(cases) > len(found)


def test_public_programs_do_the_same_with_correctly_rounded_functions(
    conformance_dir: Path, record: dict[str, Any]
) -> None:
    """The programs with functions that have a fast form."""
    files = [
        path
        for path in sorted(conformance_dir.rglob("*.mlir"))
        if path.parent.name != "dynamic"
        and any(re.search(rf"{re.escape(name)}\b", path.read_text()) for name in DECLARATIONS)
    ]
    options = Options(functions="correctly_rounded")
    cases = [case for results in check_files(list(map(str, files)), 1, options) for case in results]
    failed = {Path(case.file).name for case in cases if case.status != "passed"}
    assert failed == {path.name for path in files} & {Path(name).name for name in record["failed"]}
    assert len(cases) > len(failed)


def test_errors_are_measured_as_recorded(conformance_dir: Path, record: dict[str, Any]) -> None:
    """Against exact results, of the programs for which these take no time."""
    pytest.importorskip("mpmath")
    for name, case in record["failed"].items():
        for path in conformance_dir.rglob(Path(name).name):
            if "fft" not in name:
                measured = errors(path)
                assert {key: case[key] for key in measured} == measured, name
