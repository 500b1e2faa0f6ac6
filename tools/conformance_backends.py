"""Write docs/conformance_backends.md: what the conformance suite says of some backends, and why.

    nimblehlo conformance --level smoke --against nimblehlo jax:cpu interpreter iree --json report.json
    python tools/conformance_backends.py report.json    # store the record of the run, and write the page
    python tools/conformance_backends.py                # write the page from the record

Each program that contradicts the specification must have a cause in CAUSES; else the command fails.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from nimblehlo.checks.conformance.suite import SMOKE, programs
from nimblehlo.checks.conformance.verdicts import FAILURES, Verdict

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "conformance_backends.md"
RECORD = ROOT / "docs" / "conformance_backends.json"
PACKAGES: Final = ("jaxlib", "iree-base-compiler")


HEAD: Final = """\
<!-- Written by tools/conformance_backends.py from docs/conformance_backends.json, the record of a run. -->

# Backends by the conformance suite

What version {suite} of the [conformance suite](conformance_suite.md) says of some backends at the level
`smoke`, {programs} programs ({versions}, on x86-64). `interpreter` is StableHLO's reference interpreter.
A backend that refuses a program supports less, which is no error. `tools/conformance_backends.py` says how
the page is written by a run.
"""


class Cause(NamedTuple):
    """Why programs contradict the specification.

    Attributes:
        backends: a pattern of the names of backends.
        programs: a pattern of the ids of programs.
        detail: a pattern that the verdict's detail contains.
        title: what is wrong, in words.
    """

    backends: str
    programs: str
    detail: str
    title: str


ANY: Final = ".*"
CAUSES: Final = (
    Cause(
        "interpreter",
        ANY,
        "is unsupported|Unsupported op|only supported when",
        "ends its process where it lacks an operation",
    ),
    Cause(
        "interpreter",
        r".*/[CI]\d+(_\w+)?",
        "ended its process",
        "ends its process on programs that break a constraint",
    ),
    Cause(ANY, r".*/[CI]\d+(_\w+)?", "runs a program", "runs programs that break a constraint"),
    Cause(
        "interpreter",
        r"stablehlo\.triangular_solve/.*",
        "ended",
        "ends its process in `triangular_solve` of batches",
    ),
    Cause(
        "interpreter",
        r".*(divide|remainder)/i32/.*",
        "status -8",
        "ends its process where an integer is divided by zero",
    ),
    Cause(
        "interpreter", r"stablehlo\.compare/f32/.*TOTALORDER", ANY, "takes TOTALORDER for FLOAT: -0 equals 0"
    ),
    Cause(
        ANY,
        r"stablehlo\.scatter/.*",
        "ended",
        "ends its process in `scatter` with windows or indices out of bounds",
    ),
    Cause(
        ANY, r"stablehlo\.scatter/.*", ANY, "drops windows that are partly out of bounds, not single elements"
    ),
    Cause(
        ANY,
        r"stablehlo\.rng_bit_generator/(f32|i32)/.*",
        "instead of",
        "returns ui32 in place of the result's element type",
    ),
    Cause(
        "iree",
        r"(stablehlo\.sort|chlo\.top_k)/.*ties.*",
        ANY,
        "sorts equal elements in another order although the sort is stable",
    ),
    Cause(ANY, r".*power/i32/.*", ANY, "computes powers of integers wrongly for large exponents"),
    Cause(ANY, r".*multiply/f32/.*", ANY, "flushes products that round up to the smallest normal number"),
    Cause(
        ANY,
        r".*(zeta|polygamma)/f32/.*",
        ANY,
        "gives NaN or zero in `zeta` and `polygamma` where terms overflow, and for other operands",
    ),
    Cause(ANY, r".*next_after/f32/.*", ANY, "steps from zero in the wrong place for subnormal numbers"),
    Cause(ANY, r"chlo\._asin_acos_kernel/.*", ANY, "loses the imaginary part of tiny complex results"),
    Cause(
        "iree",
        r".*(sine|cosine|tan)/f32/.*",
        ANY,
        "gives wrong results of `sine`, `cosine` and `tan` for large arguments, also infinities",
    ),
    Cause(
        "iree",
        r".*(power|cbrt)/f32/.*",
        ANY,
        "gives other special values of `power`, and NaN for negative numbers of `cbrt`",
    ),
    Cause(
        "iree",
        r".*atan2/f32/.*",
        ANY,
        "gives NaN for special values and subnormal numbers of `atan2`",
    ),
    Cause(
        "iree",
        r".*(digamma|erf)/f32/.*",
        ANY,
        "gives wrong results of `digamma` and `erf` near the smallest numbers",
    ),
    Cause(ANY, r".*(atan2|cbrt)/f32/.*", ANY, "gives NaN or another sign for subnormal numbers"),
    Cause(ANY, r"stablehlo\.reduce_scatter/.*", ANY, "a maximum loses NaN, although nothing is reduced"),
)
"""The first one that fits is the cause."""


def record_of(report: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of a report that `nimblehlo conformance --json` stored."""
    words = {str(one) for one in FAILURES}
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "suite": report["suite"],
        "programs": report["programs"],
        "versions": versions,
        "counts": report["counts"],
        "failures": [one for one in report["judgements"] if one["verdict"] in words],
    }


def cause_of(failure: dict[str, Any]) -> str:
    """The title of the cause of a failure; empty: none is known."""
    for cause in CAUSES:
        patterns = ((cause.backends, failure["backend"]), (cause.programs, failure["id"]))
        if all(re.fullmatch(*one) for one in patterns) and re.search(cause.detail, failure["detail"]):
            return cause.title
    return ""


def document(record: dict[str, Any]) -> str:
    """The text of the page."""
    words = [str(one) for one in Verdict]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [
        HEAD.format(suite=record["suite"], programs=record["programs"], versions=versions),
        f"| backend | {' | '.join(words)} |",
        f"|---|{'---:|' * len(words)}",
    ]
    for backend, counts in record["counts"].items():
        lines.append(f"| `{backend}` | {' | '.join(str(counts.get(word, 0)) for word in words)} |")
    for backend in record["counts"]:
        failures = [one for one in record["failures"] if one["backend"] == backend]
        if failures:
            lines += _section(backend, failures)
    return "\n".join(lines) + "\n"


def _section(backend: str, failures: Sequence[dict[str, Any]]) -> list[str]:
    """The causes of a backend's failures, each with its smallest program."""
    causes: dict[str, list[dict[str, Any]]] = {}
    for one in failures:
        causes.setdefault(cause_of(one), []).append(one)
    lines = ["", f"## `{backend}`", "", "| what it does | programs |", "|---|---|"]
    for title, group in causes.items():
        ids = ", ".join(f"`{one['id']}`" for one in group)
        lines.append(f"| {title} | {len(group)}: {ids} |")
    for title, group in causes.items():
        texts = {one["id"]: _texts(one["id"].partition("/")[0])[one["id"]] for one in group}
        smallest = min(group, key=lambda one: len(texts[one["id"]]))
        said = " ".join(smallest["detail"].split())
        lines += ["", f"### `{backend}` {title}", "", f"`{smallest['id']}`: {said}", ""]
        lines += ["```", texts[smallest["id"]].strip(), "```"]
    return lines


@functools.cache
def _texts(operation: str) -> dict[str, str]:
    """The texts of an operation's programs of the level ``smoke`` by their ids."""
    return {one.id: one.text for one in programs([operation], SMOKE)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", nargs="?", type=Path)
    report = parser.parse_args().report
    if report is not None:
        record = record_of(json.loads(report.read_text(encoding="utf-8")))
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    unexplained = [one for one in record["failures"] if not cause_of(one)]
    for one in unexplained:
        print(f"no cause: {one['id']} on {one['backend']}: {one['detail']}")
    DOCUMENT.write_text(document(record), encoding="utf-8")
    return int(bool(unexplained))


if __name__ == "__main__":
    raise SystemExit(main())
