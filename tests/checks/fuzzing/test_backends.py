"""Backends are compared on random programs: `nimblehlo fuzz`."""

from pathlib import Path

import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.backends import BackendError, CallableBackend
from nimblehlo.checks.fuzzing import campaign
from nimblehlo.checks.fuzzing.accepted_programs import accepted_program
from nimblehlo.checks.fuzzing.campaign import fuzz, random_module
from nimblehlo.checks.fuzzing.report import FuzzReport, Outcome
from nimblehlo.cli import main
from nimblehlo.program.ir import Module

Arrays = list[np.ndarray]


def with_wrong_maximum(module: Module, inputs: Arrays) -> Arrays:
    """NimbleHLO with minimum in place of maximum."""
    return nimblehlo.execute(str(module).replace("stablehlo.maximum", "stablehlo.minimum"), inputs)


def test_a_right_backend_has_no_findings() -> None:
    report = fuzz(CallableBackend(nimblehlo.execute), count=25, seed=3)
    assert report.equal + report.skipped == report.programs == 25
    assert report.equal > 20
    assert not report.findings and not report.rejected


def test_a_fault_is_one_finding_for_each_cause() -> None:
    seeds = [seed for seed in range(60) if "stablehlo.maximum" in str(random_module(seed)[0])]
    report = fuzz(CallableBackend(with_wrong_maximum), count=seeds[3] - seeds[0] + 1, seed=seeds[0])
    assert report.findings
    for finding in report.findings.values():
        assert "maximum" in finding.title
        module = nimblehlo.load(finding.program)
        assert sum(one.name == "stablehlo.maximum" for one in module.walk()) == 1
        assert nimblehlo.execute(module)[0].tobytes() != with_wrong_maximum(module, [])[0].tobytes()


def test_programs_that_a_backend_rejects_are_counted_by_reason() -> None:
    def rejecting(module: Module, inputs: Arrays) -> Arrays:
        raise BackendError(f"no memory for {len(inputs)} inputs")

    report = fuzz(CallableBackend(rejecting), count=4)
    assert report.rejected == 4
    assert sum(report.rejections.values()) == 4
    assert any(rejection.startswith("no memory for N inputs") for rejection in report.rejections)
    assert "| no memory for N inputs | 4 |" in report.as_markdown()


def rejecting_popcnt(module: Module, inputs: Arrays) -> Arrays:
    """NimbleHLO without popcnt, and with minimum in place of maximum."""
    if "stablehlo.popcnt" in str(module):
        raise BackendError("popcnt is not supported")
    return with_wrong_maximum(module, inputs)


ONE_REJECTED = """
func.func @main(%a: tensor<4xi32>, %b: tensor<4xi32>, %c: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %a, %b : tensor<4xi32>
  %1 = stablehlo.popcnt %0 : tensor<4xi32>
  %2 = stablehlo.multiply %1, %c : tensor<4xi32>
  %3 = stablehlo.NAME %0, %b : tensor<4xi32>
  return %2, %3 : tensor<4xi32>, tensor<4xi32>
}
"""


@pytest.mark.parametrize(("name", "kind"), [("subtract", "equal"), ("maximum", "finding")])
def test_a_program_is_compared_without_an_operation_that_is_rejected(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = [np.arange(4, dtype=np.int32), np.full(4, 2, np.int32), np.ones(4, np.int32)]
    module = nimblehlo.load(ONE_REJECTED.replace("NAME", name))
    monkeypatch.setattr(campaign, "random_module", lambda seed: (module, inputs))
    fuzzer = campaign.Fuzzer(CallableBackend(rejecting_popcnt), minimizes=False)
    outcome = fuzzer.outcome(0)
    assert (outcome.kind, outcome.rejection) == (kind, "popcnt is not supported")
    part = accepted_program(module, inputs, fuzzer.backend)
    assert part is not None
    assert [one.name for one in part.module.walk()] == ["stablehlo.add", f"stablehlo.{name}", "func.return"]
    assert len(part.inputs) == 2
    report = FuzzReport("b", 0)
    report.add(outcome)
    assert (report.partial, report.rejected) == (1, 0)
    assert "1 were compared without operations that are rejected" in report.summary()


def test_a_crash_is_a_finding() -> None:
    def crashing(module: Module, inputs: Arrays) -> Arrays:
        raise BackendError("xla ended its process (status -6): Unhandled primitive type")

    report = fuzz(CallableBackend(crashing), count=3)
    (finding,) = report.findings.values()
    assert finding.count == 3
    assert "The program is valid" in finding.explanation
    assert nimblehlo.load(finding.program)


def leaving_out_windows(module: Module, inputs: Arrays) -> Arrays:
    """NimbleHLO as XLA, whose scatters leave out windows that are partly out of bounds."""
    return nimblehlo.execute(module, inputs, options=nimblehlo.Options(scatter_out_of_bounds="window"))


def test_a_known_cause_is_explained() -> None:
    """Seed 114 has a scatter whose windows are partly out of bounds."""
    report = fuzz(CallableBackend(leaving_out_windows), count=1, seed=114, minimizes=False)
    assert list(report.findings) == ["scatter leaves out windows that are partly out of bounds"]
    assert "scatter_out_of_bounds" in report.as_markdown()


def test_a_report_counts_outcomes_and_keeps_the_smallest_program() -> None:
    report = FuzzReport("b", 7)
    for seed, program in ((9, "long program"), (7, ""), (8, "short")):
        report.add(Outcome(seed, "finding", "x", program=program))
    report.add(Outcome(10, "equal"))
    report.add(Outcome(11, "rejected", rejection="no memory"))
    assert (report.programs, report.equal, report.rejections["no memory"]) == (5, 1, 1)
    assert (report.findings["x"].count, report.findings["x"].seed) == (3, 7)
    assert report.findings["x"].program == "short"


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    runs = 0

    def counting(module: Module, inputs: Arrays) -> Arrays:
        nonlocal runs
        runs += 1
        return with_wrong_maximum(module, inputs)

    seeds = [seed for seed in range(60) if "stablehlo.maximum" in str(random_module(seed)[0])]
    journal, start, backend = tmp_path / "journal.jsonl", seeds[0], CallableBackend(counting, "counting")
    count = seeds[2] - start + 1

    def run(count: int, repeats: bool = False) -> FuzzReport:
        return fuzz(
            backend, count=count, seed=start, minimizes=False, journal=journal, repeats_findings=repeats
        )

    whole = run(count)
    assert whole.findings
    # A process that is ended while it writes leaves a part of a line.
    text = journal.read_text()
    journal.write_text(text[: len(text) - len(text.splitlines()[-1]) // 2])
    runs = 0
    assert run(count) == whole
    assert runs > 0
    runs = 0
    assert run(count) == whole
    assert runs == 0
    assert run(count, repeats=True) == whole
    assert runs > 0
    with pytest.raises(ValueError, match="is of the backend 'counting'"):
        fuzz(CallableBackend(nimblehlo.execute, "other"), count=1, journal=journal)


def test_an_internal_error_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise KeyError("nothing")

    monkeypatch.setattr(campaign, "execute", failing)
    (finding,) = fuzz(CallableBackend(nimblehlo.execute), count=2).findings.values()
    assert finding.title.startswith("NimbleHLO itself fails with KeyError")
    assert finding.count == 2
    assert nimblehlo.load(finding.program)


def test_the_command_stores_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.md"
    command = ["fuzz", "--against", "nimblehlo", "--count", "3", "-j", "2", "--report", str(file)]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("3 programs from seed 0")
    assert file.read_text().startswith("# Random programs on nimblehlo")
