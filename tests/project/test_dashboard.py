"""The first page of the dashboard: better or worse since the last release."""

from __future__ import annotations

import json
import re
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("jax")

from benchmarks import asv_wheel, calls, dashboard, overview
from benchmarks.overview import Run, changes, reference_of, stored_runs
from tests.support import browser

TIME = "calls.WarmCalls.time_call"
RATIO = "jax_platform.JaxPlatform.track_ratio"
UNITS = {TIME: "seconds", RATIO: "times as fast"}


def store(
    folder: Path, commit: str, date: int, times: list[float | None], ratio: float, repeats: int = 20
) -> None:
    """Store a run as asv does: times with quartiles, and a ratio without."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {
        "commit_hash": commit * 8,
        "env_name": "virtualenv-py3.11",
        "date": date,
        "result_columns": ["result", "params", "stats_q_25", "stats_q_75", "stats_repeat"],
        "results": {
            TIME: [
                times,
                [["'gather_rows'", "'dot_float32'"], ["'small'"]],
                [None if time is None else time / 1.01 for time in times],
                [None if time is None else time * 1.01 for time in times],
                [None if time is None else repeats for time in times],
            ],
            RATIO: [[ratio], [["'gather_rows'"]]],
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
    assert runs[1].halves == {
        (TIME, ("gather_rows", "small")): (1 / 1.01, 1.01),
        (TIME, ("dot_float32", "small")): (2 / 1.01, 2.02),
    }


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


KEY = (TIME, ("gather_rows",))


def run(commit: str, value: float, half: tuple[float, float] | None = None) -> Run:
    """A run of one figure; without quartiles it was measured once."""
    return Run(commit, ord(commit), {KEY: value}, {} if half is None else {KEY: half})


@pytest.mark.parametrize(("now", "count"), [(1.09, 0), (1.11, 1), (0.92, 0), (0.9, 1)])
def test_small_changes_count_as_none(now: float, count: int) -> None:
    runs = [run("a", 1.0, (1.0, 1.0)), run("b", now, (now, now))]
    assert len(changes(runs, runs[0], {})) == count


@pytest.mark.parametrize(
    ("before", "after", "count"), [((0.9, 1.4), (1.4, 1.6), 0), ((0.9, 1.3), (1.4, 1.6), 1)]
)
def test_a_change_exceeds_the_noise_of_repeated_measurements(
    before: tuple[float, float], after: tuple[float, float], count: int
) -> None:
    runs = [run("a", 1.0, before), run("b", 1.5, after)]
    assert len(changes(runs, runs[0], {})) == len(changes(runs[::-1], runs[1], {})) == count


@pytest.mark.parametrize(("noise", "count"), [(1.15, 0), (1.03, 1)])
def test_a_change_exceeds_the_steps_between_runs(noise: float, count: int) -> None:
    """Also where each run has little spread: other load lasts for all measurements of a run."""
    values = [1.0, noise, 1.0, noise, 1.0, 1.3]
    for are_repeated in (True, False):
        runs = [
            run(commit, value, (value, value) if are_repeated else None)
            for commit, value in zip("abcdef", values, strict=True)
        ]
        assert len(changes(runs, runs[0], {})) == count
        assert all(change.is_judged for change in changes(runs, runs[0], {}))


def test_what_was_measured_once_is_not_judged(tmp_path: Path) -> None:
    for commit, time in (("a", 1.0), ("b", 3.0)):
        store(tmp_path / "desktop", commit, ord(commit), [time, 1.0], 1.0, repeats=1)
    (runs,) = stored_runs(tmp_path).values()
    (change,) = changes(runs, runs[0], {})
    assert not runs[0].halves and not change.is_judged
    section = overview.Section(runs[0], False, runs, [change])
    text = overview.overview_page({"desktop": section}, set(), {}, "figures.html")
    assert "0 worse, 0 better, 2 the same.</p><details><summary>1 measured once" in text
    assert "3.00 times worse" in text


def test_the_page_links_to_programs(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "releases", lambda: ["b" * 8])
    dashboard.write_overview(results, tmp_path)
    page = tmp_path / "index.html"
    text = page.read_text()
    assert "eeeeeeee against bbbbbbbb (the last release): 1 worse, 1 better, 0 the same" in text
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
    (tmp_path / "graphdisplay.js").write_text("axisLabelFontSizePixels: 12")
    (tmp_path / "regressions.xml").write_text('<link href="index.html#calls?commits=1"/>')
    dashboard.move_asv_page(tmp_path)
    assert not (tmp_path / "index.html").exists()
    moved = (tmp_path / dashboard.FIGURES).read_text()
    assert '<a href="index.html">Better or worse</a>' in moved and "max-width: 700px" in moved
    assert (tmp_path / "graphdisplay.js").read_text() == "axisLabelFontSizePixels: 15"
    assert (tmp_path / "regressions.xml").read_text() == '<link href="figures.html#calls?commits=1"/>'


def test_a_single_run_is_compared_with_none() -> None:
    only = run("a", 1.0)
    section = overview.Section(only, False, [only], [])
    text = overview.overview_page({"desktop": section}, set(), {}, "figures.html")
    assert "a is the only commit with figures" in text and "against" not in text


def test_without_figures(tmp_path: Path) -> None:
    assert "There are no figures" in overview.overview_page({}, set(), {}, "figures.html")
    assert stored_runs(tmp_path) == {}


def test_commits_are_built_with_ccache_unless_a_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: {"CC": "gcc -pthread"}[name])
    path = {"PATH": "/bin"}
    assert asv_wheel.build_environment(path, "/bin/ccache") == {**path, "CC": "ccache gcc -pthread"}
    assert asv_wheel.build_environment(path, None) == path
    assert asv_wheel.build_environment({"CC": "clang"}, "/bin/ccache") == {"CC": "clang"}


def test_requirements_of_a_build_are_installed_once_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip's isolation would install them in a folder whose name changes, so that ccache finds nothing."""
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = ["Cython>=3.1", "numpy"]\n')
    commands: list[list[str]] = []
    monkeypatch.setattr("subprocess.run", lambda command, **settings: commands.append(command))
    monkeypatch.setattr(sys, "argv", ["asv_wheel.py", str(tmp_path), "wheels"])
    asv_wheel.main()
    install, wheel = commands
    assert install[-3:] == ["install", "Cython>=3.1", "numpy"]
    assert {"--no-build-isolation", "--no-deps", str(tmp_path)} <= set(wheel)


def test_a_process_warms_up_once_for_all_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """asv sets up before each timed call."""
    made: list[Any] = []
    monkeypatch.setattr(calls, "our_call", lambda *arguments: made.append(arguments) or len)
    monkeypatch.setattr(calls, "PROGRAMS", {"one": SimpleNamespace(inputs=lambda size: [])})
    suite = calls.WarmCalls()
    for _ in range(3):
        suite.setup("one", "small")
    assert len(made) == 1 and suite.call is len
