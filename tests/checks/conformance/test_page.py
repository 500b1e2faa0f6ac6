"""The report as a page: what it shows, and that it is one file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nimblehlo.checks.conformance.page import page_data, write_page
from nimblehlo.checks.conformance.report import Report
from nimblehlo.checks.conformance.verdicts import FAILURES, Judgement, Verdict
from nimblehlo.cli import main
from tests.support import browser


@pytest.fixture
def report() -> Report:
    texts = {"stablehlo.add/f32/edges": "module {}", "stablehlo.add/i32/edges": "</script>"}
    texts["chlo.tan/C1"] = "module {}"
    judgements = [
        Judgement("stablehlo.add/f32/edges", "a", Verdict.WITHIN),
        Judgement("stablehlo.add/f32/edges", "b", Verdict.OUTSIDE, "1 instead of 2", 'section "add"'),
        Judgement("chlo.tan/C1", "b", Verdict.REFUSED, "no"),
    ]
    return Report(["a", "b"], len(texts), texts, judgements)


def data_in(page: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(found)
    return data


def test_each_program_has_its_verdicts(report: Report) -> None:
    data = page_data(report)
    words = data["verdicts"]
    assert (data["backends"], data["texts"]) == (["a", "b"], ["module {}", "</script>"])
    first, second, third = data["programs"]
    assert first == [
        "stablehlo.add/f32/edges",
        0,
        [words.index("within"), words.index("outside")],
        {1: 'section "add": 1 instead of 2'},
        {},
    ]
    assert second[2] == [-1, -1]
    assert third[1:] == [0, [-1, words.index("refused")], {1: "no"}, {}]


def test_a_plugin_has_the_name_of_its_library() -> None:
    one, other = "pjrt:/a/long/folder/plugin.so", "pjrt:/another/plugin.so"
    assert page_data(Report([one, "jax:cpu"]))["labels"] == ["pjrt:plugin.so", "jax:cpu"]
    assert page_data(Report([one, other]))["labels"] == [one, other]
    assert "\npjrt:plugin.so: 0 within" in Report([one]).as_text()


def test_a_cause_is_stored_once(report: Report) -> None:
    backend, words = "jax:cpu", list(Verdict)
    ids = ["stablehlo.power/i32/edges", "stablehlo.power/i8/edges"]
    judgements = [
        Judgement(id, backend, Verdict.OUTSIDE, "1 instead of 2", "section", "xla:cpu") for id in ids
    ]
    data = page_data(Report([backend], 2, dict.fromkeys(ids, "module {}"), judgements))
    ((title, why),) = data["causes"]
    assert title.startswith("computes powers of integers") and why
    assert [one[3:] for one in data["programs"]] == [[{0: "section: 1 instead of 2"}, {0: 0}]] * 2
    assert data["failures"] == [words.index(one) for one in FAILURES]


def test_the_page_is_one_file(report: Report, tmp_path: Path) -> None:
    write_page(report, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert data_in(page) == json.loads(json.dumps(page_data(report)))
    assert page.count("</script>") == 2
    assert not re.search(r"(src|href)=\"(https?:)?//", page) and "@import" not in page
    assert "prefers-color-scheme: dark" in page


@browser.needs_browser
def test_nothing_is_cut_off_or_small(report: Report, tmp_path: Path) -> None:
    write_page(report, tmp_path / "report.html")
    assert not browser.faults([tmp_path / "report.html"])


CLICKS = """<script>
const rows = () => document.querySelectorAll(".matrix tbody tr").length;
const press = (text) => [...document.querySelectorAll(".filters button")]
  .find((one) => one.textContent.trim().endsWith(text)).click();
const seen = [rows()];
for (const text of ["refused", "clear", "b", "outside"]) { press(text); seen.push(rows()); }
press("clear");
const search = document.querySelector("input[type=search]");
search.value = "ADD";
search.dispatchEvent(new Event("input"));
seen.push(rows());
console.log(`rows ${seen.join(" ")}`);
</script>"""


@browser.needs_browser
def test_filters_work_in_a_file_without_a_server(report: Report, tmp_path: Path) -> None:
    """Rows: all; those refused; all; those of the backend a; of these none is outside; a search."""
    target = tmp_path / "report.html"
    write_page(report, target)
    target.write_text(target.read_text(encoding="utf-8") + CLICKS, encoding="utf-8")
    messages = browser.opened(target).messages
    assert any('"rows 2 1 2 2 0 1"' in one for one in messages), messages


def test_each_verdict_has_a_color_and_a_glyph(report: Report, tmp_path: Path) -> None:
    write_page(report, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in ("CLASS", "GLYPH"):
        (known,) = re.findall(rf"const {name} = ({{.*?}});", page)
        assert set(json.loads(known)) == set(map(str, Verdict))
    (ranked,) = re.findall(r"const RANK = (\[.*?\]);", page)
    assert set(json.loads(ranked)) == set(map(str, Verdict))


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert main(["conformance", "--operations", "floor", "--level", "smoke", "--html", str(target)]) == 0
    data = data_in(target.read_text(encoding="utf-8"))
    assert [one[0] for one in data["programs"]] == ["stablehlo.floor/f32/edges", "stablehlo.floor/C1"]
    assert all("func.func" in text for text in data["texts"])


def test_a_text_cannot_open_a_comment(report: Report, tmp_path: Path) -> None:
    """In a comment, ``<script`` would make the browser look for another end of the element."""
    report.texts["stablehlo.add/f32/edges"] = "<!--<script"
    write_page(report, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<!--" not in page and data_in(page)["texts"][0] == "<!--<script"
