"""Backends are compared on random programs: `nimblehlo fuzz`."""

from pathlib import Path

import numpy as np
import pytest

import nimblehlo
from nimblehlo.backends import BackendError, CallableBackend
from nimblehlo.cli import main
from nimblehlo.fuzzing.campaign import fuzz, random_module
from nimblehlo.ir import Module

Arrays = list[np.ndarray]


def with_wrong_maximum(module: Module, inputs: Arrays) -> Arrays:
    """NimbleHLO with minimum in place of maximum."""
    return nimblehlo.execute(str(module).replace("stablehlo.maximum", "stablehlo.minimum"), inputs)


def test_a_right_backend_has_no_findings() -> None:
    report = fuzz(CallableBackend(nimblehlo.execute), count=25, seed=3)
    assert report.inside + report.skipped == report.programs == 25
    assert report.inside > 20
    assert not report.findings and not report.rejected


def test_a_fault_is_one_finding_for_each_cause() -> None:
    seeds = [seed for seed in range(60) if "stablehlo.maximum" in str(random_module(seed)[0])]
    report = fuzz(CallableBackend(with_wrong_maximum), count=seeds[3] - seeds[0] + 1, seed=seeds[0])
    assert report.findings
    for finding in report.findings.values():
        assert "maximum" in finding.cause
        module = nimblehlo.load(finding.program)
        assert sum(one.name == "stablehlo.maximum" for one in module.walk()) == 1
        assert nimblehlo.execute(module)[0].tobytes() != with_wrong_maximum(module, [])[0].tobytes()


def test_programs_that_a_backend_rejects_are_counted_by_reason() -> None:
    def rejecting(module: Module, inputs: Arrays) -> Arrays:
        raise BackendError(f"no memory for {len(inputs)} inputs")

    report = fuzz(CallableBackend(rejecting), count=4)
    assert report.rejected == {"no memory for N inputs": 4}
    assert "| no memory for N inputs | 4 |" in report.as_markdown()


def test_a_crash_is_a_finding() -> None:
    def crashing(module: Module, inputs: Arrays) -> Arrays:
        raise BackendError("xla ended its process (status -6): Unhandled primitive type")

    report = fuzz(CallableBackend(crashing), count=3)
    (finding,) = report.findings.values()
    assert finding.count == 3
    assert nimblehlo.load(finding.program)


def test_the_command_stores_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.md"
    assert main(["fuzz", "--against", "nimblehlo", "--count", "2", "--report", str(file)]) == 0
    assert capsys.readouterr().out.startswith("2 programs from seed 0")
    assert file.read_text().startswith("# Random programs on nimblehlo")
