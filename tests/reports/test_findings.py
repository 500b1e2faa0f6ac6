"""The programs of docs/findings.md: NimbleHLO is right in every mode, and other systems do what is stated."""

from __future__ import annotations

import functools
import importlib.metadata
import json
from typing import Any

import numpy as np
import pytest

from nimblehlo.checks.backends import BackendExit, BackendTimeout, CallableBackend, IsolatedBackend
from nimblehlo.checks.conformance.verdicts import Verdict
from tests.reports.report import Report, reports_in
from tools.findings import (
    DOCUMENT,
    PROGRAMS,
    RECORD,
    TIMEOUT,
    Outcome,
    document,
    is_wrong_somewhere,
    outcome,
    version_of,
)

REPORTS = reports_in(PROGRAMS)


@functools.cache
def record() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.where)
def test_nimblehlo_is_right_in_every_mode(report: Report) -> None:
    assert list(report.verdicts()) == []


def test_the_page_is_that_of_the_record() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(record(), REPORTS)
    subjects = [one.subject for one in REPORTS]
    assert len(subjects) == len(set(subjects))
    assert {"jax:cpu", "interpreter", "iree"} == record().keys()
    for one in record().values():
        assert sorted(one["outcomes"]) == sorted(subjects)


def test_a_finding_contradicts_the_specification_somewhere() -> None:
    former = [one for one in REPORTS if not is_wrong_somewhere(one, record())]
    assert len(REPORTS) - len(former) > 50
    assert len(former) < 5


@pytest.mark.parametrize("name", ["jax:cpu", "interpreter", "iree"])
def test_other_systems_do_what_is_stated(name: str) -> None:
    stored = record()[name]
    try:
        installed = version_of(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    if installed != stored["version"]:
        pytest.skip(f"the findings are of {stored['version']}, but {installed} is installed")
    backend = IsolatedBackend(name, TIMEOUT)
    for report in REPORTS:
        expected = stored["outcomes"][report.subject]["verdict"]
        assert outcome(report, backend).verdict == expected, report.subject


def test_an_outcome_is_a_verdict() -> None:
    report = next(one for one in REPORTS if one.results is not None)
    assert report.results is not None
    right = list(report.results)

    def judged(run: Any) -> str:
        return outcome(report, CallableBackend(run, "backend")).verdict

    def raises(error: Exception) -> Any:
        def run(module: object, inputs: object) -> list[Any]:
            raise error

        return run

    assert judged(lambda module, inputs: right) == Verdict.WITHIN
    assert judged(lambda module, inputs: [np.zeros_like(one) for one in right]) == Verdict.OUTSIDE
    assert judged(raises(BackendExit("x"))) == Verdict.ENDED
    assert judged(raises(BackendTimeout("x"))) == Verdict.TIMED_OUT
    assert judged(raises(ValueError("x"))) == Verdict.REFUSED
    assert isinstance(outcome(report, CallableBackend(lambda module, inputs: right)), Outcome)
