"""docs/conformance_backends.md, which is written from the record of a run."""

from __future__ import annotations

import json
from typing import Any

from nimblehlo.checks.conformance import SUITE_VERSION
from tools.conformance_backends import CAUSES, DOCUMENT, RECORD, cause_of, document, record_of


def record() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return loaded


def test_the_page_is_that_of_the_record() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(record())
    assert record()["suite"].partition(".")[0] == SUITE_VERSION.partition(".")[0]


def test_this_project_is_within() -> None:
    counts = record()["counts"]
    assert counts["nimblehlo"] == {"within": record()["programs"]}
    assert {"jax:cpu", "interpreter", "iree"} <= counts.keys()


def test_each_failure_has_a_cause_and_each_cause_a_failure() -> None:
    titles = {cause_of(one) for one in record()["failures"]}
    assert "" not in titles
    assert titles == {one.title for one in CAUSES}


def test_a_failure_without_a_cause_is_told() -> None:
    failure = {"id": "stablehlo.floor/f32/edges", "backend": "jax:cpu", "verdict": "outside", "detail": "1"}
    assert cause_of(failure) == ""
    report = {"suite": "2.0", "programs": 1, "counts": {}, "judgements": [failure, {"verdict": "within"}]}
    assert record_of(report)["failures"] == [failure]
