"""The first page of the dashboard: better or worse since the last release."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("jax")

from benchmarks import dashboard, overview
from benchmarks.overview import Run, changes, reference_of, stored_runs
from tests.support import browser

TIME = "calls.WarmCalls.time_call"
RATIO = "jax_platform.JaxPlatform.track_ratio"
UNITS = {TIME: "seconds", RATIO: "times as fast"}


def store(folder: Path, commit: str, date: int, times: list[float | None], ratio: float) -> None:
    """Store a run as asv does."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {
        "commit_hash": commit * 8,
        "env_name": "virtualenv-py3.11",
        "date": date,
        "result_columns": ["result", "params", "version"],
        "results": {
            TIME: [times, [["'gather_rows'", "'dot_float32'"], ["'small'"]], "1"],
            RATIO: [[ratio], [["'gather_rows'"]], "1"],
        },
    }
    (folder / f"{commit * 8}-virtualenv-py3.11.json").write_text(json.dumps(result))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results" / "desktop"
    store(folder, "b", 2, [1.0, 2.0], 4.0)
    store(folder, "a", 1, [9.0, 9.0], 1.0)
    store(folder, "c", 3, [1.02, 2.1], 4.1)
    store(folder, "d", 4, [2.0, 2.1], 4.1)
    store(folder, "e", 5, [2.0, None], 8.0)
    (folder / "machine.json").write_text("{}")
    units = {name: {"unit": unit} for name, unit in UNITS.items()}
    (folder.parent / "benchmarks.json").write_text(json.dumps({"version": 2, **units}))
    return folder.parent


def test_runs_are_in_the_order_of_their_commits(results: Path) -> None:
    ((setting, runs),) = stored_runs(results).items()
    assert setting == "desktop, virtualenv-py3.11"
    assert [run.commit[0] for run in runs] == list("abcde")
    assert runs[0].figures[TIME, ("gather_rows", "small")] == 9.0
    assert (TIME, ("dot_float32", "small")) not in runs[-1].figures


def test_units_are_those_that_asv_has_stored(results: Path, tmp_path: Path) -> None:
    assert overview.stored_units(results) == UNITS
    assert overview.stored_units(tmp_path) == {}


def test_the_reference_is_the_last_release(results: Path) -> None:
    (runs,) = stored_runs(results).values()
    assert reference_of(runs, ["a" * 8, "b" * 8]).commit == "b" * 8
    assert reference_of(runs, ["e" * 8]).commit == reference_of(runs, []).commit == "a" * 8


def test_changes_name_the_commit(results: Path) -> None:
    (runs,) = stored_runs(results).values()
    worse, better = changes(runs, runs[1], UNITS)
    assert (worse.benchmark, worse.factor, worse.commit[0]) == (TIME, 0.5, "d")
    assert (better.benchmark, better.factor, better.commit[0]) == (RATIO, 2.0, "e")


@pytest.mark.parametrize(("now", "count"), [(1.09, 0), (1.11, 1), (0.92, 0), (0.9, 1)])
def test_small_changes_are_noise(now: float, count: int) -> None:
    key = (TIME, ("gather_rows",))
    runs = [Run("a", 1, {key: 1.0}), Run("b", 2, {key: now})]
    assert len(changes(runs, runs[0], {})) == count


def test_the_page_links_to_programs(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "releases", lambda: ["b" * 8])
    dashboard.write_overview(results, tmp_path)
    page = tmp_path / "index.html"
    text = page.read_text()
    assert "eeeeeeee against bbbbbbbb (the last release): 1 worse, 1 better, 0 within 1.1 times" in text
    assert f'2.00 times worse</td><td class="name"><a href="figures.html#{TIME}">' in text
    assert 'title="before">1 s</td>' in text and 'title="now">8 times as fast</td>' in text
    (plan,) = set(re.findall(r'href="(plans/[^"]*)"', text))
    assert "stablehlo.gather" in (tmp_path / plan).read_text()
    assert not re.findall(r"https?://|<script", text)
    if browser.browser() is not None:
        assert not browser.faults([page])


def test_a_change_names_the_subject_of_its_commit(results: Path) -> None:
    (runs,) = stored_runs(results).values()
    section = overview.Section(runs[1], False, runs, changes(runs, runs[1], {}))
    text = overview.overview_page({"desktop": section}, set(), {"d" * 8: "Take <longer>"}, "figures.html")
    assert "dddddddd Take &lt;longer&gt;</td>" in text
    assert "(the first commit with figures: no release has any)" in text


def test_the_page_of_asv_leads_back_to_the_overview(tmp_path: Path) -> None:
    page = '<head></head><body><ul><li id="nav-li-" class="active"><a href="#/">Grid</a></li></ul></body>'
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "regressions.xml").write_text('<link href="index.html#calls?commits=1"/>')
    dashboard.move_asv_page(tmp_path)
    assert not (tmp_path / "index.html").exists()
    moved = (tmp_path / dashboard.FIGURES).read_text()
    assert '<a href="index.html">Better or worse</a>' in moved and "max-width: 700px" in moved
    assert (tmp_path / "regressions.xml").read_text() == '<link href="figures.html#calls?commits=1"/>'


def test_without_figures(tmp_path: Path) -> None:
    assert "There are no figures" in overview.overview_page({}, set(), {}, "figures.html")
    assert stored_runs(tmp_path) == {}
