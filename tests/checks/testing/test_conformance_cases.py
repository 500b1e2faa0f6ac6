"""The conformance suite as tests of pytest, used from a project of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nimblehlo.checks.conformance import programs
from nimblehlo.checks.testing.conformance import cases, read_xfails

TESTS = """
import numpy as np
import pytest
from nimblehlo import execute
from nimblehlo.backends import CallableBackend
from nimblehlo.testing.conformance import cases, check

def wrong(module, inputs):
    if any(one.name == "stablehlo.negate" for one in module.walk()):
        raise ValueError("not supported")
    return [one + np.ones((), one.dtype) for one in execute(str(module), inputs)]

CASES = cases(operations=["stablehlo.floor", "stablehlo.negate"], xfail=XFAIL)

@pytest.mark.parametrize("program", CASES)
def test_backend(program):
    check(program, BACKEND)
"""


def run(folder: Path, backend: str, xfail: str, *options: str) -> str:
    """What pytest prints in a project with the suite."""
    (folder / "test_suite.py").write_text(TESTS.replace("BACKEND", backend).replace("XFAIL", xfail))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    command = [sys.executable, "-m", "pytest", "-v", "-rsx", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_backend_that_is_right(tmp_path: Path) -> None:
    printed = run(tmp_path, '"nimblehlo"', "None")
    assert re.search(r"test_suite.py::test_backend\[stablehlo.floor/f32/edges\] PASSED", printed), printed
    assert "5 passed" in printed


def test_a_backend_that_is_wrong_and_refuses(tmp_path: Path) -> None:
    printed = run(tmp_path, 'CallableBackend(wrong, "wrong")', '{"*/edges": "rounds up"}')
    assert "test_backend[stablehlo.floor/f32/edges] XFAIL (rounds up)" in printed, printed
    assert "refused: wrong raised ValueError: not supported" in printed
    assert "1 failed" not in printed
    printed = run(tmp_path, 'CallableBackend(wrong, "wrong")', "None", "-k", "floor")
    assert 'AssertionError: outside (specification, section "floor")' in printed


@pytest.mark.skipif(pytest.version_tuple < (8, 3), reason="pytest chooses by markers' arguments from 8.3 on")
def test_a_marker_chooses_an_operation(tmp_path: Path) -> None:
    chosen = 'conformance(operation="stablehlo.floor", element_type="f32")'
    assert "1 passed, 4 deselected" in run(tmp_path, '"nimblehlo"', "None", "-m", chosen)


def test_each_program_has_its_name_as_id() -> None:
    ids = [one.id for one in cases(operations=["stablehlo.pad"])]
    assert ids == [one.id for one in programs(["stablehlo.pad"], "smoke")]


def test_a_file_of_expected_failures(tmp_path: Path) -> None:
    file = tmp_path / "xfails.txt"
    file.write_text("stablehlo.floor/C*  # not verified\n\n# a comment\nstablehlo.floor/f32/edges # wrong\n")
    assert read_xfails(file) == {"stablehlo.floor/C*": "not verified", "stablehlo.floor/f32/edges": "wrong"}
    marked = [[one.name for one in case.marks] for case in cases(operations=["stablehlo.floor"], xfail=file)]
    assert marked == [["conformance", "xfail"]] * 2


def test_an_expected_failure_that_is_no_program() -> None:
    with pytest.raises(
        ValueError, match=r"level 'smoke' of the suite has no program 'stablehlo\.floor/f8/edges'"
    ):
        cases(operations=["stablehlo.floor"], xfail={"stablehlo.floor/f8/edges": "gone"})


def test_patterns_of_expected_failures_may_overlap() -> None:
    expected = {"*/edges": "first", "stablehlo.floor/*": "second", "stablehlo.floor/f32/edges": "third"}
    edges, constraint = cases(operations=["stablehlo.floor"], xfail=expected)
    reasons = [case.marks[1].kwargs["reason"] for case in (edges, constraint)]
    assert reasons == ["first", "second"]
