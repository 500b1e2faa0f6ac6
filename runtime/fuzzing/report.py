"""The report of a comparison with a backend on random programs."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True)
class Outcome:
    """The outcome of one program.

    Attributes:
        seed: of the program.
        kind: as `FuzzReport` counts it.
        reason: why a program is rejected, or the cause of a finding.
        detail: of a finding: how results differ.
        program: of a finding: a small program that shows it; empty where another one of its cause is known.
        explanation: of a finding.
        rejected: why the backend rejects an operation, without which the program was compared; else empty.
    """

    seed: int
    kind: Literal["equal", "inside", "rejected", "skipped", "finding"]
    reason: str = ""
    detail: str = ""
    program: str = ""
    explanation: str = ""
    rejected: str = ""


@dataclass
class Finding:
    """A cause of differences.

    Attributes:
        cause: the operation with its element types, or what the backend says when it fails.
        seed: of the first program that shows it.
        detail: how the results differ.
        program: a small program that shows it; its inputs are constants.
        count: how many programs show it.
        explanation: why it is a difference; empty where the cause is not known.
    """

    cause: str
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
        seed: of the first program.
        programs: how many were run.
        equal: how many gave our results.
        inside: how many gave other results within their bounds.
        partial: how many of these were compared without operations that the backend rejects.
        rejected: how many programs the backend rejects as a whole.
        reasons: how many programs have operations that the backend rejects, by its reason.
        skipped: how many NimbleHLO itself does not run, such as those in which an index that rounds fails.
        findings: differences and crashes by cause.
    """

    backend: str
    seed: int
    programs: int = 0
    equal: int = 0
    inside: int = 0
    partial: int = 0
    rejected: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count the outcome of a program."""
        self.programs += 1
        if outcome.rejected:
            self.partial += 1
            self.reasons[outcome.rejected] += 1
        match outcome.kind:
            case "equal":
                self.equal += 1
            case "inside":
                self.inside += 1
            case "skipped":
                self.skipped += 1
            case "rejected":
                self.rejected += 1
                self.reasons[outcome.reason] += 1
            case "finding":
                self._add_finding(outcome)

    def _add_finding(self, outcome: Outcome) -> None:
        """Count a finding; the smallest program of its cause is kept."""
        cause = outcome.reason
        finding = Finding(
            cause, outcome.seed, outcome.detail, outcome.program, explanation=outcome.explanation
        )
        existing = self.findings.get(cause)
        if existing is None:
            self.findings[cause] = finding
            return
        smaller = min(existing, finding, key=lambda one: len(one.program) or math.inf)
        seed = min(existing.seed, outcome.seed)
        self.findings[cause] = replace(smaller, seed=seed, count=existing.count + 1)

    def summary(self) -> str:
        """The counts as a sentence."""
        return (
            f"{self.programs} programs from seed {self.seed}: {self.equal} with equal results, "
            f"{self.inside} with others within their bounds, "
            f"{sum(one.count for one in self.findings.values())} with one of {len(self.findings)} findings, "
            f"{self.rejected} rejected, {self.skipped} skipped; "
            f"{self.partial} were compared without operations that are rejected."
        )

    def as_markdown(self) -> str:
        """The report as a page."""
        lines = [f"# Random programs on {self.backend}", "", self.summary()]
        for finding in sorted(self.findings.values(), key=lambda one: -one.count):
            lines += ["", f"## {finding.cause}", ""]
            lines += [finding.explanation or "The cause is not known.", ""]
            plural = "s" if finding.count > 1 else ""
            lines += [
                f"{finding.count} program{plural}, the first from seed {finding.seed}: {finding.detail}",
                "",
            ]
            lines += ["```", finding.program.rstrip(), "```"]
        if self.reasons:
            lines += ["", "## Rejected operations", "", "| reason | programs |", "|---|---|"]
            lines += [f"| {_cell(reason)} | {count} |" for reason, count in self.reasons.most_common()]
        return "\n".join(lines) + "\n"


def without_numbers(message: str) -> str:
    """The first line of a message with numbers left out, so that equal reasons are equal texts."""
    line = (message.strip().splitlines() or [""])[0]
    return re.sub(r"(?<![A-Za-z\d])\d+", "N", line)[:160]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
