"""The report of a run of the suite: as text, JSON and JUnit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from ...errors import counted
from .causes import by_cause, cause_of
from .suite import SUITE_VERSION
from .verdicts import FAILURES, Judgement, Verdict

MAX_SHOWN: Final = 200
"""Failures that the text shows."""
Key = tuple[str, str]
"""A program's id and a backend's name."""


@dataclass
class Report:
    """The judgements on some backends.

    Attributes:
        backends: their names.
        programs: the number of programs.
        texts: the programs by their ids.
        judgements: one for each program and backend.
        suite: the version of the suite, which an archive may have of its own.
        seconds: the processor time of making the programs.
    """

    backends: Sequence[str]
    programs: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    judgements: list[Judgement] = field(default_factory=list)
    suite: str = SUITE_VERSION
    seconds: float = 0.0

    def label(self, backend: str) -> str:
        """A backend's name in text: without the folders of a plugin's library, where that tells it apart."""
        short = {one: _without_folders(one) for one in self.backends}
        return backend if list(short.values()).count(short[backend]) > 1 else short[backend]

    def counts(self, backend: str) -> Counter[Verdict]:
        """How many programs have each verdict on a backend."""
        return Counter(one.verdict for one in self.judgements if one.backend == backend)

    def processor_time(self) -> str:
        """The processor time of the programs and of each backend, in words."""
        spent = dict.fromkeys(self.backends, 0.0)
        for judgement in self.judgements:
            spent[judgement.backend] += judgement.seconds
        total = self.seconds + sum(spent.values())
        parts = [f"{self.label(one)} {seconds:.0f} s" for one, seconds in spent.items()]
        a_program = 1000 * total / max(self.programs, 1)
        return (
            f"processor time: {total:.0f} s, {a_program:.0f} ms a program"
            f" (making the programs {self.seconds:.0f} s, {', '.join(parts)})"
        )

    def failures(self, baseline: Collection[Key] = ()) -> list[Judgement]:
        """The judgements that contradict the specification, without those of a baseline."""
        return [one for one in self.judgements if one.verdict in FAILURES and one.key not in baseline]

    def as_text(self, baseline: Collection[Key] = ()) -> str:
        """The failures whose cause is not known, the known causes, and the counts of each backend."""
        failures = self.failures(baseline)
        unknown = [one for one in failures if cause_of(one) is None]
        lines = [
            f"{one.verdict}: {one.id} on {self.label(one.backend)}: {one.detail}"
            for one in unknown[:MAX_SHOWN]
        ]
        if len(unknown) > MAX_SHOWN:
            lines.append(f"and {len(unknown) - MAX_SHOWN} more")
        judged = [one for one in self.judgements if one.key not in baseline]
        lines += [
            f"{self.label(one.backend)} {one.cause.title}: {counted(len(one.judgements), 'program')},"
            f" such as {one.judgements[0].id}"
            for one in by_cause(judged)
            if one.cause is not None
        ]
        lines.append(f"conformance suite {self.suite}: {self.programs} programs")
        for backend in self.backends:
            counts = self.counts(backend)
            parts = [f"{counts[verdict]} {verdict}" for verdict in Verdict]
            lines.append(f"{self.label(backend)}: {', '.join(parts)}")
        lines.append(self.processor_time())
        if baseline:
            known = len(self.failures()) - len(failures)
            lines.append(f"{known} failures are in the baseline, {len(failures)} are new")
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "suite": self.suite,
            "programs": self.programs,
            "counts": {one: dict(self.counts(one)) for one in self.backends},
            "seconds": round(self.seconds, 1),
            "judgements": [_as_dict(one) for one in self.judgements],
        }

    def write_json(self, path: Path) -> None:
        """Store the report, which `failures_of` reads as a baseline."""
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    def write_junit(self, path: Path) -> None:
        """Store the report as JUnit's XML: a suite for each backend, a case for each program."""
        root = ElementTree.Element("testsuites")
        for backend in self.backends:
            judged = [one for one in self.judgements if one.backend == backend]
            failed = sum(one.verdict in FAILURES for one in judged)
            skipped = sum(one.verdict == Verdict.REFUSED for one in judged)
            attributes = {"tests": len(judged), "failures": failed, "skipped": skipped}
            suite = ElementTree.SubElement(
                root, "testsuite", {"name": backend, **{key: str(value) for key, value in attributes.items()}}
            )
            for one in judged:
                _add_case(suite, one)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _without_folders(backend: str) -> str:
    kind, _, rest = backend.partition(":")
    return f"{kind}:{Path(rest).name}" if kind == "pjrt" else backend


def _as_dict(judgement: Judgement) -> dict[str, Any]:
    """A judgement for JSON, with the title of its cause if that is known."""
    cause = cause_of(judgement)
    return {**asdict(judgement), "cause": "" if cause is None else cause.title}


def _add_case(suite: ElementTree.Element, judgement: Judgement) -> None:
    operation, _, rest = judgement.id.partition("/")
    case = ElementTree.SubElement(suite, "testcase", {"classname": operation, "name": rest})
    # XML has no control characters, which a backend's message may have.
    detail = "".join(one if one.isprintable() else " " for one in judgement.detail)
    if judgement.verdict in FAILURES:
        attributes = {"message": f"{judgement.verdict}: {judgement.section}"}
        ElementTree.SubElement(case, "failure", attributes).text = detail
    elif judgement.verdict == Verdict.REFUSED:
        ElementTree.SubElement(case, "skipped", {"message": detail})


def failures_of(path: Path) -> set[Key]:
    """The failures of a stored report: the baseline of another one.

    Raises:
        OSError, ValueError, KeyError: there is no such report.
    """
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {
        (one["id"], one["backend"]) for one in stored["judgements"] if Verdict(one["verdict"]) in FAILURES
    }
