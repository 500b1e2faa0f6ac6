"""Write docs/conformance_backends.md: what the conformance suite says of some backends, and why.

    nimblehlo conformance --level smoke --against nimblehlo jax:cpu interpreter iree --json smoke.json
    nimblehlo conformance --level full --json full.json --against jax:cpu nimblehlo:reference \\
        nimblehlo:{auto,eager,never}{,+threads=1} nimblehlo:{eager,never}+correctly_rounded
    python tools/conformance_backends.py smoke.json full.json    # store the runs, and write the page
    python tools/conformance_backends.py                         # write the page from the record

Each verdict other than "within" must have a cause in runtime/checks/conformance/causes.toml; else the command
fails.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nimblehlo.checks.conformance.causes import Cause, Group, by_cause
from nimblehlo.checks.conformance.suite import FULL, LEVELS, SMOKE, programs
from nimblehlo.checks.conformance.verdicts import FAILURES, Judgement, Verdict
from nimblehlo.checks.fuzzing.report import without_numbers

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "conformance_backends.md"
RECORD = ROOT / "docs" / "conformance_backends.json"
PACKAGES: Final = ("jaxlib", "iree-base-compiler")
MAX_DETAIL: Final = 160
"""Characters of a verdict's detail that the record keeps."""


HEAD: Final = """\
<!-- Written by tools/conformance_backends.py from docs/conformance_backends.json, the record of two runs. -->

# Backends by the conformance suite

What version {suite} of the [conformance suite](conformance_suite.md) says of some backends ({versions},
on x86-64). `interpreter` is StableHLO's reference interpreter. A backend that refuses a program supports
less, which is no error. `tools/conformance_backends.py` says how the page is written by a run. Each verdict
other than *within* has a cause, by the rules of `runtime/checks/conformance/causes.toml`; a verdict that no
rule fits would be listed as unexplained.
"""

Record = Mapping[str, Any]
"""The record of a run: what `record_of` gives."""


def record_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page needs of a report that `nimblehlo conformance --json` stored.

    Judgements with the same detail are stored once, with the ids of their programs. Details of wrong results
    are stored without their numbers.
    """
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    seconds: dict[str, list[float]] = {one: [] for one in report["counts"]}
    for one in report["judgements"]:
        seconds[one["backend"]].append(one.get("seconds", 0.0))
        if one["verdict"] == Verdict.WITHIN:
            continue
        detail = one["detail"][:MAX_DETAIL]
        if one["verdict"] in (Verdict.OUTSIDE, Verdict.OPEN, Verdict.ZERO_SIGN):
            detail = without_numbers(detail)
        key = (one["backend"], one.get("library", ""), one["verdict"], detail)
        groups.setdefault(key, []).append(one["id"])
    return {
        "suite": report["suite"],
        "programs": report["programs"],
        "versions": versions,
        "counts": report["counts"],
        "seconds": {key: round(sum(one)) for key, one in seconds.items() if all(one)},
        "judgements": [
            {"backend": backend, "library": library, "verdict": verdict, "detail": detail, "ids": ids}
            for (backend, library, verdict, detail), ids in groups.items()
        ],
    }


def judgements_of(record: Record) -> Iterator[Judgement]:
    """The judgements other than "within" of a run."""
    for one in record["judgements"]:
        for id in one["ids"]:
            verdict = Verdict(one["verdict"])
            yield Judgement(id, one["backend"], verdict, one["detail"], library=one["library"])


def document(record: Mapping[str, Record]) -> str:
    """The text of the page.

    Args:
        record: the records of runs by their level.
    """
    versions = ", ".join(f"{name} {version}" for name, version in _versions(record).items())
    lines = [HEAD.format(suite=record[SMOKE]["suite"], versions=versions)]
    for level in LEVELS:
        lines += _counts(level, record[level])
    groups = list(_groups(judgements_of(record[FULL])))
    by_backend = {
        backend: [one for one in groups if one[1].backend == backend] for backend in record[FULL]["counts"]
    }
    within = [f"`{backend}`" for backend, own in by_backend.items() if not own]
    lines += ["", f"All programs are within on {', '.join(within)}."] if within else []
    for backend, own in by_backend.items():
        lines += _full_section(backend, own) if own else []
    failures = [one for one in judgements_of(record[SMOKE]) if one.verdict in FAILURES]
    for backend in record[SMOKE]["counts"]:
        section = [group for group in by_cause(failures) if group.backend == backend]
        if section:
            lines += _smoke_section(backend, section)
    return "\n".join(lines) + "\n"


def _versions(record: Mapping[str, Record]) -> dict[str, str]:
    return {**record[FULL]["versions"], **record[SMOKE]["versions"]}


def _counts(level: str, record: Record) -> list[str]:
    """The table of verdicts of a level."""
    words = [str(one) for one in Verdict]
    lines = ["", f"## Level `{level}`: {record['programs']} programs", ""]
    lines += [f"| backend | {' | '.join(words)} | seconds |", f"|---|{'---:|' * (len(words) + 1)}"]
    for backend, counts in record["counts"].items():
        cells = [str(counts.get(word, 0)) for word in words]
        lines.append(f"| `{backend}` | {' | '.join(cells)} | {record['seconds'].get(backend, '')} |")
    lines += ["", "The seconds are processor time of backend and judgement, where all were measured."]
    return lines


def _groups(judgements: Iterator[Judgement]) -> Iterator[tuple[Verdict, Group]]:
    """The causes by verdict."""
    everything = list(judgements)
    for verdict in Verdict:
        for group in by_cause(one for one in everything if one.verdict is verdict):
            yield verdict, group


def _full_section(backend: str, groups: Sequence[tuple[Verdict, Group]]) -> list[str]:
    """The causes of a backend's verdicts at the level ``full``."""
    lines = ["", f"### `{backend}`: causes of all verdicts other than within", ""]
    lines += ["| verdict | what it does | programs | such as | why |", "|---|---|---:|---|---|"]
    for verdict, group in groups:
        example = f"`{group.judgements[0].id}`"
        title, why = _words(group.cause)
        if verdict is Verdict.OPEN and group.cause is not None:
            why += f" [{group.cause.question}](conformance_questions.md#{_anchor(group.cause.question)})"
        lines.append(f"| {verdict} | {title} | {len(group.judgements)} | {example} | {why} |")
    return lines


def _anchor(heading: str) -> str:
    """The anchor of a heading on a page."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _words(cause: Cause | None) -> tuple[str, str]:
    return ("unexplained", "") if cause is None else (cause.title, cause.why)


def _smoke_section(backend: str, groups: Sequence[Group]) -> list[str]:
    """The causes of a backend's failures at the level ``smoke``, each with its smallest program."""
    lines = [
        "",
        f"## `{backend}`: failures at the level `smoke`",
        "",
        "| what it does | programs |",
        "|---|---|",
    ]
    for group in groups:
        ids = ", ".join(f"`{one.id}`" for one in group.judgements)
        lines.append(f"| {_words(group.cause)[0]} | {len(group.judgements)}: {ids} |")
    for group in groups:
        texts = {one.id: _texts(one.id.partition("/")[0])[one.id] for one in group.judgements}
        smallest = min(group.judgements, key=lambda one: len(texts[one.id]))
        lines += [
            "",
            f"### `{backend}` {_words(group.cause)[0]}",
            "",
            f"`{smallest.id}`: {smallest.detail}",
            "",
        ]
        lines += ["```", texts[smallest.id].strip(), "```"]
    return lines


@functools.cache
def _texts(operation: str) -> dict[str, str]:
    """The texts of an operation's programs of the level ``smoke`` by their ids."""
    return {one.id: one.text for one in programs([operation], SMOKE)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "reports", nargs="*", type=Path, metavar="REPORT", help="of the levels smoke and full"
    )
    files = parser.parse_args().reports
    if files:
        stored = [record_of(json.loads(one.read_text(encoding="utf-8"))) for one in files]
        record = dict(zip(LEVELS, stored, strict=True))
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    unknown = [one for level in LEVELS for one in by_cause(judgements_of(record[level])) if one.cause is None]
    for group in unknown:
        for one in group.judgements:
            print(f"no cause: {one.id} on {one.backend}: {one.verdict}: {one.detail}")
    DOCUMENT.write_text(document(record), encoding="utf-8")
    return int(bool(unknown))


if __name__ == "__main__":
    raise SystemExit(main())
