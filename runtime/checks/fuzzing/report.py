"""The report of a comparison with a backend on random programs."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal

from ...inspection.tables import Column, Table, report_html


@dataclass(frozen=True)
class Outcome:
    """The outcome of one program.

    Attributes:
        seed: the seed of the program.
        kind: the counter of `FuzzReport` to which the program belongs.
        title: the known cause of a finding; else what `title_of` gives, the message of a crash, `UNEXPLAINED`
            or `VARIES`. Findings of one title count as one.
        detail: for a finding the difference of the results.
        program: for a finding a small program that shows it; empty if the report has one of this title.
        explanation: for a finding, why the difference violates the specification; empty if that is not known.
        rejection: why the backend rejects the program, or one of its operations, without which the program
            was compared; empty if it does not.
    """

    seed: int
    kind: Literal["equal", "inside", "rejected", "skipped", "finding"]
    title: str = ""
    detail: str = ""
    program: str = ""
    explanation: str = ""
    rejection: str = ""


@dataclass
class Finding:
    """A difference or a crash that some programs show.

    Attributes:
        title: the cause, or the operation with its element types, or what the backend says when it fails.
        seed: the seed of the first program that shows it.
        detail: the difference of the results.
        program: a small program that shows it; its inputs are constants.
        count: the number of programs that show it.
        explanation: why the difference violates the specification; empty if the cause is not known.
    """

    title: str
    seed: int
    detail: str
    program: str
    count: int = 1
    explanation: str = ""


@dataclass
class FuzzReport:
    """The result of `fuzz`.

    Attributes:
        backend: the name of the backend.
        seed: the seed of the first program.
        programs: the number of programs.
        equal: the number of programs whose results are NimbleHLO's.
        inside: the number of programs with other results within their bounds.
        partial: the number of programs that were compared without operations that the backend rejects.
        rejected: the number of programs that the backend rejects as a whole.
        rejections: the number of programs with operations that the backend rejects, by its message.
        skipped: the number of programs that fail in NimbleHLO, as where a rounded index is out of bounds.
        findings: differences and crashes by title.
    """

    backend: str
    seed: int
    programs: int = 0
    equal: int = 0
    inside: int = 0
    partial: int = 0
    rejected: int = 0
    rejections: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count the outcome of a program."""
        self.programs += 1
        if outcome.rejection:
            self.partial += outcome.kind != "rejected"
            self.rejections[outcome.rejection] += 1
        match outcome.kind:
            case "equal":
                self.equal += 1
            case "inside":
                self.inside += 1
            case "skipped":
                self.skipped += 1
            case "rejected":
                self.rejected += 1
            case "finding":
                self._add_finding(outcome)

    def _add_finding(self, outcome: Outcome) -> None:
        """Count a finding; the smallest program of its title is kept."""
        title = outcome.title
        finding = Finding(
            title, outcome.seed, outcome.detail, outcome.program, explanation=outcome.explanation
        )
        existing = self.findings.get(title)
        if existing is None:
            self.findings[title] = finding
            return
        smaller = min(existing, finding, key=lambda one: len(one.program) or math.inf)
        seed = min(existing.seed, outcome.seed)
        self.findings[title] = replace(smaller, seed=seed, count=existing.count + 1)

    def summary(self) -> str:
        """The counts as a sentence."""
        return (
            f"{self.programs} programs from seed {self.seed}: {self.equal} with equal results, "
            f"{self.inside} with others within their bounds, "
            f"{sum(one.count for one in self.findings.values())} with one of {len(self.findings)} findings, "
            f"{self.rejected} rejected, {self.skipped} skipped; "
            f"{self.partial} were compared without operations that are rejected."
        )

    def _repr_html_(self) -> str:
        """The counts and the findings for a notebook."""
        titles = ("programs", "finding", "first seed", "why")
        numbers = ("programs", "first seed")
        columns = [Column(one, right=one in numbers, shrinks=one not in numbers) for one in titles]
        rows = [
            (str(one.count), one.title, str(one.seed), one.explanation or one.detail)
            for one in sorted(self.findings.values(), key=lambda one: -one.count)
        ]
        tables = [Table(columns, rows)] if rows else []
        return report_html(f"Random programs on {self.backend}", [self.summary()], *tables)

    def as_markdown(self) -> str:
        """The report as a page."""
        lines = [f"# Random programs on {self.backend}", "", self.summary()]
        for finding in sorted(self.findings.values(), key=lambda one: -one.count):
            lines += ["", f"## {finding.title}", ""]
            lines += [finding.explanation or "The cause is not known.", ""]
            plural = "s" if finding.count > 1 else ""
            lines += [
                f"{finding.count} program{plural}, the first from seed {finding.seed}: {finding.detail}",
                "",
            ]
            lines += ["```", finding.program.rstrip(), "```"]
        if self.rejections:
            lines += ["", "## Rejected operations", "", "| reason | programs |", "|---|---|"]
            lines += [f"| {_cell(reason)} | {count} |" for reason, count in self.rejections.most_common()]
        return "\n".join(lines) + "\n"


def without_numbers(message: str) -> str:
    """The first line of a message with numbers left out, so that messages of one cause are equal."""
    line = (message.strip().splitlines() or [""])[0]
    return re.sub(r"(?<![A-Za-z\d])\d+", "N", line)[:160]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
