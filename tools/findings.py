"""Write docs/findings.md: programs on which other systems contradict the specification, and what each does.

    python -m tools.findings jax:cpu interpreter    # run the programs, store the outcomes, write the page
    python -m tools.findings iree                   # the same for another one, where its packages are
    python -m tools.findings                        # write the page from the record

The programs are in tests/reports/findings, in the form of tests/reports: their first lines say the sentence
of the specification, the inputs and the right results. `make test` runs them on NimbleHLO in every mode, and
on the backends in the version of the record where they are installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from nimblehlo.checks.backends import Backend, BackendExit, BackendTimeout, IsolatedBackend
from nimblehlo.checks.conformance.verdicts import FAILURES, Verdict
from nimblehlo.errors import NimbleError, counted
from tests.reports.report import Report, reports_in

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAMS: Final = ROOT / "tests" / "reports" / "findings"
DOCUMENT: Final = ROOT / "docs" / "findings.md"
RECORD: Final = ROOT / "docs" / "findings.json"
PACKAGES: Final = {"jax": "jaxlib", "interpreter": "jaxlib", "iree": "iree-base-compiler"}
"""The package whose version decides what a backend does, by the beginning of the backend's name."""
TIMEOUT: Final = 60.0
"""Seconds that a backend may take for a program."""
MAX_DETAIL: Final = 300
"""Characters of what a backend does that the record keeps."""

HEAD: Final = """\
<!-- Written by tools/findings.py from docs/findings.json, the record of runs, and tests/reports/findings. -->

# Findings on other systems

Programs on which another implementation of StableHLO contradicts the specification, each in the fewest
operations that show it, with the sentence of the specification and the right results: {count} programs, on
{versions}, on x86-64. `interpreter` is StableHLO's reference interpreter, which
jaxlib has. The findings come from the [conformance suite](conformance_suite.md), from random programs
([`nimblehlo fuzz`](accuracy.md)) and from public reports. A backend that refuses a legal program supports
less, which is no finding.

`make test` runs every program on NimbleHLO in all modes, and on the backends where their packages have these
versions. `python -m tools.findings BACKEND ...` runs them on any [backend](conformance_suite.md), and writes
this page.
"""


class Outcome(NamedTuple):
    """What a backend does with a program.

    Attributes:
        verdict: within, outside, refused, ended the process or timed out.
        detail: what is wrong; empty if nothing is.
    """

    verdict: str
    detail: str = ""


def outcome(report: Report, backend: Backend) -> Outcome:
    """Run a program on a backend."""
    try:
        results = backend.run_text(report.text, report.inputs)
    except BackendExit as error:
        return Outcome(Verdict.ENDED, _first_line(str(error)))
    except BackendTimeout:
        return Outcome(Verdict.TIMED_OUT)
    except NimbleError as error:
        return Outcome(Verdict.WITHIN) if report.error else Outcome(Verdict.REFUSED, _first_line(str(error)))
    wrong = report.wrong_results(results)
    return Outcome(Verdict.WITHIN) if wrong is None else Outcome(Verdict.OUTSIDE, wrong[:MAX_DETAIL])


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0][:MAX_DETAIL]


def version_of(backend: str) -> str:
    """The package and the version that a backend has here.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
    """
    package = PACKAGES[backend.partition(":")[0]]
    return f"{package} {importlib.metadata.version(package)}"


def run(names: Sequence[str]) -> dict[str, Any]:
    """The outcomes of all programs on backends: by their name the version, and an outcome by program."""
    reports = reports_in(PROGRAMS)
    record = {}
    for name in names:
        backend = IsolatedBackend(name, TIMEOUT)
        outcomes = {one.subject: outcome(one, backend)._asdict() for one in reports}
        record[name] = {"version": version_of(name), "outcomes": outcomes}
    return record


def document(record: Mapping[str, Any], reports: Sequence[Report]) -> str:
    """The text of the page."""
    versions = ", ".join(dict.fromkeys(one["version"] for one in record.values()))
    found = [one for one in reports if is_wrong_somewhere(one, record)]
    lines = [HEAD.format(count=len(found), versions=versions)]
    names = " | ".join(f"`{one}`" for one in record)
    lines += [f"| finding | {names} |", "|---|" + "---|" * len(record)]
    for report in found:
        cells = [one["outcomes"][report.subject]["verdict"] for one in record.values()]
        lines.append(f"| {report.subject} | {' | '.join(cells)} |")
    lines.append("")
    for name, one in record.items():
        verdicts = [one["outcomes"][report.subject]["verdict"] for report in found]
        counts = [f"{verdicts.count(word)} {word}" for word in Verdict if word in verdicts]
        lines.append(f"- `{name}`: {', '.join(counts)}")
    for report in found:
        lines += _section(report, record)
    lines += [
        "",
        "## No longer found",
        "",
        "Former findings that are right, or refused, in these versions:",
        "",
    ]
    lines += [f"- {one.subject}" for one in reports if one not in found]
    return "\n".join(lines) + "\n"


def is_wrong_somewhere(report: Report, record: Mapping[str, Any]) -> bool:
    """Whether a backend contradicts the specification."""
    return any(one["outcomes"][report.subject]["verdict"] in FAILURES for one in record.values())


def _section(report: Report, record: Mapping[str, Any]) -> list[str]:
    """A finding: the sentence of the specification, what each backend does, and the program."""
    title = report.subject[0].upper() + report.subject[1:]
    lines = ["", f"## {title}", "", f"{report.rule}", ""]
    for name, one in record.items():
        found = Outcome(**one["outcomes"][report.subject])
        lines.append(f"- `{name}`: {found.verdict}{f': {_in_code(found.detail)}' if found.detail else ''}")
    text = "\n".join(line for line in report.text.strip().splitlines() if not _is_told(line))
    return [*lines, "", "```text", text, "```"]


def _is_told(line: str) -> bool:
    """Whether the section has said what a line of the program says."""
    return line.startswith(("// Report:", "// Rule:"))


def _in_code(detail: str) -> str:
    return f"`{detail.replace('`', chr(39))}`"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("backends", nargs="*", metavar="BACKEND")
    names = parser.parse_args().backends
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record.update(run(names))
    if names:
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    DOCUMENT.write_text(document(record, reports_in(PROGRAMS)), encoding="utf-8")
    print(f"{counted(len(reports_in(PROGRAMS)), 'program')} on {counted(len(record), 'backend')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
