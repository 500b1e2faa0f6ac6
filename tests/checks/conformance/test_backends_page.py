"""docs/conformance_backends.md, which is written from the record of two runs, and the causes of verdicts."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from typing import Any, Final

from nimblehlo.checks.conformance import SUITE_VERSION, Judgement, Verdict
from nimblehlo.checks.conformance.causes import by_cause, cause_of, causes
from nimblehlo.checks.conformance.suite import FULL, LEVELS, SMOKE
from tools.conformance_backends import DOCUMENT, RECORD, document, judgements_of, record_of

QUESTIONS: Final = DOCUMENT.with_name("conformance_questions.md")


@functools.cache
def record() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return loaded


def judgements() -> list[Judgement]:
    """The verdicts other than "within" of both runs."""
    return [one for level in LEVELS for one in judgements_of(record()[level])]


def test_the_page_is_that_of_the_record() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(record())
    assert {one["suite"] for one in record().values()} == {SUITE_VERSION}


def test_this_project_is_within() -> None:
    for level in LEVELS:
        ours = [counts for name, counts in record()[level]["counts"].items() if name.startswith("nimblehlo")]
        assert len(ours) == {SMOKE: 1, FULL: 9}[level]
        assert all(one == {"within": record()[level]["programs"]} for one in ours)
    assert {"jax:cpu", "interpreter", "iree"} <= record()[SMOKE]["counts"].keys()
    assert "jax:cpu" in record()[FULL]["counts"]


def test_each_verdict_is_stored() -> None:
    for one in record().values():
        for backend, counts in one["counts"].items():
            assert sum(counts.values()) == one["programs"]
            stored = sum(judgement.backend == backend for judgement in judgements_of(one))
            assert stored == one["programs"] - counts["within"]


def test_each_verdict_has_a_cause_and_each_cause_a_verdict() -> None:
    groups = by_cause(judgements())
    assert [one.judgements for one in groups if one.cause is None] == []
    used = {cause_of(one) for one in judgements()}
    assert [one.title for one in causes() if one not in used] == []


def test_a_verdict_without_a_cause_is_told() -> None:
    unknown = Judgement("stablehlo.floor/f32/edges", "jax:cpu", Verdict.OUTSIDE, "1")
    assert cause_of(unknown) is None
    (group,) = by_cause([unknown, Judgement(unknown.id, "jax:cpu", Verdict.WITHIN)])
    assert (group.cause, list(group.judgements)) == (None, [unknown])


def test_a_cause_explains_its_verdicts_alone() -> None:
    scatter = Judgement(
        "stablehlo.scatter/f32/windows_add", "jax:cpu", Verdict.OUTSIDE, "1", library="xla:cpu"
    )
    cause = cause_of(scatter)
    assert cause is not None and cause.title.startswith("drops windows")
    assert cause_of(replace(scatter, verdict=Verdict.TIMED_OUT)) is None


def test_a_plugin_has_the_causes_of_its_library() -> None:
    scatter = Judgement("stablehlo.scatter/f32/windows_add", "pjrt:plugin.so", Verdict.OUTSIDE, "1")
    assert cause_of(scatter) is None
    of_xla = cause_of(replace(scatter, library="xla:cpu"))
    assert of_xla is not None and of_xla.title.startswith("drops windows")
    # A platform of JAX may be another library than XLA.
    assert cause_of(replace(scatter, backend="jax:other")) is None


def test_what_is_open_is_a_question() -> None:
    headings = {
        one.lstrip("# ")
        for one in QUESTIONS.read_text(encoding="utf-8").splitlines()
        if one.startswith("### ")
    }
    assert {one.question for one in causes() if one.question} <= headings
    opened = [cause_of(one) for one in judgements() if one.verdict is Verdict.OPEN]
    assert opened and all(one is not None and one.question for one in opened)


def test_a_record_has_judgements_with_equal_details_once() -> None:
    judged = [
        {
            "id": "stablehlo.add/f32/a",
            "backend": "b",
            "verdict": "outside",
            "detail": "1 at [2]",
            "seconds": 0.4,
        },
        {
            "id": "stablehlo.add/f32/b",
            "backend": "b",
            "verdict": "outside",
            "detail": "3 at [4]",
            "seconds": 0.4,
        },
        {"id": "stablehlo.add/f32/c", "backend": "b", "verdict": "within", "detail": "", "seconds": 0.4},
    ]
    report = {"suite": "2.0", "programs": 3, "counts": {"b": {}}, "judgements": judged, "seconds": 2.0}
    stored = record_of(report)
    (group,) = stored["judgements"]
    assert group["ids"] == ["stablehlo.add/f32/a", "stablehlo.add/f32/b"]
    assert group["detail"] == "N at [N]"
    assert stored["seconds"] == {"b": 1}
    judged[2]["seconds"] = 0.0
    assert record_of(report)["seconds"] == {}
