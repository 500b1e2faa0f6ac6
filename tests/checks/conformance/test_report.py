"""Runs of the suite: reports, baselines, journals, processes and the command."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from nimblehlo import execute
from nimblehlo.checks.backends import CallableBackend, Description
from nimblehlo.checks.backends.backend import NimbleBackend
from nimblehlo.checks.conformance import SUITE_VERSION, Judgement, Report, Verdict, conformance
from nimblehlo.checks.conformance.report import failures_of
from nimblehlo.cli import main
from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ir import Module

Array = np.ndarray[Any, Any]
FLOOR = ["stablehlo.floor"]


class Wrong(CallableBackend):
    """Wrong by one on programs of `floor` that are legal; counts the programs that it runs."""

    def __init__(self) -> None:
        super().__init__(self._run, "wrong")
        self.calls = 0

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        self.calls += 1
        return super().run_text(text, inputs)

    def _run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        return [one + np.ones((), one.dtype) for one in execute(str(module), inputs)]


@pytest.fixture(scope="module")
def report() -> Report:
    return conformance([Wrong(), NimbleBackend()], operations=FLOOR, level="smoke")


def test_counts(report: Report) -> None:
    assert report.counts("wrong") == {Verdict.OUTSIDE: 1, Verdict.WITHIN: 1}
    assert report.counts("nimblehlo") == {Verdict.WITHIN: 2}
    text = report.as_text()
    assert text.startswith("outside: stablehlo.floor/f32/edges on wrong: ")
    assert "wrong: 1 within, 0 open, 0 zero sign, 1 outside" in text
    assert f"conformance suite {SUITE_VERSION}: 2 programs" in text


def test_known_causes_are_a_line_each(tmp_path: Path) -> None:
    scatters = [f"stablehlo.scatter/{type}/windows_add" for type in ("f32", "i32")]
    judgements = [
        Judgement(id, "jax:cpu", Verdict.OUTSIDE, "1 instead of 2", library="xla:cpu") for id in scatters
    ]
    judgements.append(Judgement("stablehlo.floor/f32/edges", "jax:cpu", Verdict.OUTSIDE, "3 instead of 4"))
    report = Report(["jax:cpu"], 3, judgements=judgements)
    lines = report.as_text().splitlines()
    assert lines[0] == "outside: stablehlo.floor/f32/edges on jax:cpu: 3 instead of 4"
    assert lines[1].startswith("jax:cpu drops windows that are partly out of bounds")
    assert lines[1].endswith(f"2 programs, such as {scatters[0]}")
    assert not any("1 instead of 2" in one for one in lines)
    report.write_json(tmp_path / "report.json")
    stored = json.loads((tmp_path / "report.json").read_text())["judgements"]
    assert [bool(one["cause"]) for one in stored] == [True, True, False]
    # Failures of the baseline are not told again, whatever their cause.
    assert "drops windows" not in report.as_text({one.key for one in judgements})


def test_processor_time(report: Report) -> None:
    assert all(one.seconds > 0 for one in report.judgements)
    assert 0 < sum(one["seconds"] for one in report.as_dict()["judgements"]) < 60
    known = Report(["a"], 2, seconds=1.0, judgements=[Judgement("x", "a", Verdict.WITHIN, seconds=3.0)])
    assert known.processor_time() == (
        "processor time: 4 s, 2000 ms a program (making the programs 1 s, a 3 s)"
    )


def test_a_baseline_leaves_what_is_new(report: Report, tmp_path: Path) -> None:
    report.write_json(tmp_path / "report.json")
    baseline = failures_of(tmp_path / "report.json")
    assert baseline == {("stablehlo.floor/f32/edges", "wrong")}
    assert len(report.failures()) == 1
    assert report.failures(baseline) == []
    assert len(report.failures({("stablehlo.floor/f32/edges", "nimblehlo")})) == 1
    assert "1 failures are in the baseline, 0 are new" in report.as_text(baseline)


def test_junit(report: Report, tmp_path: Path) -> None:
    report.write_junit(tmp_path / "report.xml")
    suites = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert [one.attrib["name"] for one in suites] == ["wrong", "nimblehlo"]
    assert suites[0].attrib["failures"] == "1"
    (failure,) = suites.iter("failure")
    assert failure.attrib["message"] == 'outside: specification, section "floor"'


def test_junit_has_what_tools_require(tmp_path: Path) -> None:
    """What the schemas of Ant and of Jenkins require of attributes, and the order of elements."""
    verdicts = [Verdict.WITHIN, Verdict.OUTSIDE, Verdict.ENDED, Verdict.TIMED_OUT, Verdict.REFUSED]
    judgements = [
        Judgement(f"stablehlo.add/f32/{index}", "jax:cpu", one, "\x1b[31mno", seconds=0.25)
        for index, one in enumerate(verdicts)
    ]
    Report(["jax:cpu"], len(verdicts), judgements=judgements).write_junit(tmp_path / "report.xml")
    (suite,) = ElementTree.parse(tmp_path / "report.xml").getroot()
    counts = {"tests": "5", "failures": "1", "errors": "2", "skipped": "1", "time": "1.250"}
    assert counts.items() <= suite.attrib.items()
    assert {"name", "package", "id", "timestamp", "hostname"} == suite.attrib.keys() - counts.keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    names = [one.tag for one in suite]
    assert names == ["properties", *["testcase"] * 5, "system-out", "system-err"]
    for case in suite.iter("testcase"):
        assert case.attrib.keys() == {"classname", "name", "time"}
        for inner in case:
            assert (inner.tag == "skipped") or inner.attrib["type"] in verdicts
            assert inner.text == " [31mno"


def test_a_baseline_of_a_plugin_in_another_folder(tmp_path: Path) -> None:
    one, other = (Judgement("a/b/c", f"pjrt:/{folder}/plugin.so", Verdict.OUTSIDE) for folder in ("x", "y"))
    Report([one.backend], 1, judgements=[one]).write_json(tmp_path / "report.json")
    baseline = failures_of(tmp_path / "report.json")
    assert Report([other.backend], 1, judgements=[other]).failures(baseline) == []
    # Two plugins of one name are told apart.
    assert len(Report([one.backend, other.backend], 1, judgements=[one, other]).failures(baseline)) == 2


def test_a_report_says_what_a_plugin_is() -> None:
    report = Report(["pjrt:/x/plugin.so"], descriptions={"pjrt:/x/plugin.so": Description("mine", "1\n2")})
    assert "\n  platform mine, version 1 2: no causes are known of this library" in report.as_text()
    report.descriptions["pjrt:/x/plugin.so"] = Description("cpu", "3", "xla:cpu")
    assert "platform cpu, version 3: the library is xla:cpu, whose known causes hold" in report.as_text()
    assert report.as_dict()["descriptions"]["pjrt:/x/plugin.so"]["library"] == "xla:cpu"


def test_a_journal_continues(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    first, second = Wrong(), Wrong()
    before = conformance([first], operations=FLOOR, level="smoke", journal=journal)
    # The last line was cut when the process ended.
    journal.write_text(journal.read_text()[:-20])
    after = conformance([second], operations=FLOOR, level="smoke", journal=journal)
    assert (first.calls, second.calls) == (2, 1)
    assert sorted(before.judgements, key=str) == sorted(after.judgements, key=str)


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text('{"suite": "0.1"}\n')
    with pytest.raises(UnsupportedError, match=r"version 0\.1 of the suite"):
        conformance([Wrong()], operations=FLOOR, journal=journal)


def test_several_processes() -> None:
    report = conformance(["nimblehlo"], operations=FLOOR, level="smoke", jobs=2)
    assert report.counts("nimblehlo") == {Verdict.WITHIN: 2}
    with pytest.raises(ValueError, match="names of backends"):
        conformance([Wrong()], operations=FLOOR, jobs=2)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.json"
    arguments = ["conformance", "--operations", "floor", "--level", "smoke", "--json", str(target)]
    assert main([*arguments, "--against", "nimblehlo:never", "nimblehlo:reference"]) == 0
    printed = capsys.readouterr().out
    assert "nimblehlo:never: 2 within" in printed
    assert "nimblehlo:reference: 2 within" in printed
    assert json.loads(target.read_text())["suite"] == SUITE_VERSION
    assert main([*arguments, "--baseline", str(target)]) == 0
    capsys.readouterr()
    assert main(["conformance", "--operations", "floor", "--coverage"]) == 0
    assert "| `stablehlo.floor` |" in capsys.readouterr().out


def test_the_command_refuses_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.json"
    other.write_text("[]")
    assert main(["conformance", "--operations", "floor", "--baseline", str(other)]) == 1
    assert "is no report of the conformance suite" in capsys.readouterr().err
