"""The report of a run of the suite: as text, JSON and JUnit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from ...errors import counted
from ..backends import Description
from .causes import by_cause, cause_of
from .junit import write_junit
from .suite import SUITE_VERSION
from .verdicts import FAILURES, Judgement, Verdict

MAX_SHOWN: Final = 200
"""Failures that the text shows."""
Key = tuple[str, str]
"""A program's id and a backend's label: the library of a plugin may lie in another folder in another run."""


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
        descriptions: what plugins report of themselves, by the backends' names.
    """

    backends: Sequence[str]
    programs: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    judgements: list[Judgement] = field(default_factory=list)
    suite: str = SUITE_VERSION
    seconds: float = 0.0
    descriptions: dict[str, Description] = field(default_factory=dict)

    def described(self, backend: str) -> str:
        """What a plugin reports of itself, and which known causes hold for it; empty for other backends."""
        one = self.descriptions.get(backend)
        if one is None:
            return ""
        reports = f"platform {one.platform}, version {' '.join(one.version.split())}"
        if one.library:
            return f"{reports}: the library is {one.library}, whose known causes hold"
        return f"{reports}: no causes are known of this library, so that most failures have none"

    def label(self, backend: str) -> str:
        """A backend's name in text: without the folders of a plugin's library, where that tells it apart."""
        return _labels(self.backends)[backend]

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
        return [one for one in self.judgements if one.verdict in FAILURES and not self._is_in(baseline, one)]

    def _is_in(self, baseline: Collection[Key], judgement: Judgement) -> bool:
        return bool(baseline) and (judgement.id, self.label(judgement.backend)) in baseline

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
        judged = [one for one in self.judgements if not self._is_in(baseline, one)]
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
            if described := self.described(backend):
                lines.append(f"  {described}")
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
            "descriptions": {name: asdict(one) for name, one in self.descriptions.items()},
            "judgements": [_as_dict(one) for one in self.judgements],
        }

    def write_json(self, path: Path) -> None:
        """Store the report, which `failures_of` reads as a baseline."""
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    def write_junit(self, path: Path) -> None:
        """Store the report as JUnit's XML: a suite for each backend, a case for each program."""
        write_junit(path, self.backends, self.judgements, self.suite)


def is_plugin(backend: str) -> bool:
    """Whether a backend's name is that of a plugin, by its library's path."""
    return backend.startswith("pjrt:")


def _labels(backends: Collection[str]) -> dict[str, str]:
    """The names of backends in text, by their names."""
    short = {one: _without_folders(one) for one in backends}
    times = Counter(short.values())
    return {one: one if times[label] > 1 else label for one, label in short.items()}


def _without_folders(backend: str) -> str:
    kind, _, rest = backend.partition(":")
    return f"{kind}:{Path(rest).name}" if is_plugin(backend) else backend


def _as_dict(judgement: Judgement) -> dict[str, Any]:
    """A judgement for JSON, with the title of its cause if that is known."""
    cause = cause_of(judgement)
    return {**asdict(judgement), "cause": "" if cause is None else cause.title}


def failures_of(path: Path) -> set[Key]:
    """The failures of a stored report: the baseline of another one.

    Raises:
        OSError, ValueError, KeyError: there is no such report.
    """
    stored = json.loads(path.read_text(encoding="utf-8"))
    labels = _labels(stored["counts"])
    return {
        (one["id"], labels[one["backend"]])
        for one in stored["judgements"]
        if Verdict(one["verdict"]) in FAILURES
    }
