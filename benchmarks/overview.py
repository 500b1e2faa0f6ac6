"""The first page of the dashboard: better or worse than at the last release, and since which commit."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence, Set
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from nimblehlo.inspection.profiling.profile import duration

CHANGE: Final = 1.1
"""The factor from which figures of two commits count as different: asv's own limit for regressions."""

MIN_REPEATS: Final = 5
"""The measurements of a figure from which their quartiles say how far they spread."""

MIN_STEPS: Final = 4
"""The steps of a figure between runs from which their median says how far runs spread."""

STEPS: Final = 4
"""How many median steps a change must exceed: with normally distributed noise 2.7 standard deviations, which
0.7 % of the unchanged figures exceed. The lower median is taken: two real changes among four steps do not
count as noise."""

RULE: Final = (
    f"A figure is called better or worse if it differs by at least {CHANGE:g} times and by more than noise: "
    "by a larger factor than lies between the quartiles of its repeated measurements at either commit, and "
    f"by more than {STEPS} times the median step between its runs if it has at least {MIN_STEPS + 1}. "
    "A figure without repeated measurements and with fewer runs is not judged but listed apart."
)
"""What the page says of noise."""

COSTS: Final = ("seconds", "bytes", "MB")
"""The units of figures of which less is better; the others are speeds."""

_STYLE: Final = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 75rem; padding: 1rem; font: 16px/1.5 system-ui;
  background: light-dark(#ffffff, #15171b); color: light-dark(#1b1d21, #e6e7ea); }
div.table { overflow-x: auto; } table { border-collapse: collapse; }
td, th { text-align: left; padding: .15rem .9rem .15rem 0; white-space: nowrap; vertical-align: top;
  border-bottom: 1px solid #8884; }
td.name, td.commit { white-space: normal; overflow-wrap: anywhere; min-width: min(22rem, 30vw); }
h1, h2 { overflow-wrap: anywhere; }
@media (max-width: 900px) {
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid #8884; } th { display: none; }
  td { display: inline; border: 0; } td.name { display: block; }
  td[title]::before { content: attr(title) " "; opacity: .75; }
}
.number { text-align: right; } .worse { color: light-dark(#c5221f, #ff8a80); }
.better { color: light-dark(#188038, #81c995); } a { color: light-dark(#0b57d0, #8ab4f8); }
"""


Key = tuple[str, tuple[str, ...]]
"""The name of a figure: a benchmark and its parameters."""


class Change(NamedTuple):
    """A figure that is not what it was.

    Attributes:
        benchmark: asv's name of the benchmark.
        parameters: those of the figure, as asv prints them.
        before, after: the figure at the reference and now.
        factor: how many times as good it is now: less than 1 is worse.
        commit: the commit with the largest step in that direction.
        unit: of the figure; "" if asv has stored none.
        is_judged: whether it is known to exceed noise; if not, it was measured once.
    """

    benchmark: str
    parameters: tuple[str, ...]
    before: float
    after: float
    factor: float
    commit: str
    unit: str = ""
    is_judged: bool = True


class Section(NamedTuple):
    """What the page says of a machine and an environment.

    Attributes:
        reference: the run with which the last one is compared.
        is_released: whether that is the run of a release.
        runs: in the order of their commits.
        changes: the figures that differ by more than noise or were measured once, the worst first.
    """

    reference: Run
    is_released: bool
    runs: Sequence[Run]
    changes: Sequence[Change]


class Run(NamedTuple):
    """The figures of a commit.

    Attributes:
        commit: its hash.
        date: asv's date of the commit, in milliseconds.
        figures: by the benchmark and its parameters.
        halves: the quartiles between which the middle half of a figure's repeated measurements lies.
    """

    commit: str
    date: float
    figures: Mapping[Key, float]
    halves: Mapping[Key, tuple[float, float]] = MappingProxyType({})


def stored_runs(results: Path) -> dict[str, list[Run]]:
    """The runs of each machine and environment in the order of their commits.

    Args:
        results: the folder of asv's results.

    Source: asv, "Benchmark result files" (version 2).
    """
    runs: dict[str, list[Run]] = {}
    for path in sorted(results.glob("*/*.json")):
        if path.name in ("machine.json", "benchmarks.json"):
            continue
        stored = json.loads(path.read_text())
        setting = f"{path.parent.name}, {stored.get('env_name', '')}".rstrip(", ")
        figures = {key: one["result"] for key, one in _figures(stored)}
        halves = {key: half for key, one in _figures(stored) if (half := _half(one))}
        run = Run(stored["commit_hash"], stored.get("date", 0), figures, halves)
        runs.setdefault(setting, []).append(run)
    for listed in runs.values():
        listed.sort(key=lambda run: run.date)
    return runs


def stored_units(results: Path) -> dict[str, str]:
    """The unit of each benchmark that asv knows.

    Args:
        results: the folder of asv's results.
    """
    known = results / "benchmarks.json"
    stored = json.loads(known.read_text()) if known.exists() else {}
    return {name: fields.get("unit", "") for name, fields in stored.items() if isinstance(fields, dict)}


_FIELDS: Final = ("result", "stats_q_25", "stats_q_75", "stats_repeat")


def _figures(stored: Mapping[str, Any]) -> Iterator[tuple[Key, dict[str, float]]]:
    """The figures of a file by their names: each with the `_FIELDS` that the file has of it."""
    columns = stored["result_columns"]
    for benchmark, row in stored["results"].items():
        fields = dict(zip(columns, row, strict=False))
        lists = [fields.get(name) or itertools.repeat(None) for name in _FIELDS]
        # The results come first: they end the lists where asv has stored none of a kind.
        for parameters, *values in zip(itertools.product(*fields.get("params") or []), *lists, strict=False):
            found = dict(zip(_FIELDS, values, strict=True))
            value = found["result"]
            if isinstance(value, (int, float)) and math.isfinite(value) and value > 0:
                known = {name: float(one) for name, one in found.items() if one is not None}
                yield (benchmark, tuple(text.strip("'") for text in parameters)), known


def _half(figure: Mapping[str, float]) -> tuple[float, float] | None:
    """The quartiles of a figure's measurements; None if there are too few."""
    if figure.get("stats_repeat", 1) < MIN_REPEATS:
        return None
    return figure["stats_q_25"], figure["stats_q_75"]


def reference_of(runs: Sequence[Run], releases: Sequence[str]) -> Run:
    """The run of the last release that has one; the first run if none has.

    Args:
        runs: in the order of their commits.
        releases: the commits of releases.
    """
    return next((run for run in reversed(runs[:-1]) if run.commit in releases), runs[0])


def changes(runs: Sequence[Run], reference: Run, units: Mapping[str, str]) -> list[Change]:
    """The figures of the last run that differ from the reference by `RULE`, the worst first.

    Args:
        runs: in the order of their commits, of which the last one is compared.
        reference: one of them.
        units: of benchmarks; more is better of what is not among `COSTS`. What is not listed is a time.
    """
    last, found = runs[-1], []
    for key, after in last.figures.items():
        before = reference.figures.get(key)
        if before is None or max(before / after, after / before) < CHANGE:
            continue
        exceeds = _exceeds_noise(runs, reference, key)
        if exceeds is False:
            continue
        unit = units.get(key[0], "")
        factor = before / after if not unit or unit in COSTS else after / before
        between = runs[runs.index(reference) :]
        commit = _largest_step(between, key, rises=after > before)
        found.append(Change(key[0], key[1], before, after, factor, commit, unit, exceeds is not None))
    return sorted(found, key=lambda change: change.factor)


def _exceeds_noise(runs: Sequence[Run], reference: Run, key: Key) -> bool | None:
    """Whether a figure differs by more than its measurements spread; None if there is nothing to tell it."""
    last = runs[-1]
    change = abs(math.log(last.figures[key] / reference.figures[key]))
    halves = [run.halves[key] for run in (reference, last) if key in run.halves]
    are_repeated = len(halves) == 2
    if are_repeated and change <= max(math.log(high / low) for low, high in halves):
        return False
    steps = [abs(math.log(factor)) for factor, _ in _steps(runs, key)]
    if len(steps) < MIN_STEPS:
        return True if are_repeated else None
    return change > STEPS * statistics.median_low(steps)


def _largest_step(runs: Sequence[Run], key: Key, rises: bool) -> str:
    """The commit at which a figure changed most in a direction."""
    return (max if rises else min)(_steps(runs, key))[1]


def _steps(runs: Sequence[Run], key: Key) -> list[tuple[float, str]]:
    """By which factor a figure changed from each run to the next one that has it, and the commit of that."""
    measured = [run for run in runs if key in run.figures]
    return [
        (later.figures[key] / earlier.figures[key], later.commit)
        for earlier, later in itertools.pairwise(measured)
    ]


def overview_page(
    settings: Mapping[str, Section], plans: Set[str], subjects: Mapping[str, str], figures: str
) -> str:
    """The page as HTML that loads nothing.

    Args:
        settings: the machines and environments.
        plans: the programs that have a page with their text and plan, ``plans/NAME.html``.
        subjects: the first lines of the messages of commits.
        figures: the page that plots a benchmark, which its hash names.
    """
    sections = "".join(
        _section(setting, section, plans, subjects, figures) for setting, section in settings.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>NimbleHLO: better or worse</title><style>{_STYLE}</style></head><body>"
        "<h1>Better or worse since the last release</h1>"
        f'<p><a href="{figures}">All figures over the commits</a></p><p>{RULE}</p>'
        f"{sections or '<p>There are no figures.</p>'}</body></html>\n"
    )


def _section(
    setting: str, section: Section, plans: Set[str], subjects: Mapping[str, str], figures: str
) -> str:
    reference, is_released, runs, found = section
    if reference is runs[-1]:
        commit = escape(reference.commit[:8])
        return f"<h2>{escape(setting)}</h2><p>{commit} is the only commit with figures.</p>"
    judged = [change for change in found if change.is_judged]
    once = [change for change in found if not change.is_judged]
    worse = sum(change.factor < 1 for change in judged)
    same = len(runs[-1].figures.keys() & reference.figures.keys()) - len(found)
    table, apart = (_table(some, plans, subjects, figures) for some in (judged, once))
    if once:
        what = f"{len(once)} measured once differ by {CHANGE:g} times and more: noise, or changes"
        apart = f"<details><summary>{what}</summary>{apart}</details>"
    role = "the last release" if is_released else "the first commit with figures: no release has any"
    return (
        f"<h2>{escape(setting)}</h2><p>{escape(runs[-1].commit[:8])} against {escape(reference.commit[:8])} "
        f"({role}): {worse} worse, {len(judged) - worse} better, {same} the same.</p>{table}{apart}"
    )


def _table(found: Sequence[Change], plans: Set[str], subjects: Mapping[str, str], figures: str) -> str:
    rows = "".join(_row(change, plans, subjects, figures) for change in found)
    heads = "".join(f"<th>{name}</th>" for name in ("", "benchmark", "before", "now", "since", "plan"))
    return f'<div class="table"><table><tr>{heads}</tr>{rows}</table></div>' if found else ""


def _row(change: Change, plans: Set[str], subjects: Mapping[str, str], figures: str) -> str:
    kind = "worse" if change.factor < 1 else "better"
    times = change.factor if change.factor >= 1 else 1 / change.factor
    name = f"{change.benchmark}({', '.join(change.parameters)})"
    program = next((one for one in change.parameters if one in plans), None)
    link = "" if program is None else f'<a href="plans/{escape(program)}.html">text and plan</a>'
    since = f"{change.commit[:8]} {subjects.get(change.commit, '')}".rstrip()
    before, after = (_shown(value, change.unit) for value in (change.before, change.after))
    return (
        f'<tr><td class="{kind}">{times:.2f} times {kind}</td>'
        f'<td class="name"><a href="{figures}#{escape(change.benchmark)}">{escape(name)}</a></td>'
        f'<td class="number" title="before">{before}</td><td class="number" title="now">{after}</td>'
        f'<td class="commit" title="since">{escape(since)}</td><td>{link}</td></tr>'
    )


def _shown(value: float, unit: str) -> str:
    if unit == "seconds":
        return duration(value)
    return f"{value / 2**20:.3g} MiB" if unit == "bytes" else f"{value:.3g} {unit}".rstrip()
