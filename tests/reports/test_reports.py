"""The programs after public reports are right, and a wrong result is noticed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nimblehlo import NimbleError
from nimblehlo.checks.backends import BackendError, BackendExit, CallableBackend
from tests.jax.children import run_on_platform
from tests.reports import __main__ as command
from tests.reports.report import PROGRAMS, TEMPLATE, MalformedReport, Report, reports_in

REPORTS = reports_in(PROGRAMS)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.where)
def test_the_program_is_right_in_every_mode(report: Report) -> None:
    assert list(report.verdicts()) == []


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.where)
def test_a_wrong_result_is_noticed(report: Report) -> None:
    right = report.results
    if right is None:
        accepts_all = CallableBackend(lambda module, inputs: [])
        assert report.error is not None
        assert Report(**{**vars(report), "text": TEMPLATE}).verdict_of(accepts_all) is not None
        return

    def run(results: Sequence[Any]) -> str | None:
        return report.verdict_of(CallableBackend(lambda module, inputs: results))

    assert run(right) is None
    assert run(right[1:]) is not None
    for index, array in enumerate(right):
        assert run([*right[:index], _changed(array), *right[index + 1 :]]) is not None


def test_a_backend_reads_the_program_itself() -> None:
    """It may refuse a wrong program with any error, but neither end its process nor refuse a right one."""
    wrong = next(one for one in REPORTS if one.error is not None)
    right = next(one for one in REPORTS if one.error is None)
    read: list[str] = []

    class Refusing(CallableBackend):
        error: NimbleError = BackendError("no")

        def run_text(self, text: str, inputs: Sequence[Any]) -> list[Any]:
            read.append(text)
            raise self.error

    backend = Refusing(lambda module, inputs: [], "refusing")
    assert wrong.verdict_of(backend) is None
    assert right.verdict_of(backend) == f"{right.where}: refusing: fails: no"
    backend.error = BackendExit("ended its process")
    assert wrong.verdict_of(backend) == f"{wrong.where}: refusing: fails: ended its process"
    assert read == [wrong.text, right.text, wrong.text]


def _changed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with the last bit of its first element changed; an empty one with another shape."""
    if not array.size:
        return np.zeros((*array.shape, 1), array.dtype)
    changed = array.copy()
    element = changed.reshape(-1)[:1].view(np.uint8)
    is_nan = array.dtype.kind not in "biu" and bool(np.isnan(array.reshape(-1)[0].astype(np.complex128)))
    element[...] = 0 if is_nan else element ^ ([1] + [0] * (len(element) - 1))
    return changed


def test_the_programs_are_right_through_the_jax_platform() -> None:
    pytest.importorskip("jax")
    finished = run_on_platform("-m", "tests.reports", "--backend", "jax:nimblehlo", platforms="nimblehlo,cpu")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert f"{len(REPORTS)} programs, 0 wrong" in finished.stdout


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("// Rule:", "has no line '// Rule"),
        ("// Report:", "has no line '// Report"),
        ("// Right:", "has no line '// Right"),
    ],
)
def test_a_program_must_say_what_is_right(line: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(
        "".join(text for text in TEMPLATE.splitlines(True) if not text.startswith(line)), "utf-8"
    )
    with pytest.raises(MalformedReport, match=reason):
        reports_in(tmp_path)


def test_a_rule_must_name_its_source(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(TEMPLATE.replace('specification, "add": ', ""), "utf-8")
    with pytest.raises(MalformedReport, match="no section of the specification"):
        reports_in(tmp_path)


def test_an_expected_error_is_compared_with_its_label(tmp_path: Path) -> None:
    one_operand = '"stablehlo.add"(%x) : (tensor<2xf32>) -> tensor<2xf32>'
    wrong = TEMPLATE.replace("stablehlo.add %x, %x : tensor<2xf32>", one_operand)
    for right, is_right in (("VerifyError", True), ("VerifyError (C1)", False), ("ParseError", False)):
        text = wrong.replace("dense<[2.0, 4.0]> : tensor<2xf32>", right)
        (tmp_path / "a.mlir").write_text(text, "utf-8")
        (report,) = reports_in(tmp_path)
        assert (list(report.verdicts()) == []) is is_right


def test_the_command_writes_programs_and_judges_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["tests.reports", *map(str, arguments)])
        return command.main()

    file = tmp_path / "new.mlir"
    assert run("--new", file) == run("--new", file) == 0
    assert run(tmp_path) == 0
    assert capsys.readouterr().out == "2 programs, 0 wrong\n"
    file.write_text(TEMPLATE.replace("[2.0, 4.0]", "[2.0, 5.0]"), "utf-8")
    assert run(tmp_path) == 1
    assert "1 program, 1 wrong" in capsys.readouterr().out
    file.write_text("// Report: nothing\n", "utf-8")
    for folder, reason in ((tmp_path, "new.mlir:1: has no line"), (tmp_path / "absent", "is not a folder")):
        with pytest.raises(SystemExit) as exit:
            run(folder)
        assert exit.value.code == 2 and reason in capsys.readouterr().err
